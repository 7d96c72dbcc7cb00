//! Clues, secret keys and decoding, against honest and hostile counterparts, and the frozen files.

mod clues;
mod decode;
mod frozen;
mod secret_key;
mod tampered;
mod world;
