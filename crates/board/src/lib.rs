//! An append-only, crash-safe log of opaque messages.
