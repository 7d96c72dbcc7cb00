//! Reading of a detection key. Masks of one part are derived while the bodies of the next are read.

use super::{DetectionKey, EncryptedSecret, FinalKey, KeyPlace, OpeningKey, Part, merge_levels};
use crate::frame::{FrameReader, Kind};
use crate::key_file::read_poly;
use crate::sophomr::Params;
use crate::{ClueKind, DetectionKeyError};
use omr_bgv::GaloisKey;
use omr_errors::Mismatch;
use omr_opening::{NarrowKey, PackingKey};
use omr_ring::parallel::{self, Scope};
use omr_ring::{Eval, Poly};
use omr_rlwe::{self as rlwe, SharedKey, SwitchingKey};
use std::io::{self, Read};

/// The file of a key whose header and length have been checked.
struct Bodies<'a, R: Read> {
    params: &'a Params,
    clues: ClueKind,
    seed: [u8; 32],
    masks: [u8; 32],
    frame: FrameReader<R>,
}

impl<'a, R: Read> Bodies<'a, R> {
    fn open(params: &'a Params, from: R) -> Result<Self, DetectionKeyError> {
        let expected = DetectionKey::body_bytes(params, ClueKind::Plain);
        let mut frame = FrameReader::read_header(from, Kind::DetectionKey, 1 << 33)?;
        frame.header().expect_params(params.name())?;
        let found = frame.body_len();
        let bound = found == DetectionKey::body_bytes(params, ClueKind::Bound);
        if found != expected && !bound {
            return Err(DetectionKeyError::Length(Mismatch::new(expected, found)));
        }
        let mut seed = [0; 32];
        frame.read_exact(&mut seed)?;
        let mut masks = [0; 32];
        frame.read_exact(&mut masks)?;
        Ok(Self {
            params,
            clues: if bound {
                ClueKind::Bound
            } else {
                ClueKind::Plain
            },
            seed,
            masks,
            frame,
        })
    }

    /// Reads the bodies of the next part of the file, which must be `part`.
    fn next(&mut self, part: Part) -> Result<Vec<Poly<Eval>>, DetectionKeyError> {
        let (ring, basis, count) = part.bodies(self.params, self.clues);
        (0..count)
            .map(|_| read_poly(ring, &basis, &mut self.frame))
            .collect()
    }

    /// Skips the next part of the file, which must be `part`.
    fn skip(&mut self, part: Part) -> Result<(), DetectionKeyError> {
        let bytes = part.bytes(self.params, self.clues);
        io::copy(&mut self.frame.by_ref().take(bytes), &mut io::sink())?;
        Ok(())
    }
}

/// Makes parts from their bodies, which may lie in this process's memory. Their masks are derived from the seeds unless
/// another key shares them already.
#[derive(Clone, Copy)]
struct Masks<'a> {
    params: &'a Params,
    place: &'a KeyPlace,
    own: &'a [u8; 32],
    linear: &'a [u8; 32],
}

impl<'a> Masks<'a> {
    fn seed(self, part: Part) -> rlwe::MaskSeed<'a> {
        rlwe::MaskSeed::new(part.seed(self.own, self.linear), part.index())
    }

    /// Returns the masks of a part with this number of bodies. Keys with one seed share them.
    fn of(self, part: Part, bodies: usize, draw: impl FnOnce() -> rlwe::Masks) -> rlwe::Masks {
        if !part.is_linear() {
            return draw();
        }
        let name = (*self.linear, part.index(), bodies);
        self.place.kept_masks.held_or_drawn(name, draw)
    }

    fn switching(self, part: Part, bodies: Vec<Poly<Eval>>) -> SwitchingKey {
        let (_, gadget) = part.shape(self.params);
        let shape = gadget.expect("a switching key has a gadget");
        let ring = self.place.ring(part, self.params);
        let draw = || SwitchingKey::masks(ring, shape, self.seed(part));
        let masks = self.of(part, bodies.len(), draw);
        let placed = bodies.into_iter().map(|body| body.placed(ring));
        SwitchingKey::from_bodies(shape, placed.collect(), masks)
    }

    fn packing(self, bodies: Vec<Poly<Eval>>) -> PackingKey {
        let opening = &self.params.opening;
        let (part, count) = (Part::Packing, bodies.len());
        let masks = self.of(part, count, || {
            PackingKey::masks(opening, count, self.seed(part))
        });
        PackingKey::from_bodies(opening, bodies, masks).placed(self.place.packing())
    }

    fn narrow(self, bodies: Vec<Poly<Eval>>) -> NarrowKey {
        let opening = &self.params.opening;
        let part = Part::Narrow;
        let masks = self.of(part, bodies.len(), || {
            NarrowKey::masks(opening, self.seed(part))
        });
        NarrowKey::from_bodies(opening, bodies, masks)
    }

    fn galois(self, part: Part, bodies: Vec<Poly<Eval>>) -> GaloisKey {
        let g = part
            .exponent(self.params)
            .expect("a Galois key has an exponent");
        let ring = self.place.ring(part, self.params);
        GaloisKey::from_switching_key(ring, g, self.switching(part, bodies))
    }

    fn secret(self, mut bodies: Vec<Poly<Eval>>) -> EncryptedSecret {
        let part = Part::Secret;
        let ring = self.place.ring(part, self.params);
        let draw = || {
            let basis = self.params.chain.basis(0);
            rlwe::Masks::from([self.seed(part).mask(ring, basis, &[])])
        };
        EncryptedSecret {
            masks: self.of(part, bodies.len(), draw),
            body: bodies.remove(0).placed(ring),
        }
    }

    fn shared(self, bodies: Vec<Poly<Eval>>) -> SharedKey {
        let (ring, shape) = (&self.params.final_ring, self.params.final_shape);
        SharedKey::from_bodies(ring, shape, bodies, self.seed(Part::Final))
    }
}

/// A part that may be made on another thread.
struct Later<T>(Option<T>);

impl<T: Send> Later<T> {
    const fn new() -> Self {
        Self(None)
    }

    fn begin<'s>(&'s mut self, scope: &Scope<'s>, make: impl FnOnce() -> T + Send + 's) {
        match parallel::current_num_threads() {
            1 => self.0 = Some(make()),
            _ => scope.spawn(|_| self.0 = Some(make())),
        }
    }

    /// Returns the part.
    ///
    /// Panics: if it was not begun, or its scope has not ended.
    fn made(self) -> T {
        self.0
            .expect("every part is begun, and its scope has ended")
    }
}

/// The parts of a key that are being made.
struct Parts {
    step: Later<GaloisKey>,
    giant: Later<GaloisKey>,
    product: Later<SwitchingKey>,
    descent: Later<SwitchingKey>,
    baby: Later<GaloisKey>,
    packing: Later<PackingKey>,
    narrow: Later<NarrowKey>,
    turn: Later<GaloisKey>,
    swap: Later<GaloisKey>,
    merge: Vec<Later<GaloisKey>>,
    secret: Later<EncryptedSecret>,
    last: Later<SharedKey>,
}

impl Parts {
    /// Makes the parts of a key, with none begun.
    fn new(params: &Params) -> Self {
        Self {
            step: Later::new(),
            giant: Later::new(),
            product: Later::new(),
            descent: Later::new(),
            baby: Later::new(),
            packing: Later::new(),
            narrow: Later::new(),
            turn: Later::new(),
            swap: Later::new(),
            merge: merge_levels(params).map(|_| Later::new()).collect(),
            secret: Later::new(),
            last: Later::new(),
        }
    }

    /// Reads all bodies through `next`, in the order of the file, and begins a part as soon as its bodies are read.
    /// Masks are derived only for parts whose bodies have arrived, so that a sender cannot cause work without sending
    /// them.
    fn begin<'s, E>(
        &'s mut self,
        scope: &Scope<'s>,
        mut next: impl FnMut(Part) -> Result<Vec<Poly<Eval>>, E>,
        masks: Masks<'s>,
    ) -> Result<(), E> {
        let params = masks.params;
        for (later, part) in [(&mut self.step, Part::Step), (&mut self.giant, Part::Giant)] {
            let bodies = next(part)?;
            later.begin(scope, move || masks.galois(part, bodies));
        }
        for (later, part) in [
            (&mut self.product, Part::Product),
            (&mut self.descent, Part::Descent),
        ] {
            let bodies = next(part)?;
            later.begin(scope, move || masks.switching(part, bodies));
        }
        let baby = next(Part::Baby)?;
        self.baby
            .begin(scope, move || masks.galois(Part::Baby, baby));
        let packing = next(Part::Packing)?;
        self.packing.begin(scope, move || masks.packing(packing));
        let narrow = next(Part::Narrow)?;
        self.narrow.begin(scope, move || masks.narrow(narrow));
        let levels = merge_levels(params).map(Part::Merge);
        let merges = self.merge.iter_mut().zip(levels);
        let turns = [(&mut self.turn, Part::Turn), (&mut self.swap, Part::Swap)];
        for (later, part) in turns.into_iter().chain(merges) {
            let bodies = next(part)?;
            later.begin(scope, move || masks.galois(part, bodies));
        }
        let secret = next(Part::Secret)?;
        self.secret.begin(scope, move || masks.secret(secret));
        let last = next(Part::Final)?;
        self.last.begin(scope, move || masks.shared(last));
        Ok(())
    }
}

impl DetectionKey {
    /// Reads the seed of the masks that the key may share with others ([`DetectionKey::masks`]) from the beginning of
    /// the file, which is not verified.
    ///
    /// Errors: `Frame` (another kind of file, other parameters), `Length`.
    pub fn read_masks(params: &Params, from: impl Read) -> Result<[u8; 32], DetectionKeyError> {
        Ok(Bodies::open(params, from)?.masks)
    }

    /// Reads a key's file and derives the masks, on several threads if rayon has them. Keys of these parameters with
    /// one seed share its masks ([`DetectionKey::masks`]).
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Residue`.
    pub fn read(params: &Params, from: impl Read) -> Result<Self, DetectionKeyError> {
        Self::read_to(params.key_place(), params, from)
    }

    /// Reads a key's file to another memory, for keys of these parameters only. Keys there with one seed share its
    /// masks.
    ///
    /// Errors: those of [`DetectionKey::read`].
    pub fn read_to(
        place: &KeyPlace,
        params: &Params,
        from: impl Read,
    ) -> Result<Self, DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        let seeds = [file.seed, file.masks];
        let key = Self::placed(place, params, [0; 16], seeds, |part| file.next(part))?;
        let id = file.frame.finish()?.key_id;
        Ok(Self { id, ..key })
    }

    /// Makes a key from its bodies, which `next` returns part by part in the order of the file, and from two seeds of
    /// masks: the recipient's own, and the one that several keys may share.
    ///
    /// Errors: those of `next`.
    pub fn from_bodies<E>(
        params: &Params,
        id: [u8; 16],
        seeds: [[u8; 32]; 2],
        next: impl FnMut(Part) -> Result<Vec<Poly<Eval>>, E>,
    ) -> Result<Self, E> {
        Self::placed(params.key_place(), params, id, seeds, next)
    }

    fn placed<E>(
        place: &KeyPlace,
        params: &Params,
        id: [u8; 16],
        seeds: [[u8; 32]; 2],
        next: impl FnMut(Part) -> Result<Vec<Poly<Eval>>, E>,
    ) -> Result<Self, E> {
        let [seed, linear] = seeds;
        let mut parts = Parts::new(params);
        let masks = Masks {
            params,
            place,
            own: &seed,
            linear: &linear,
        };
        // `next` runs on this thread, because its reader may not be `Send`.
        parallel::in_place_scope(|scope| parts.begin(scope, next, masks))?;
        Ok(Self {
            id,
            seed,
            masks: linear,
            step: parts.step.made(),
            giant: parts.giant.made(),
            opening: OpeningKey {
                baby: parts.baby.made(),
                packing: parts.packing.made(),
                narrow: parts.narrow.made(),
            },
            product: parts.product.made(),
            descent: parts.descent.made(),
            turn: parts.turn.made(),
            swap: parts.swap.made(),
            merge: parts.merge.into_iter().map(Later::made).collect(),
            secret: parts.secret.made(),
            last: parts.last.made(),
        })
    }

    /// Reads only the part of the file that finishes digests: 1.6 of 130 MB at full size. The rest is verified by the
    /// file's checksum only.
    ///
    /// Errors: those of [`DetectionKey::read`].
    pub fn read_final(params: &Params, from: impl Read) -> Result<FinalKey, DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        let mut bodies = Vec::new();
        for part in Part::all(params) {
            match part {
                Part::Final => bodies = file.next(part)?,
                part => file.skip(part)?,
            }
        }
        let seed = file.seed;
        let masks = Masks {
            params,
            place: params.key_place(),
            own: &seed,
            linear: &file.masks,
        };
        let last = masks.shared(bodies);
        let id = file.frame.finish()?.key_id;
        Ok(FinalKey { id, last })
    }

    /// Reads a key's file to its end and checks it, without keeping it.
    ///
    /// Errors: those of [`DetectionKey::read`].
    pub fn check(params: &Params, from: impl Read) -> Result<(), DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        for part in Part::all(params) {
            let (ring, basis, count) = part.bodies(params, file.clues);
            for _ in 0..count {
                read_poly(ring, &basis, &mut file.frame)?;
            }
        }
        file.frame.finish()?;
        Ok(())
    }
}
