//! Recipients from 24 words: the secret, the address and the detection keys are derived from words that a person keeps
//! on paper.
//!
//! The words are those of [BIP-39](https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki), English list: 256
//! random bits and a checksum of 8. The seed of BIP-39 and its passphrase have no part in it. The derivation is defined
//! in `docs/wire.md`, section 23, and pinned by vectors (`testdata/words`): words of one version of this crate make the
//! same keys in every later one. A change of the derivation, or of anything that draws from its generators, needs
//! contexts with another version.

use crate::periods::PeriodSecrets;
use crate::{SecretKey, identity};
use bip39::{Language, Mnemonic};
use chacha20::ChaCha20Rng;
use omr_protocol::{ClueKey, ClueKind, ClueParams, Mismatch};
use rand_core::{CryptoRng, SeedableRng};
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// The context of the generator from which [`identity`] draws.
const IDENTITY: &str = "omr words v1 identity";
/// The context of the generator of detection keys.
const DETECTION: &str = "omr words v1 detection keys";
/// The context of the generator of the state of period 0.
const PERIODS: &str = "omr words v1 periods";

const ENTROPY_BYTES: usize = 32;

/// Words that were refused. No error contains one of them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WordsError {
    /// There are more or fewer.
    #[error("expected {} words, found {}", .0.expected, .0.found)]
    Count(Mismatch<usize>),
    /// These words are not in the list. The first word is number 1.
    #[error(
        "expected words of the English list of BIP-39, found others: {}; no two words of the list have the same first \
         four letters",
        numbered(.0)
    )]
    Unknown(Vec<usize>),
    /// Most words are not in the list; this number of them is.
    #[error(
        "expected 24 words of the English list of BIP-39, found {0} in it: words of other languages and of other lists \
         make no keys"
    )]
    Language(usize),
    /// The checksum in the last word is wrong.
    #[error(
        "expected 24 words with a checksum, found ones that it does not fit, though all are in the list: one of them is \
         another than it was, or two are exchanged"
    )]
    Checksum,
}

fn numbered(places: &[usize]) -> String {
    let numbers: Vec<String> = places.iter().map(ToString::to_string).collect();
    match &numbers[..] {
        [one] => format!("word {one} is none"),
        [most @ .., last] => format!("words {} and {last} are none", most.join(", ")),
        [] => String::new(),
    }
}

/// The 24 words of a recipient. A person who has them has the secret. They are wiped when dropped and shown by
/// [`Words::each`] alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Words(Mnemonic);

impl Words {
    /// The number of words.
    pub const COUNT: usize = 24;

    /// Makes new words from 32 bytes of `rng`.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut entropy = Zeroizing::new([0; ENTROPY_BYTES]);
        rng.fill_bytes(&mut *entropy);
        Self(Mnemonic::from_entropy(&*entropy).expect("256 bits are 24 words"))
    }

    /// Reads words in their order, in small or capital letters, with blanks or line ends between them. A byte order mark
    /// before them is skipped, and so are numbers, which [`Words::each`] may be printed with.
    ///
    /// Errors: those of [`WordsError`].
    pub fn parse(text: &str) -> Result<Self, WordsError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // Words of the list are ASCII. The string does not grow, which would leave a copy behind.
        let mut words = Zeroizing::new(String::with_capacity(text.len() + 1));
        let mut count = 0;
        for word in text.split_whitespace().filter(|word| !is_number(word)) {
            words.push_str(word);
            words.push(' ');
            count += 1;
        }
        words.make_ascii_lowercase();
        if count != Self::COUNT {
            return Err(WordsError::Count(Mismatch::new(Self::COUNT, count)));
        }
        let list = Language::English;
        let unknown = (1..).zip(words.split_whitespace());
        let unknown = unknown.filter(|(_, word)| list.find_word(word).is_none());
        let unknown: Vec<usize> = unknown.map(|(place, _)| place).collect();
        if unknown.len() > Self::COUNT / 2 {
            return Err(WordsError::Language(Self::COUNT - unknown.len()));
        }
        if !unknown.is_empty() {
            return Err(WordsError::Unknown(unknown));
        }
        let parsed = Mnemonic::parse_in_normalized(list, &words);
        parsed.map(Self).map_err(|_| WordsError::Checksum)
    }

    /// Returns the words in their order, to be shown to their owner.
    pub fn each(&self) -> impl Iterator<Item = &'static str> {
        self.0.words()
    }

    /// Makes the recipient's secret and address for clues of a kind: the same ones, whenever and wherever. Other sets and
    /// kinds of clues have independent ones.
    pub fn identity(&self, params: &ClueParams, clues: ClueKind) -> (SecretKey, ClueKey) {
        identity(params, clues, &mut self.generator(IDENTITY, params, clues))
    }

    /// Returns the generator for [`crate::write_detection_key`] of this recipient, one for each key. A key without an
    /// epoch is then always the same one, and a key of an epoch within it.
    pub fn detection_rng(&self, params: &ClueParams, clues: ClueKind) -> ChaCha20Rng {
        self.generator(DETECTION, params, clues)
    }

    /// Makes the secrets of all periods of this recipient, from period 0 on.
    pub fn periods(&self, params: &ClueParams, clues: ClueKind) -> PeriodSecrets {
        PeriodSecrets::generate(0, &mut self.generator(PERIODS, params, clues))
    }

    fn generator(&self, context: &str, params: &ClueParams, clues: ClueKind) -> ChaCha20Rng {
        let mut entropy = Zeroizing::new([0; ENTROPY_BYTES + 1]);
        (*entropy, _) = self.0.to_entropy_array();
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(&entropy[..ENTROPY_BYTES]);
        hasher.update(&[clues.tag()]);
        hasher.update(params.name().as_bytes());
        let mut key = Zeroizing::new([0; 32]);
        let mut reader = hasher.finalize_xof();
        reader.fill(&mut *key);
        reader.zeroize();
        hasher.zeroize();
        ChaCha20Rng::from_seed(*key)
    }
}

/// Shows nothing of the words.
impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Words(..)")
    }
}

/// Returns whether a word is the number of another one: `7`, `7.` or `7)`.
fn is_number(word: &str) -> bool {
    let digits = word.trim_end_matches(['.', ')', ':']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os_rng;
    use proptest::prelude::*;

    /// BIP-39's vector of 256 bits `7f7f..7f`, which has the checksum's word at its end.
    const RIGHT: &str = "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth \
                         useful legal winner thank year wave sausage worth title";

    fn refused(text: &str) -> WordsError {
        let error = Words::parse(text).unwrap_err();
        let said = format!("{error} {error:?}");
        for word in text.split_whitespace().filter(|word| word.len() > 6) {
            assert!(!said.contains(word), "{word}: {said}");
        }
        error
    }

    #[test]
    fn words_are_those_of_the_standard() {
        let words = Words::parse(RIGHT).unwrap();
        assert_eq!(words.0.to_entropy_array().0[..32], [0x7f; 32]);
        assert_eq!(
            words.each().collect::<Vec<_>>(),
            RIGHT.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(format!("{words:?}"), "Words(..)");
    }

    #[test]
    fn new_words_are_read_again() {
        let words = Words::generate(&mut os_rng());
        assert_ne!(words, Words::generate(&mut os_rng()));
        let text: Vec<&str> = words.each().collect();
        assert_eq!(text.len(), Words::COUNT);
        assert_eq!(Words::parse(&text.join(" ")).unwrap(), words);
    }

    #[test]
    fn case_blanks_and_numbers_do_not_matter() {
        let words = Words::parse(RIGHT).unwrap();
        let capitals = RIGHT.to_uppercase();
        let lines = RIGHT.replace(' ', " \r\n\t\u{a0}");
        let numbered = (1..).zip(RIGHT.split(' '));
        let numbered: String = numbered
            .map(|(i, word)| format!("{i:2}. {word}  "))
            .collect();
        for text in [
            &capitals,
            &lines,
            &numbered,
            &format!("\u{feff}  {RIGHT}\n\n"),
        ] {
            assert_eq!(Words::parse(text).unwrap(), words);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}", count in 0..30usize) {
            let _ = Words::parse(&text);
            let _ = Words::parse(&format!("{text} ").repeat(count));
        }

        /// The checksum has 8 bits: one of 256 sequences of words has the right one.
        #[test]
        fn words_that_are_read_are_the_words(places in prop::collection::vec(0..2048usize, 24)) {
            let list = Language::English.word_list();
            let words: Vec<&str> = places.iter().map(|place| list[*place]).collect();
            match Words::parse(&words.join(" ")) {
                Ok(read) => prop_assert_eq!(read.each().collect::<Vec<_>>(), words),
                Err(error) => prop_assert_eq!(error, WordsError::Checksum),
            }
        }
    }

    #[test]
    fn wrong_words_are_refused_without_being_repeated() {
        let replaced = |at: usize, by: &str| {
            let mut words: Vec<&str> = RIGHT.split(' ').collect();
            words[at] = by;
            words.join(" ")
        };
        let few = RIGHT.rsplit_once(' ').unwrap().0;
        assert_eq!(refused(few), WordsError::Count(Mismatch::new(24, 23)));
        assert_eq!(refused(""), WordsError::Count(Mismatch::new(24, 0)));
        assert_eq!(
            refused(&replaced(5, "sausagge")),
            WordsError::Unknown(vec![6])
        );
        let error = refused(&replaced(5, "sausagge").replace("title", "titleless"));
        assert_eq!(error, WordsError::Unknown(vec![6, 24]));
        assert!(
            error.to_string().contains("words 6 and 24 are none"),
            "{error}"
        );
        assert_eq!(refused(&replaced(5, "abandon")), WordsError::Checksum);
        let exchanged = RIGHT.replacen("winner thank", "thank winner", 1);
        assert_eq!(refused(&exchanged), WordsError::Checksum);
        // The French list has "animal", too.
        let french = format!("{}animal", "abaisser ".repeat(23));
        assert_eq!(refused(&french), WordsError::Language(1));
    }
}
