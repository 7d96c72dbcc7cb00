//! Proof of work for posts without a token. Finding it takes many hashes, checking it takes one.

use crate::v1::Message;

/// The largest number of leading zero bits that a server may require: 2^40 hashes take hours.
pub const WORK_BITS_MAX: u32 = 40;

const DOMAIN: &str = "omr posting work v1";

/// Hashes everything that the proof of work of one post is bound to: the board, the post's id and its messages.
struct Bound(blake3::Hasher);

impl Bound {
    fn new(board_id: &[u8], post_id: &[u8], messages: &[Message]) -> Self {
        let mut content = blake3::Hasher::new();
        for message in messages {
            content.update(&message.clue).update(&message.payload);
        }
        let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
        hasher.update(board_id).update(post_id);
        hasher.update(content.finalize().as_bytes());
        Self(hasher)
    }

    fn zero_bits(&self, work: u64) -> u32 {
        let hash = self.0.clone().update(&work.to_le_bytes()).finalize();
        let mut zeros = 0;
        for byte in hash.as_bytes() {
            zeros += byte.leading_zeros();
            if *byte != 0 {
                break;
            }
        }
        zeros
    }
}

/// Searches the proof of work of a post; `None` above [`WORK_BITS_MAX`] bits. Clues and payloads have fixed
/// sizes on a board, so their concatenation is unambiguous.
///
/// Time: 2^`bits` hashes on average.
#[must_use]
pub fn posting_work(
    board_id: &[u8],
    post_id: &[u8],
    messages: &[Message],
    bits: u32,
) -> Option<u64> {
    if bits > WORK_BITS_MAX {
        return None;
    }
    let bound = Bound::new(board_id, post_id, messages);
    (0..=u64::MAX).find(|&work| bound.zero_bits(work) >= bits)
}

/// Returns whether `work` yields at least `bits` leading zero bits for this post.
#[must_use]
pub fn check_posting_work(
    board_id: &[u8],
    post_id: &[u8],
    messages: &[Message],
    work: u64,
    bits: u32,
) -> bool {
    Bound::new(board_id, post_id, messages).zero_bits(work) >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(payload: &'static [u8]) -> Vec<Message> {
        vec![Message {
            clue: b"clue".as_slice().into(),
            payload: payload.into(),
        }]
    }

    #[test]
    fn work_is_valid_for_one_post_only() {
        let of = messages(b"payload");
        let work = posting_work(&[1; 16], &[2; 16], &of, 12).unwrap();
        let check = |board: u8, post: u8, of: &[Message], work| {
            check_posting_work(&[board; 16], &[post; 16], of, work, 12)
        };
        assert!(check(1, 2, &of, work));
        // The search returns the least proof, so no smaller number is one.
        assert!((0..work).all(|less| !check(1, 2, &of, less)));
        assert!(!check(3, 2, &of, work));
        assert!(!check(1, 3, &of, work));
        assert!(!check(1, 2, &messages(b"another"), work));
    }

    #[test]
    fn bits_are_counted_from_the_first_byte_on() {
        let of = messages(b"payload");
        let bound = Bound::new(&[1; 16], &[2; 16], &of);
        let hash = |work: u64| {
            let mut content = blake3::Hasher::new();
            content.update(b"cluepayload");
            let mut input = [[1; 16], [2; 16]].concat();
            input.extend(content.finalize().as_bytes());
            input.extend(work.to_le_bytes());
            blake3::derive_key(DOMAIN, &input)
        };
        for work in 0..1000 {
            let head = u64::from_be_bytes(hash(work)[..8].try_into().unwrap());
            assert_eq!(bound.zero_bits(work), head.leading_zeros());
        }
    }

    #[test]
    fn work_above_the_limit_is_not_tried() {
        assert_eq!(posting_work(&[], &[], &[], WORK_BITS_MAX + 1), None);
        assert_eq!(posting_work(&[], &[], &[], 0), Some(0));
    }
}
