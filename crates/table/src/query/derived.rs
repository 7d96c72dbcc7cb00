//! Derived values: what the server keeps fingerprints of, so that a pattern becomes an equality.
//!
//! A text has a pattern exactly if the characters at the places that the pattern's shape asks for are the pattern's own:
//! those characters, in UTF-8 and in the order prefix, infix, suffix, are the derived value. An infix may stand at
//! several places; the text has the pattern if one of them derives the pattern's value. Values of one shape have as many
//! characters each, so that no two read alike; those of different shapes are never compared.

use super::pattern::fold;
use super::{LikeShape, Pattern, Segment};

const KEY_DOMAIN: &str = "omr-table 2026 fingerprints of derived texts v1";
const FINGERPRINT_BITS: u32 = 60;

/// Derives values of texts under one shape, in buffers of its own: one for each thread.
#[derive(Clone, Debug)]
pub struct Deriver {
    shape: LikeShape,
    chars: Vec<char>,
    bytes: Vec<u8>,
}

impl Deriver {
    /// A deriver for one shape.
    #[must_use]
    pub fn new(shape: &LikeShape) -> Self {
        Self {
            shape: shape.clone(),
            chars: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Takes the next text; folds it where the shape does.
    pub fn read(&mut self, text: &str) {
        self.chars.clear();
        if self.shape.fold {
            self.chars.extend(text.chars().map(fold));
        } else {
            self.chars.extend(text.chars());
        }
    }

    /// The value with the infix at a place, counted in characters from the end of the prefix, of the text last read.
    /// `None` where it does not fit: text too short, of another length where the shape is exact, infix in the suffix.
    /// Without an infix there is place 0 alone.
    #[must_use]
    pub fn at(&mut self, place: usize) -> Option<&[u8]> {
        let shape = &self.shape;
        let spare = self.chars.len().checked_sub(shape.min_chars())?;
        let last = if shape.infix.is_empty() { 0 } else { spare };
        if place > last || (shape.exact && spare > 0) {
            return None;
        }
        let infix = shape.prefix.len() + place;
        let suffix = self.chars.len() - shape.suffix.len();
        self.bytes.clear();
        take(&mut self.bytes, &shape.prefix, &self.chars);
        take(&mut self.bytes, &shape.infix, &self.chars[infix..]);
        take(&mut self.bytes, &shape.suffix, &self.chars[suffix..]);
        Some(&self.bytes)
    }
}

/// Appends the characters asked for; `chars` has at least as many as `asked`.
fn take(bytes: &mut Vec<u8>, asked: &[bool], chars: &[char]) {
    for (&character, _) in chars.iter().zip(asked).filter(|(_, asked)| **asked) {
        push(bytes, character);
    }
}

fn push(bytes: &mut Vec<u8>, character: char) {
    match u8::try_from(character) {
        Ok(ascii) if ascii.is_ascii() => bytes.push(ascii),
        _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// The derived value of one text, see [`Deriver::at`]. For many texts take a [`Deriver`].
#[must_use]
pub fn derive(shape: &LikeShape, text: &str, place: usize) -> Option<Vec<u8>> {
    let mut deriver = Deriver::new(shape);
    deriver.read(text);
    deriver.at(place).map(<[u8]>::to_vec)
}

impl Pattern {
    /// The pattern's own value: what [`derive()`] makes of exactly the texts that have the pattern, at one place at least.
    #[must_use]
    pub fn derived(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Segment(characters) in [&self.prefix, &self.infix, &self.suffix] {
            for &character in characters.iter().flatten() {
                push(
                    &mut bytes,
                    if self.fold {
                        fold(character)
                    } else {
                        character
                    },
                );
            }
        }
        bytes
    }
}

/// Fingerprints under one salt.
#[derive(Clone, Debug)]
pub struct Fingerprints {
    key: [u8; 32],
}

impl Fingerprints {
    /// Derives the key from a schema's salt.
    #[must_use]
    pub fn new(salt: &[u8; 16]) -> Self {
        Self {
            key: blake3::derive_key(KEY_DOMAIN, salt),
        }
    }

    /// The fingerprint of a derived value, or of a whole text for equality: the first 60 bits, little endian, of BLAKE3 in
    /// its keyed mode. Range: below 2^60. Unequal values share one with probability 2^-60.
    #[must_use]
    pub fn of(&self, derived: &[u8]) -> u64 {
        let hash = blake3::keyed_hash(&self.key, derived);
        let first: [u8; 8] = std::array::from_fn(|index| hash.as_bytes()[index]);
        u64::from_le_bytes(first) & ((1 << FINGERPRINT_BITS) - 1)
    }
}

/// One fingerprint, see [`Fingerprints::of`]. For many under one salt take [`Fingerprints`].
#[must_use]
pub fn fingerprint(salt: &[u8; 16], derived: &[u8]) -> u64 {
    Fingerprints::new(salt).of(derived)
}
