//! Files with fields, for example a name, beside their content. Their parts begin with a mark, and the file begins with its
//! fields.
//!
//! ```text
//! part:   00 01   a part as described in `fragment`, of the remaining capacity
//! file:   varint(bytes of all fields)   fields   content
//! field:  varint(tag)   varint(len)   len bytes
//! ```
//!
//! Tag 1 is the name, UTF-8, tag 2 the header of a letter, see [`crate::header`]. Fields of other tags are reserved for
//! later versions and ignored. No part of a file
//! without fields begins with a zero, so readers without this format refuse marked parts.

use super::name::file_name;
use super::split::{Shape, shape, split};
use super::{FragmentError, varint};
use rand_core::CryptoRng;

/// The mark in front of each part.
const MARK: [u8; 2] = [0, 1];
/// Largest length in bytes of all fields.
const MOST_FIELDS: u64 = 4096;
const NAME: u64 = 1;
const HEADER: u64 = 2;

/// A complete file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// The name that its sender gave it, made harmless by [`file_name`].
    pub name: Option<String>,
    /// The header that its sender gave it, as it was sent, for [`crate::header::read`].
    pub header: Option<Vec<u8>>,
    /// The content.
    pub bytes: Vec<u8>,
}

/// The fields of a file beside its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The name, already made harmless by [`file_name`].
    pub name: Option<&'a str>,
    /// The header.
    pub header: Option<&'a [u8]>,
}

/// Splits a file with a name as [`split`] does. The name is left out if the file fits one part only without it.
///
/// Errors: `CapacityTooSmall`.
pub fn split_named(
    name: Option<&str>,
    bytes: &[u8],
    capacity: usize,
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<u8>>, FragmentError> {
    let plain = split(bytes, capacity, rng)?;
    let (Some(safe), Some(left)) = (name.and_then(file_name), capacity.checked_sub(MARK.len()))
    else {
        return Ok(plain);
    };
    let named = Fields {
        name: Some(&safe),
        header: None,
    };
    match split_marked(&named, bytes, left, rng) {
        Ok(parts) if parts.len() == 1 || plain.len() > 1 => Ok(parts),
        _ => Ok(plain),
    }
}

/// Splits a file with all these fields as [`split`] does, whatever they cost.
///
/// Errors: `CapacityTooSmall`.
pub fn split_fields(
    fields: &Fields<'_>,
    bytes: &[u8],
    capacity: usize,
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<u8>>, FragmentError> {
    split_marked(fields, bytes, capacity.saturating_sub(MARK.len()), rng)
}

/// Splits a file with fields for parts of `left` bytes after their mark.
fn split_marked(
    fields: &Fields<'_>,
    bytes: &[u8],
    left: usize,
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<u8>>, FragmentError> {
    let parts = split(&[&fields.to_bytes()[..], bytes].concat(), left, rng)?;
    let mark = |part: Vec<u8>| [&MARK[..], &part].concat();
    Ok(parts.into_iter().map(mark).collect())
}

/// Returns the shape in which [`split_named`] splits a file of `len` bytes.
///
/// Errors: `CapacityTooSmall`.
pub fn shape_named(name: Option<&str>, len: u64, capacity: usize) -> Result<Shape, FragmentError> {
    let plain = shape(len, capacity)?;
    let (Some(safe), Some(left)) = (name.and_then(file_name), capacity.checked_sub(MARK.len()))
    else {
        return Ok(plain);
    };
    let fields = Fields {
        name: Some(&safe),
        header: None,
    };
    let named = len.saturating_add(fields.to_bytes().len() as u64);
    match shape(named, left) {
        Ok(found) if found.parts == 1 || plain.parts > 1 => Ok(found),
        _ => Ok(plain),
    }
}

impl Fields<'_> {
    /// Returns the bytes in front of the content.
    fn to_bytes(self) -> Vec<u8> {
        let mut fields = Vec::new();
        let values = [(NAME, self.name.map(str::as_bytes)), (HEADER, self.header)];
        for (tag, value) in values {
            let Some(value) = value else { continue };
            varint::write(tag, &mut fields);
            varint::write(value.len() as u64, &mut fields);
            fields.extend_from_slice(value);
        }
        let mut bytes = Vec::with_capacity(fields.len() + 2);
        varint::write(fields.len() as u64, &mut bytes);
        bytes.extend_from_slice(&fields);
        bytes
    }
}

/// Returns whether a part has a mark, and the part without it.
///
/// Errors: `Version` for marks of later versions.
pub(super) fn unmarked(part: &[u8]) -> Result<(bool, &[u8]), FragmentError> {
    match part {
        [0, 1, rest @ ..] => Ok((true, rest)),
        [0, found, ..] if *found > 1 => Err(FragmentError::Version(*found)),
        // Parts of zeros are of no kind.
        _ => Ok((false, part)),
    }
}

/// Reads a file that begins with fields.
///
/// Errors: `Fields`.
pub(super) fn opened(file: &[u8]) -> Result<Whole, FragmentError> {
    let wrong = |_| FragmentError::Fields;
    let mut rest = file;
    let len = varint::read(&mut rest, file.len()).map_err(wrong)?;
    let (mut fields, bytes) = take(rest, len.min(MOST_FIELDS + 1))?;
    if len > MOST_FIELDS {
        return Err(FragmentError::Fields);
    }
    let (mut name, mut header) = (None, None);
    while !fields.is_empty() {
        let all = fields.len();
        let tag = varint::read(&mut fields, all).map_err(wrong)?;
        let len = varint::read(&mut fields, all).map_err(wrong)?;
        let (value, after) = take(fields, len)?;
        fields = after;
        if tag == NAME {
            name = file_name(&String::from_utf8_lossy(value));
        }
        // Of two headers, none could be the one that was signed.
        if tag == HEADER && header.replace(value.to_vec()).is_some() {
            return Err(FragmentError::Fields);
        }
    }
    Ok(Whole {
        name,
        header,
        bytes: bytes.to_vec(),
    })
}

fn take(bytes: &[u8], len: u64) -> Result<(&[u8], &[u8]), FragmentError> {
    usize::try_from(len)
        .ok()
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or(FragmentError::Fields)
}

#[cfg(test)]
mod tests {
    use super::super::{Reassembler, split};
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn rng() -> ChaCha20Rng {
        ChaCha20Rng::from_seed([5; 32])
    }

    fn parts(name: Option<&str>, len: usize, capacity: usize) -> Vec<Vec<u8>> {
        split_named(name, &vec![7; len], capacity, &mut rng()).unwrap()
    }

    fn together(parts: &[Vec<u8>]) -> Whole {
        let mut all = Reassembler::new();
        parts.iter().for_each(|part| all.push(part).unwrap());
        let (mut whole, incomplete) = all.finish();
        assert_eq!((whole.len(), incomplete.len()), (1, 0));
        whole.remove(0)
    }

    #[test]
    fn names_come_with_their_files() {
        for len in [0, 1, 60, 500, 20_000] {
            let found = parts(Some("letter.txt"), len, 100);
            assert!(found.iter().all(|part| part.len() == 100));
            let whole = together(&found);
            assert_eq!(whole.name.as_deref(), Some("letter.txt"), "{len}");
            assert_eq!(whole.bytes, vec![7; len]);
            // Files without a name have no fields.
            let bare = split(&vec![7; len], 100, &mut rng()).unwrap();
            assert_eq!(parts(None, len, 100), bare);
            assert_eq!(parts(Some(" / "), len, 100), bare);
        }
    }

    #[test]
    fn a_name_costs_no_second_message() {
        // 2 bytes of mark, 1 for the length of all fields, 2 and the name for the name; 1 or 2 for the length.
        for len in 0..=98 {
            let found = parts(Some("letter.txt"), len, 100);
            assert_eq!(found.len(), 1, "{len}");
            let named = len + 13 + 4 <= 100;
            assert_eq!(together(&found).name.is_some(), named, "{len}");
        }
        assert_eq!(parts(Some("x"), 5, 7), parts(None, 5, 7));
        assert!(split_named(Some("x"), &[1; 9], 1, &mut rng()).is_err());
    }

    #[test]
    fn the_shape_is_known_before_splitting() {
        for name in [None, Some("letter.txt"), Some(" / ")] {
            for (len, capacity) in (0..400)
                .map(|len| (len, 100))
                .chain([(20_000, 100), (9, 7)])
            {
                let announced = shape_named(name, len as u64, capacity);
                let Ok(found) = split_named(name, &vec![7; len], capacity, &mut rng()) else {
                    assert!(announced.is_err(), "{len}");
                    continue;
                };
                assert_eq!(
                    announced.unwrap().parts as usize,
                    found.len(),
                    "{name:?}, {len}"
                );
            }
        }
    }

    #[test]
    fn unmarked_readers_refuse_marked_parts() {
        // Readers without this format fail with an error, as for the part of a version that does not exist yet.
        for part in parts(Some("letter.txt"), 500, 100) {
            assert!(super::super::part::parse(&part).is_err());
            let mut later = part.clone();
            later[1] = 2;
            let refused = Reassembler::new().push(&later);
            assert_eq!(refused, Err(FragmentError::Version(2)));
        }
    }

    #[test]
    fn hostile_fields_are_refused_or_ignored() {
        let file = |file: &[u8]| opened(file);
        let later = [&[4, 9, 2, 1, 2][..], b"content"].concat();
        let header = [&[4, 2, 2, 1, 2][..], b"content"].concat();
        assert_eq!(file(&header).unwrap().header, Some(vec![1, 2]));
        assert_eq!(
            file(&later),
            Ok(Whole {
                bytes: b"content".to_vec(),
                ..Whole::default()
            })
        );
        let path = [&[9, 1, 7][..], b"../a\x1bbx"].concat();
        assert_eq!(file(&path).unwrap().name.as_deref(), Some("abx"));
        for wrong in [
            &[][..],
            &[1],
            &[2, 1, 5],
            &[2, 0x81, 0],
            &[0xff; 12],
            // Two headers.
            &[6, 2, 1, 1, 2, 1, 1],
            &[[0x81, 0x20].as_slice(), &[0; 5000]].concat(),
        ] {
            assert_eq!(file(wrong), Err(FragmentError::Fields), "{wrong:?}");
        }
        // Marked and unmarked parts do not belong to one file.
        let mut all = Reassembler::new();
        let mut mixed = parts(Some("x"), 300, 100);
        mixed[1].splice(..2, []);
        mixed[1].extend([0, 0]);
        all.push(&mixed[0]).unwrap();
        assert!(matches!(
            all.push(&mixed[1]),
            Err(FragmentError::Inconsistent(_) | FragmentError::Length { .. })
        ));
    }
}
