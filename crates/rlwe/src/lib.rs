//! Secrets, gadgets, key switching, ring switching and noise bounds.
