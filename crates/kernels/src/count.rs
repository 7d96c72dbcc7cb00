//! Counts the transforms that this process has done.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Transforms that a thread keeps to itself before it adds them: threads must not fight for one
/// cache line.
const CHUNK: u32 = 256;

static TRANSFORMS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OWN: Cell<u32> = const { Cell::new(0) };
}

/// Transforms of rows, of any length and in either arithmetic, since the process began; up to 255 of
/// each thread are not in it yet.
pub fn transforms() -> u64 {
    TRANSFORMS.load(Ordering::Relaxed)
}

pub(crate) fn transform() {
    OWN.with(|own| match own.get() + 1 {
        CHUNK => {
            own.set(0);
            TRANSFORMS.fetch_add(CHUNK.into(), Ordering::Relaxed);
        }
        count => own.set(count),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_added_up() {
        let before = transforms();
        for _ in 0..10 * CHUNK {
            transform();
        }
        assert!(transforms() >= before + u64::from(9 * CHUNK));
    }
}
