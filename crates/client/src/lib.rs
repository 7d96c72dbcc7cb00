//! Senders and recipients: key generation, clues, sealing, decoding.
