//! InstantOMR from clue to payload, with insecure tiny parameters.

mod bound;
mod card;
mod counted;
mod decode;
mod elsewhere;
mod frozen;
mod hybrid;
mod room;
mod session;
mod world;
