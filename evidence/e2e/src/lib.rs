//! Tests that use client, detector and server together. None of these crates can contain them, because the detector
//! must not depend on the client. The tests are in `tests/`; the library is empty.
#![forbid(unsafe_code)]
