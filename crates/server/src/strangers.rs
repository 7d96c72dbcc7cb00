//! Clients without a token, and their part of what all clients share.

/// The account of all clients without a token.
pub(crate) const ANONYMOUS: &str = "";

/// Returns the part of `all` that clients without a token may have together. At least one is reserved for clients with
/// tokens, unless there is only one.
pub(crate) fn of_strangers(all: usize) -> usize {
    all - (all / 4).max(usize::from(all > 1))
}

/// Returns the part of `all` that one client without a token may have, where there is no other limit: half of the part
/// of all such clients, so that a second one always has room.
pub(crate) fn of_one_stranger(all: usize) -> usize {
    of_strangers(all).div_ceil(2)
}
