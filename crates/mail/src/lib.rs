//! Oblivious mail: identities, addresses, an inbox, canaries.
#![forbid(unsafe_code)]
