//! Searches for the secret key in places where it must not be.

use crate::commands::keygen::{CLUE_KEY, SECRET_KEY};
use crate::error::{CliError, InputError};
use crate::io::{Framed, read_secret_key};
use memchr::memmem::Finder;
use omr_client::seal::SEAL_SECRET_BYTES;
use omr_client::{DIGEST_SEED_BYTES, SecretKey};
use omr_protocol::frame::{Kind, pack_bits};
use omr_protocol::{ClueParams, EngineKind};
use rayon::prelude::*;
use serde::Serialize;
use std::fs;
use std::path::Path;
use zeroize::Zeroizing;

/// The number of encodings of a ternary secret that are searched: two bits per coefficient, residues modulo p, bytes,
/// and 64-bit words.
pub(super) const ENCODINGS: usize = 4;

/// The number of coefficients of one piece: too many to occur by chance.
const PIECE: usize = 256;

/// The number of bytes of the checksum at the end of every file.
const CHECKSUM_BYTES: usize = 32;

/// A file that was searched.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) place: &'static str,
    pub(super) bytes: u64,
    pub(super) pieces: usize,
}

/// Bytes that must not occur, and the secret to which they belong.
struct Piece {
    secret: &'static str,
    bytes: Zeroizing<Vec<u8>>,
}

/// Searches everything that the board and the detector have or make.
///
/// Errors: `Leak`, `Input`.
pub(super) fn check(
    params: &ClueParams,
    recipient: &Path,
    board: &Path,
    digest: &Path,
) -> Result<Vec<Check>, CliError> {
    let path = recipient.join(SECRET_KEY);
    let secret = read_secret_key(Framed::open(&path, Kind::SecretKey)?, params)?;
    let pieces = pieces(params, &secret).map_err(CliError::input(path))?;
    let board = board.join(omr_store::BOARD_FILE);
    let names = [CLUE_KEY]
        .into_iter()
        .chain(EngineKind::ALL.map(EngineKind::key_name));
    let mut places = vec![("the board", board)];
    places.extend(names.map(|name| (name, recipient.join(name))));
    places.push(("the digest", digest.to_owned()));
    places
        .iter()
        .filter(|(_, path)| path.exists())
        .map(|(place, path)| search(&pieces, place, path))
        .collect()
}

fn search(pieces: &[Piece], place: &'static str, path: &Path) -> Result<Check, CliError> {
    let bytes = fs::read(path)
        .map_err(InputError::from)
        .map_err(CliError::input(path))?;
    match leak(pieces, &bytes) {
        Some(secret) => Err(CliError::Leak { place, secret }),
        None => Ok(Check {
            place,
            bytes: bytes.len() as u64,
            pieces: pieces.len(),
        }),
    }
}

fn leak(pieces: &[Piece], bytes: &[u8]) -> Option<&'static str> {
    let found = |piece: &&Piece| Finder::new(&**piece.bytes).find(bytes).is_some();
    pieces.par_iter().find_any(found).map(|piece| piece.secret)
}

/// Returns the start, middle and end of the ternary secret in every encoding, and both halves of the seeds.
fn pieces(params: &ClueParams, secret: &SecretKey) -> Result<Vec<Piece>, InputError> {
    let file = secret.to_bytes(params)?;
    // The file ends with the seeds of the digest's secrets and of sealing, then the checksum.
    let end = file.len() - CHECKSUM_BYTES;
    let sealing = end - SEAL_SECRET_BYTES;
    let digest = sealing - DIGEST_SEED_BYTES;
    let mut pieces = Vec::new();
    let mut add = |secret, bytes| pieces.push(Piece { secret, bytes });
    for secret in [secret.clue_secret(), secret.instant_secret()] {
        let coeffs = secret.coeffs();
        let length = PIECE.min(coeffs.len());
        let last = coeffs.len() - length;
        for start in [0, last / 2 / length * length, last] {
            let encoded = encodings(params, &coeffs[start..start + length]);
            encoded
                .into_iter()
                .for_each(|bytes| add("clue secret", bytes));
        }
    }
    for (name, seed) in [
        ("digest seed", &file[digest..sealing]),
        ("sealing seed", &file[sealing..end]),
    ] {
        for half in seed.chunks(seed.len() / 2) {
            add(name, Zeroizing::new(half.to_vec()));
        }
    }
    Ok(pieces)
}

fn encodings(params: &ClueParams, coeffs: &[i64]) -> [Zeroizing<Vec<u8>>; ENCODINGS] {
    let packed = |words: Vec<u64>, bits| {
        let (words, mut out) = (Zeroizing::new(words), Zeroizing::new(Vec::new()));
        pack_bits(&words, bits, &mut out);
        out
    };
    let p = params.q();
    [
        packed(coeffs.iter().map(|&c| (c + 1) as u64).collect(), 2),
        packed(coeffs.iter().map(|&c| p.from_i64(c)).collect(), p.bits()),
        Zeroizing::new(coeffs.iter().map(|&c| c as u8).collect()),
        Zeroizing::new(coeffs.iter().flat_map(|c| c.to_le_bytes()).collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_is_found_where_it_lies_open() {
        let params = ClueParams::named("insecure-tiny-v4").unwrap();
        let kind = omr_protocol::ClueKind::Bound;
        let (secret, clue) = omr_client::identity(&params, kind, &mut omr_client::os_rng());
        let pieces = pieces(&params, &secret).unwrap();
        let file = secret.to_bytes(&params).unwrap();
        for secret in ["clue secret", "digest seed", "sealing seed"] {
            let of_it: Vec<_> = pieces
                .iter()
                .filter(|piece| piece.secret == secret)
                .collect();
            let open = of_it
                .iter()
                .filter(|piece| Finder::new(&**piece.bytes).find(&file).is_some());
            assert!(open.count() >= 2, "{secret}");
            for piece in of_it {
                let around = [&[7; 100][..], &piece.bytes, &[9; 100]].concat();
                assert_eq!(leak(&pieces, &around), Some(secret));
            }
        }
        let clean = clue.to_bytes(&params).unwrap();
        assert_eq!(leak(&pieces, &clean), None);
    }
}
