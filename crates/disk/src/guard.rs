//! Guards around a database that asserts its own invariants.
//!
//! A damaged file can violate assumptions of the database library, which then panics. [`guarded`] and [`Guarded`] turn
//! this panic into an error, also in a destructor. If a destructor of the database panics while another panic
//! unwinds, the process ends; a panic hook that calls [`is_last`] can then report the reason.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message for a second panic of a database on one file, with which the process ends, because the first panic
/// interrupted the database while it was writing.
pub const TWICE: &str = "a database file is damaged so far that it cannot be written. Unfinished writes are not on the \
                         disk, acknowledged ones are untouched; `omr board verify` and `omr data verify` report what \
                         can be read";

/// An error: guarded code panicked, because the file is damaged more than the database library expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panicked;

/// An error: the guarded value is being dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// The state of the innermost guarded code of a thread.
#[derive(Clone, Copy)]
enum Inner {
    None,
    Runs,
    Unwinds,
}

thread_local! {
    static INNER: Cell<Inner> = const { Cell::new(Inner::None) };
}

/// Returns, in a panic hook, whether guarded code panics while it unwinds. A hook must call it once for each panic. The
/// process is aborted after the hook has returned, so the hook should report the damage and exit.
#[must_use]
pub fn is_last() -> bool {
    INNER.with(|inner| match inner.get() {
        Inner::None => false,
        Inner::Runs => {
            inner.set(Inner::Unwinds);
            false
        }
        Inner::Unwinds => true,
    })
}

fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Panicked> {
    let outer = INNER.replace(Inner::Runs);
    let done = catch_unwind(AssertUnwindSafe(f));
    INNER.set(outer);
    done.map_err(|_| Panicked)
}

/// Runs `f` and turns a panic into an error.
///
/// Errors: `Panicked`; those of `f`.
pub fn guarded<T, E: From<Panicked>>(f: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch(f)?
}

/// A value whose destruction is guarded as well.
#[derive(Debug)]
pub struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    /// Guards a value.
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Returns the value.
    ///
    /// Errors: `Gone` while it is being dropped.
    pub fn get(&self) -> Result<&T, Gone> {
        self.0.as_ref().ok_or(Gone)
    }

    /// Returns the value for changes.
    ///
    /// Errors: `Gone` while it is being dropped.
    pub fn get_mut(&mut self) -> Result<&mut T, Gone> {
        self.0.as_mut().ok_or(Gone)
    }

    /// Returns the value, which is no longer guarded.
    ///
    /// Errors: `Gone` while it is being dropped.
    pub fn into_inner(mut self) -> Result<T, Gone> {
        self.0.take().ok_or(Gone)
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        let _ = catch(|| drop(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fragile;

    impl Drop for Fragile {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }

    #[test]
    fn panics_become_errors() {
        let value: Result<u8, Panicked> = guarded(|| Ok(3));
        assert_eq!(value, Ok(3));
        let broken: Result<u8, Panicked> = guarded(|| panic!("an assertion"));
        assert_eq!(broken, Err(Panicked));
        drop(Guarded::new(Fragile));
        let both: Result<u8, Panicked> = guarded(|| {
            let _held = Guarded::new(Fragile);
            panic!("with a fragile value at hand");
        });
        assert_eq!(both, Err(Panicked));
    }
}
