//! Tests over client, detector and server together, which none of these crates can have: the detector
//! must not depend on the client. They stand in `tests/`; the library is empty.
#![forbid(unsafe_code)]
