//! Reading a detection key: bodies as they come, the masks of one part beside the bodies of the next.

use super::{DetectionKey, EncryptedSecret, FinalKey, OpeningKey, Part, merge_levels, secrets};
use crate::frame::{FrameReader, Kind};
use crate::key_file::read_poly;
use crate::sophomr::Params;
use crate::{ClueKind, DetectionKeyError};
use omr_bgv::{Ciphertext, GaloisKey};
use omr_errors::Mismatch;
use omr_opening::{NarrowKey, Opening, PackingKey};
use omr_ring::parallel::{self, Scope};
use omr_ring::{Eval, Poly};
use omr_rlwe::{self as rlwe, Rlwe, SharedKey, SwitchingKey};
use std::io::{self, Read};

/// A key's file whose header and length were checked.
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
        let mut masks = seed;
        if params.opening.is_some() {
            frame.read_exact(&mut masks)?;
        }
        Ok(Self {
            params,
            clues: match bound {
                true => ClueKind::Bound,
                false => ClueKind::Plain,
            },
            seed,
            masks,
            frame,
        })
    }

    /// The bodies of the next part of the file, which is this one.
    fn next(&mut self, part: Part) -> Result<Vec<Poly<Eval>>, DetectionKeyError> {
        let (ring, basis, count) = part.bodies(self.params, self.clues);
        (0..count)
            .map(|_| read_poly(ring, &basis, &mut self.frame))
            .collect()
    }

    /// Passes over the next part of the file, which is this one.
    fn skip(&mut self, part: Part) -> Result<(), DetectionKeyError> {
        let bytes = part.bytes(self.params, self.clues);
        io::copy(&mut self.frame.by_ref().take(bytes), &mut io::sink())?;
        Ok(())
    }
}

/// What makes parts from their bodies: draws the masks again, but for those that another key holds already.
#[derive(Clone, Copy)]
struct Masks<'a> {
    params: &'a Params,
    own: &'a [u8; 32],
    linear: &'a [u8; 32],
}

impl<'a> Masks<'a> {
    fn seed(self, part: Part) -> &'a [u8; 32] {
        part.seed(self.own, self.linear)
    }

    /// The masks of a part with so many of them: those of other keys with this seed, where keys share seeds.
    fn of(self, part: Part, bodies: usize, draw: impl FnOnce() -> rlwe::Masks) -> rlwe::Masks {
        match &self.params.opening {
            Some(_) if part.is_linear() => {
                let name = (*self.linear, part.index(), bodies);
                self.params.kept_masks.held_or_drawn(name, draw)
            }
            _ => draw(),
        }
    }

    fn switching(self, part: Part, bodies: Vec<Poly<Eval>>) -> SwitchingKey {
        let (ring, shape) = part.shape(self.params);
        let shape = shape.expect("a switching key has a gadget");
        let draw = || SwitchingKey::masks(ring, shape, self.seed(part), part.index());
        let masks = self.of(part, bodies.len(), draw);
        SwitchingKey::from_bodies(shape, bodies, masks)
    }

    fn packing(self, opening: &Opening, bodies: Vec<Poly<Eval>>) -> PackingKey {
        let (part, count) = (Part::Packing, bodies.len());
        let at = (self.seed(part), part.index());
        let masks = self.of(part, count, || PackingKey::masks(opening, count, at));
        PackingKey::from_bodies(opening, bodies, masks)
    }

    fn narrow(self, opening: &Opening, bodies: Vec<Poly<Eval>>) -> NarrowKey {
        let part = Part::Narrow;
        let at = (self.seed(part), part.index());
        let masks = self.of(part, bodies.len(), || NarrowKey::masks(opening, at));
        NarrowKey::from_bodies(opening, bodies, masks)
    }

    fn galois(self, part: Part, bodies: Vec<Poly<Eval>>) -> GaloisKey {
        let g = part.exponent(self.params);
        let g = g.expect("a Galois key has an exponent");
        let (ring, _) = part.shape(self.params);
        GaloisKey::from_switching_key(ring, g, self.switching(part, bodies))
    }

    /// The one mask of a part that is a ciphertext.
    fn mask(self, part: Part) -> Poly<Eval> {
        let basis = self.params.chain.basis(0);
        rlwe::mask(&self.params.ring, basis, self.seed(part), &[part.index()])
    }

    fn secret(self, part: Part, mut bodies: Vec<Poly<Eval>>) -> EncryptedSecret {
        EncryptedSecret {
            masks: self.of(part, bodies.len(), || [self.mask(part)].into()),
            body: bodies.remove(0),
        }
    }

    fn offset(self, mut bodies: Vec<Poly<Eval>>) -> Ciphertext {
        let pair = Rlwe::new(bodies.remove(0), self.mask(Part::Offset));
        Ciphertext::new(pair, 0, 1)
    }

    fn shared(self, bodies: Vec<Poly<Eval>>) -> SharedKey {
        let (ring, shape) = (&self.params.final_ring, self.params.final_shape);
        SharedKey::from_bodies(ring, shape, bodies, self.own, Part::Final.index())
    }
}

/// A part that another thread may be making, if there is one.
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

    /// The part. Panics: when it was not begun, or its scope did not end.
    fn made(self) -> T {
        self.0
            .expect("every part is begun, and its scope has ended")
    }
}

/// All parts, in the making.
struct Parts {
    step: Later<GaloisKey>,
    giant: Later<GaloisKey>,
    product: Later<SwitchingKey>,
    descent: Later<SwitchingKey>,
    opening: Option<(Later<GaloisKey>, Later<PackingKey>, Later<NarrowKey>)>,
    turn: Later<GaloisKey>,
    swap: Later<GaloisKey>,
    merge: Vec<Later<GaloisKey>>,
    secrets: Vec<Later<EncryptedSecret>>,
    last: Later<SharedKey>,
    offset: Option<Later<Ciphertext>>,
}

impl Parts {
    /// None begun, of a key for clues of a kind.
    fn new(params: &Params, clues: ClueKind) -> Self {
        let opening = params.opening.is_some();
        let offset = !opening && clues == ClueKind::Bound;
        Self {
            step: Later::new(),
            giant: Later::new(),
            product: Later::new(),
            descent: Later::new(),
            opening: opening.then(|| (Later::new(), Later::new(), Later::new())),
            turn: Later::new(),
            swap: Later::new(),
            merge: merge_levels(params).map(|_| Later::new()).collect(),
            secrets: secrets(params).map(|_| Later::new()).collect(),
            last: Later::new(),
            offset: offset.then(Later::new),
        }
    }

    /// Asks for all bodies, in the order of the file, and begins every part as soon as its bodies are there: who sends no
    /// bodies makes no work.
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
        if let (Some((baby, packing, narrow)), Some(opening)) = (&mut self.opening, &params.opening)
        {
            let bodies = next(Part::Baby)?;
            baby.begin(scope, move || masks.galois(Part::Baby, bodies));
            let bodies = next(Part::Packing)?;
            packing.begin(scope, move || masks.packing(opening, bodies));
            let bodies = next(Part::Narrow)?;
            narrow.begin(scope, move || masks.narrow(opening, bodies));
        }
        let merges = self.merge.iter_mut().zip(merge_levels(params));
        let merges = merges.map(|(later, level)| (later, Part::Merge(level)));
        let turns = [(&mut self.turn, Part::Turn), (&mut self.swap, Part::Swap)];
        for (later, part) in turns.into_iter().chain(merges) {
            let bodies = next(part)?;
            later.begin(scope, move || masks.galois(part, bodies));
        }
        for (later, part) in self.secrets.iter_mut().zip(secrets(params)) {
            let bodies = next(part)?;
            later.begin(scope, move || masks.secret(part, bodies));
        }
        let bodies = next(Part::Final)?;
        self.last.begin(scope, move || masks.shared(bodies));
        if let Some(offset) = &mut self.offset {
            let bodies = next(Part::Offset)?;
            offset.begin(scope, move || masks.offset(bodies));
        }
        Ok(())
    }
}

impl DetectionKey {
    /// The seed of masks that the key has in common with others ([`DetectionKey::masks`]), in sets that open clues: reads
    /// no more than the head of the file, which is not verified.
    ///
    /// Errors: `Frame` (another kind of file, other parameters), `Length`.
    pub fn read_masks(
        params: &Params,
        from: impl Read,
    ) -> Result<Option<[u8; 32]>, DetectionKeyError> {
        let masks = Bodies::open(params, from)?.masks;
        Ok(params.opening.is_some().then_some(masks))
    }

    /// Reads the file and draws the masks again, on several threads where rayon has some. Keys of these parameters whose
    /// masks come from one seed hold them together ([`DetectionKey::masks`]).
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Residue`.
    pub fn read(params: &Params, from: impl Read) -> Result<Self, DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        let (seeds, clues) = ([file.seed, file.masks], file.clues);
        let key = Self::from_bodies(params, [0; 16], seeds, clues, |part| file.next(part))?;
        let id = file.frame.finish()?.key_id;
        Ok(Self { id, ..key })
    }

    /// Makes a key for clues of a kind from its bodies, part by part in the order of the file, and the seeds of its masks:
    /// her own, and those that keys may have in common (the same in sets that open no clues).
    ///
    /// Errors: those of `next`.
    pub fn from_bodies<E>(
        params: &Params,
        id: [u8; 16],
        [seed, linear]: [[u8; 32]; 2],
        clues: ClueKind,
        next: impl FnMut(Part) -> Result<Vec<Poly<Eval>>, E>,
    ) -> Result<Self, E> {
        let mut parts = Parts::new(params, clues);
        let masks = Masks {
            params,
            own: &seed,
            linear: &linear,
        };
        // On this thread: what is read from may have to stay here.
        parallel::in_place_scope(|scope| parts.begin(scope, next, masks))?;
        let opening = parts.opening.map(|(baby, packing, narrow)| OpeningKey {
            baby: baby.made(),
            packing: packing.made(),
            narrow: narrow.made(),
        });
        Ok(Self {
            id,
            seed,
            masks: linear,
            step: parts.step.made(),
            giant: parts.giant.made(),
            opening,
            product: parts.product.made(),
            descent: parts.descent.made(),
            turn: parts.turn.made(),
            swap: parts.swap.made(),
            merge: parts.merge.into_iter().map(Later::made).collect(),
            secrets: parts.secrets.into_iter().map(Later::made).collect(),
            last: parts.last.made(),
            offset: parts.offset.map(Later::made),
        })
    }

    /// Reads of the file the part that finishes digests, 1.6 of 130 MB at full size. The rest is checked against the file's
    /// checksum alone and not kept.
    ///
    /// Errors: those of [`DetectionKey::read`].
    pub fn read_final(params: &Params, from: impl Read) -> Result<FinalKey, DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        let mut bodies = Vec::new();
        for part in Part::of_key(params, file.clues) {
            match part {
                Part::Final => bodies = file.next(part)?,
                part => file.skip(part)?,
            }
        }
        let seed = file.seed;
        let masks = Masks {
            params,
            own: &seed,
            linear: &file.masks,
        };
        let last = masks.shared(bodies);
        let id = file.frame.finish()?.key_id;
        Ok(FinalKey { id, last })
    }

    /// Reads the file to its end and checks it, without keeping it.
    ///
    /// Errors: those of [`DetectionKey::read`].
    pub fn check(params: &Params, from: impl Read) -> Result<(), DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        for part in Part::of_key(params, file.clues) {
            let (ring, basis, count) = part.bodies(params, file.clues);
            for _ in 0..count {
                read_poly(ring, &basis, &mut file.frame)?;
            }
        }
        file.frame.finish()?;
        Ok(())
    }
}
