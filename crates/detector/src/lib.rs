//! The untrusted detector: detect and compress under encryption.
