//! The detector of SophOMR: a recipient's key that is ready to scan boards in batches.

use super::clues::ClueBatch;
use super::memory::MemoryPlan;
use super::opening;
use super::range;
use crate::bound_to::check_kind;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator};
use omr_compress::{CodeTables, Keys, Packing, Setting};
use omr_opening::Turned;
use omr_protocol::ClueKind;
use omr_protocol::sophomr::{DetectionKey, KeyPlace, Params};
use omr_ring::{Reservation, Ring, Watch, Wiper};
use omr_rlwe::{Descent, Rlwe};
use std::sync::{Arc, OnceLock};

/// A detection key that is ready to scan boards. It is `Send + Sync`.
pub struct Detector {
    params: Arc<Params>,
    /// The rings in whose memory the key's polynomials are.
    rings: Rings,
    key: DetectionKey,
    /// Tables of codes, made by the first digest.
    tables: Arc<OnceLock<CodeTables>>,
    /// Memory for digests of several batches, which keep turned secrets during range checks; reserved by the first of
    /// them.
    several_batches: OnceLock<Reservation>,
    /// Memory for making digests, reserved by the first. It is dropped after everything that returns memory to it.
    memory: OnceLock<Reservation>,
    /// Dropped after the key, because they overwrite the key's memory.
    _wipers: [Wiper; 3],
}

/// The rings of a detector, whose polynomials may lie in a backend's memory.
#[derive(Clone)]
pub(super) struct Rings {
    pub(super) large: Ring,
    pub(super) small: Ring,
    pub(super) packing: Ring,
}

impl Rings {
    /// Returns the rings in whose memory the keys of a place are.
    pub(super) fn of(place: &KeyPlace) -> Self {
        Self {
            large: place.large().clone(),
            small: place.small().clone(),
            packing: place.packing().clone(),
        }
    }

    fn all(&self) -> [&Ring; 3] {
        [&self.large, &self.small, &self.packing]
    }

    /// Watches over work in all rings.
    pub(super) fn watch(&self) -> [Watch; 3] {
        self.all().map(Ring::watch)
    }

    /// Checks that no backend has failed since the rings are watched.
    ///
    /// Errors: `Engine`.
    pub(super) fn check(&self, watch: &[Watch; 3]) -> Result<(), DetectorError> {
        for (ring, watch) in self.all().into_iter().zip(watch) {
            if let (Some(backend), Some(failure)) = (ring.backend(), watch.failure()) {
                return Err(DetectorError::Engine {
                    engine: backend.name(),
                    failure,
                });
            }
        }
        Ok(())
    }
}

impl Detector {
    /// Makes a detector for one recipient's key.
    ///
    /// It takes the key's memory only. The first digest reserves memory for computing, about 2 GB at full size. All
    /// detectors share this memory; it is returned to the system when the last of them is dropped.
    pub fn new(params: Arc<Params>, key: DetectionKey) -> Self {
        let rings = Rings::of(params.key_place());
        Self::on(rings, Arc::default(), params, key)
    }

    /// Makes a detector that computes in the memory of the set's rings, in which the key must be.
    pub(super) fn on(
        rings: Rings,
        tables: Arc<OnceLock<CodeTables>>,
        params: Arc<Params>,
        key: DetectionKey,
    ) -> Self {
        let (shapes, product) = (&params.lowered_shapes, key.product);
        let lowered = DetectionKey {
            product: product.with_lowered(&rings.large, shapes, params.p()),
            ..key
        };
        Self {
            _wipers: rings.all().map(Ring::wiper),
            rings,
            tables,
            memory: OnceLock::new(),
            params,
            key: lowered,
            several_batches: OnceLock::new(),
        }
    }

    /// Reserves the memory for making digests, once, as the first digest would.
    pub fn take_memory(&self) {
        self.memory.get_or_init(|| self.reserve(false));
    }

    /// Reserves memory for digests of one batch, or of several, which keep turned secrets during range checks.
    fn reserve(&self, several_batches: bool) -> Reservation {
        if self.rings.large.backend().is_some() {
            return omr_ring::reserve(&[]);
        }
        MemoryPlan::new(&self.params, several_batches, rayon::current_num_threads()).reserve()
    }

    /// Reserves, once, the memory that digests of several batches need beside that of one batch.
    pub(super) fn reserve_for_several_batches(&self) {
        self.several_batches.get_or_init(|| self.reserve(true));
    }

    /// Returns the evaluator of the large ring.
    pub fn evaluator(&self) -> Evaluator<'_> {
        let params = &self.params;
        Evaluator {
            ring: &self.rings.large,
            plain: &params.plain,
            chain: &params.chain,
            stop: None,
        }
    }

    /// Returns the distances, at level 1, of both coordinates of a batch of clues. `turned` is the result of
    /// [`Detector::turned`].
    ///
    /// Errors: parameters that do not fit the circuit; `Stopped`.
    pub fn distances(
        &self,
        turned: Arc<Turned>,
        clues: &ClueBatch,
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        Ok(distances(&[self], turned, clues, progress)?.remove(0))
    }

    /// Returns the pertinency vector, at the last level, from one or two coordinates that [`Detector::distances`]
    /// returned.
    ///
    /// Errors: parameters that do not fit the circuit; `Stopped`.   Panics: without coordinates.
    pub fn range_check(
        &self,
        d: &[Ciphertext],
        progress: &dyn Progress,
    ) -> Result<Ciphertext, DetectorError> {
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        range::check(&ev, &self.params, &self.key.product, d, progress)
    }

    /// Returns the encrypted secrets for opening packed clues, rotated by 0, 1, 2, ... slots. All batches use them.
    ///
    /// Errors: parameters that do not fit the circuit; `Stopped`.
    pub fn turned(&self, progress: &dyn Progress) -> Result<Arc<Turned>, DetectorError> {
        turned_of(&[self], progress)
    }

    /// Returns the kind of clues that the key accepts.
    pub fn clues(&self) -> ClueKind {
        self.key.clues()
    }

    /// Checks by the length of a board's clues that the key accepts them.
    ///
    /// Errors: `ClueKind`.
    pub fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        check_kind(&self.params.clue, self.clues(), clue_bytes)
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the tables from which codes are made.
    pub(super) fn tables(&self) -> &CodeTables {
        self.tables.get_or_init(|| CodeTables::new(self.setting()))
    }

    /// Returns the rings and shapes of compression, with the small ring in whose memory the detector computes.
    pub(super) fn setting(&self) -> Setting<'_> {
        let setting = self.params.compression();
        Setting {
            packing: Packing {
                small: &self.rings.small,
                ..setting.packing
            },
            ..setting
        }
    }

    /// Returns the keys for compression.
    pub(super) fn compression_keys(&self) -> Keys<'_> {
        self.key.compression(&self.params)
    }

    /// Returns the parts of a pertinency vector in the small ring, and the factor by which they are scaled.
    pub fn ring_switch(&self, pertinent: Ciphertext) -> (Vec<Rlwe>, u64) {
        let (params, scale) = (&self.params, pertinent.scale());
        let descent = Descent {
            large: &self.rings.large,
            small: &self.rings.small,
            key: &self.key.descent,
        };
        let small = descent.apply(&pertinent.into_pair(), &params.small_basis(), params.p());
        (small, scale)
    }

    /// Returns the rings in whose memory the detector computes.
    pub(super) fn rings(&self) -> &Rings {
        &self.rings
    }

    /// Returns the key.
    pub fn key(&self) -> &DetectionKey {
        &self.key
    }
}

/// Returns the rotated secrets of recipients whose keys have one seed of masks.
pub(super) fn turned_of(
    detectors: &[&Detector],
    progress: &dyn Progress,
) -> Result<Arc<Turned>, DetectorError> {
    let first = detectors[0];
    first.take_memory();
    let stop = || progress.is_stopped();
    let ev = first.evaluator().stopped_by(&stop);
    let (opening, keys) = (&first.params.opening, keys_of(detectors));
    Ok(Arc::new(opening::turned(&ev, opening, &keys, progress)?))
}

/// Returns the distances of a batch of clues for each recipient, at level 1. If the caller passes the last reference to
/// the rotated secrets, as for the last batch, their memory is used again afterwards.
pub(super) fn distances(
    detectors: &[&Detector],
    turned: Arc<Turned>,
    clues: &ClueBatch,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Ciphertext>>, DetectorError> {
    let first = detectors[0];
    let stop = || progress.is_stopped();
    let ev = first.evaluator().stopped_by(&stop);
    let keys = keys_of(detectors);
    opening::transform(&ev, &first.params, &keys, turned, clues, progress)
}

fn keys_of<'a>(detectors: &[&'a Detector]) -> Vec<&'a DetectionKey> {
    detectors.iter().map(|detector| &detector.key).collect()
}
