//! The keys' files.

use super::part::merge_levels;
use super::{EvaluationKey, Maker, Part, SEED_BYTES, SecretKey};
use crate::noise::EXPANSION_LEVELS;
use crate::{KeyError, Params};
use omr_bgv::GaloisKey;
use omr_protocol::Mismatch;
use omr_protocol::frame::{self, FrameHeader, FrameReader, FrameWriter, Kind};
use omr_protocol::key_file::{read_poly, row_bytes, write_poly};
use omr_ring::{Eval, Poly};
use omr_rlwe::{MaskSeed, Rlwe, SharedKey, SwitchingKey};
use rand_core::CryptoRng;
use std::io::{Read, Write};
use zeroize::Zeroizing;

impl SecretKey {
    fn header(&self, params: &Params) -> FrameHeader {
        FrameHeader::new(Kind::PdqSecretKey, params.name(), self.id)
    }

    /// The file: the seed.
    pub fn to_bytes(&self, params: &Params) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let bytes = frame::write_frame_vec(&self.header(params), &self.seed)?;
        Ok(Zeroizing::new(bytes))
    }

    /// Reads the file. Errors: `Frame` (damage, another kind of file, other parameters), `Length`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, KeyError> {
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::PdqSecretKey, 1 << 10)?;
        let body = Zeroizing::new(body);
        header.expect_params(params.name())?;
        let seed = body[..]
            .try_into()
            .map_err(|_| KeyError::Length(Mismatch::new(SEED_BYTES as u64, body.len() as u64)))?;
        Ok(Self {
            id: header.key_id,
            seed,
        })
    }

    /// Makes the server's key and writes its file part by part, so that it is nowhere whole: the same file as that of
    /// [`SecretKey::evaluation_key`].
    ///
    /// Errors: those of the writer.
    pub fn write_evaluation_key(
        &self,
        params: &Params,
        rng: &mut impl CryptoRng,
        out: impl Write,
    ) -> Result<(), KeyError> {
        let mut maker = Maker::new(self, params, rng);
        let header = FrameHeader::new(Kind::PdqKey, params.name(), self.id);
        let mut frame = FrameWriter::new(out, &header, EvaluationKey::body_bytes(params))?;
        frame.write_all(&maker.seed)?;
        for part in Part::all(params) {
            let (ring, ..) = part.bodies(params);
            for body in maker.bodies(part, self) {
                write_poly(ring, &body, &mut frame)?;
            }
        }
        frame.finish()?;
        Ok(())
    }
}

impl EvaluationKey {
    /// Bytes of the file's body.
    fn body_bytes(params: &Params) -> u64 {
        let part = |part: Part| {
            let (ring, basis, count) = part.bodies(params);
            let row = |&id: &usize| row_bytes(ring, id) as u64;
            basis.ids().iter().map(row).sum::<u64>() * count as u64
        };
        32 + Part::all(params).into_iter().map(part).sum::<u64>()
    }

    fn header(&self, params: &Params) -> FrameHeader {
        FrameHeader::new(Kind::PdqKey, params.name(), self.id)
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self, params: &Params) -> u64 {
        Self::bytes_of(params)
    }

    /// Bytes of the whole file of any key of a set: what a server makes room for.
    pub fn bytes_of(params: &Params) -> u64 {
        let header = FrameHeader::new(Kind::PdqKey, params.name(), [0; 16]);
        header.file_len(Self::body_bytes(params))
    }

    fn part(&self, part: Part, params: &Params) -> Vec<&Poly<Eval>> {
        match part {
            Part::Expand(level) => galois(&self.expand[level as usize]),
            Part::Product => self.product.bodies().collect(),
            Part::Descent => self.descent.bodies().collect(),
            Part::Turn => galois(&self.turn),
            Part::Swap => galois(&self.swap),
            Part::Merge(level) => {
                galois(&self.merge[(level - merge_levels(params).start()) as usize])
            }
            Part::Final => self.last.bodies().collect(),
            Part::Zero => self.zero.iter().map(|zero| &zero.c0).collect(),
        }
    }

    /// Writes the file: the seed, then the bodies at their exact width. Errors: those of the writer.
    pub fn write(&self, params: &Params, out: impl Write) -> Result<(), KeyError> {
        let bytes = Self::body_bytes(params);
        let mut frame = FrameWriter::new(out, &self.header(params), bytes)?;
        frame.write_all(&self.seed)?;
        for part in Part::all(params) {
            let (ring, ..) = part.bodies(params);
            for body in self.part(part, params) {
                write_poly(ring, body, &mut frame)?;
            }
        }
        frame.finish()?;
        Ok(())
    }

    /// Reads the file and draws the masks again.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Residue`.
    pub fn read(params: &Params, from: impl Read) -> Result<Self, KeyError> {
        let expected = Self::body_bytes(params);
        let mut frame = FrameReader::read_header(from, Kind::PdqKey, 1 << 32)?;
        frame.header().expect_params(params.name())?;
        let found = frame.body_len();
        if found != expected {
            return Err(KeyError::Length(Mismatch::new(expected, found)));
        }
        let mut seed = [0; 32];
        frame.read_exact(&mut seed)?;
        let mut parts = Parts {
            params,
            seed,
            frame: &mut frame,
        };
        let expand = (0..EXPANSION_LEVELS as u32)
            .map(|level| parts.galois(Part::Expand(level)))
            .collect::<Result<_, _>>()?;
        let product = parts.switching(Part::Product)?;
        let descent = parts.switching(Part::Descent)?;
        let turn = parts.galois(Part::Turn)?;
        let swap = parts.galois(Part::Swap)?;
        let merge = merge_levels(params)
            .map(|level| parts.galois(Part::Merge(level)))
            .collect::<Result<_, _>>()?;
        let last = SharedKey::from_bodies(
            &params.final_ring,
            params.final_shape,
            parts.bodies(Part::Final)?,
            MaskSeed::new(&seed, Part::Final.index()),
        );
        let zero = params.two_sided().then(|| parts.zero()).transpose()?;
        let id = frame.finish()?.key_id;
        Ok(Self {
            id,
            seed,
            expand,
            product,
            descent,
            turn,
            swap,
            merge,
            last,
            zero,
        })
    }
}

fn galois(key: &GaloisKey) -> Vec<&Poly<Eval>> {
    key.switching_key().bodies().collect()
}

struct Parts<'a, R: Read> {
    params: &'a Params,
    seed: [u8; 32],
    frame: &'a mut FrameReader<R>,
}

impl<R: Read> Parts<'_, R> {
    fn bodies(&mut self, part: Part) -> Result<Vec<Poly<Eval>>, KeyError> {
        let (ring, basis, count) = part.bodies(self.params);
        (0..count)
            .map(|_| Ok(read_poly(ring, &basis, self.frame)?))
            .collect()
    }

    fn zero(&mut self) -> Result<Rlwe, KeyError> {
        let (ring, basis, _) = Part::Zero.bodies(self.params);
        Ok(Rlwe::new(
            read_poly(ring, &basis, self.frame)?,
            MaskSeed::new(&self.seed, Part::Zero.index()).mask(ring, &basis, &[]),
        ))
    }

    fn switching(&mut self, part: Part) -> Result<SwitchingKey, KeyError> {
        let bodies = self.bodies(part)?;
        let (ring, shape) = part.switching(self.params);
        let masks = SwitchingKey::masks(ring, shape, MaskSeed::new(&self.seed, part.index()));
        Ok(SwitchingKey::from_bodies(shape, bodies, masks))
    }

    fn galois(&mut self, part: Part) -> Result<GaloisKey, KeyError> {
        let key = self.switching(part)?;
        let (ring, _) = part.switching(self.params);
        Ok(GaloisKey::from_switching_key(
            ring,
            part.exponent(self.params),
            key,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn a_key_written_part_by_part_is_the_same_file() {
        for spec in Spec::ALL.into_iter().filter(|spec| spec.insecure) {
            let params = Params::named(spec.name).unwrap();
            let rng = || ChaCha20Rng::seed_from_u64(3);
            let secret = SecretKey::random(&mut ChaCha20Rng::seed_from_u64(2));
            let [mut whole, mut parts] = [Vec::new(), Vec::new()];
            let key = secret.evaluation_key(&params, &mut rng());
            key.write(&params, &mut whole).unwrap();
            let written = secret.write_evaluation_key(&params, &mut rng(), &mut parts);
            written.unwrap();
            assert!(whole == parts, "{}", spec.name);
        }
    }
}
