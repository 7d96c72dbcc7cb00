//! The detector with odd, faulty and hostile boards, and with wrong keys.

mod adversary;
mod bound;
mod card;
mod card_fails;
mod frozen;
mod keys;
mod packed;
mod partial;
mod source;
mod stopped;
mod world;
