//! InstantOMR from clue to payload, at the insecure tiny parameters.

mod decode;
mod hybrid;
mod session;
mod world;
