//! Parameters, public keys, clues, digests and their wire formats.
