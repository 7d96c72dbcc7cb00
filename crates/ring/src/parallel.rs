//! Loops over several threads: rayon. A module for browsers has one thread, and rayon would be a tenth of its code, so
//! there the same names stand for plain loops.

#[cfg(target_family = "wasm")]
pub use alone::{
    IndexedParallelIterator, IntoParallelIterator, ParallelIterator, ParallelSlice, Scope,
    current_num_threads, in_place_scope, join,
};
#[cfg(not(target_family = "wasm"))]
pub use rayon::{Scope, current_num_threads, in_place_scope, join, prelude::*};

#[cfg(target_family = "wasm")]
mod alone {
    use std::marker::PhantomData;
    use std::slice::{ChunksMut, Iter, IterMut};

    /// Collections that are consumed by an iterator.
    pub trait IntoParallelIterator: IntoIterator + Sized {
        /// Returns an iterator over the items.
        fn into_par_iter(self) -> Self::IntoIter {
            self.into_iter()
        }
    }

    impl<I: IntoIterator> IntoParallelIterator for I {}

    /// Slices.
    pub trait ParallelSlice<T> {
        /// Returns an iterator over the elements.
        fn par_iter(&self) -> Iter<'_, T>;
        /// Returns an iterator over the elements that allows changing them.
        fn par_iter_mut(&mut self) -> IterMut<'_, T>;
        /// Returns an iterator over pieces of `length` elements that allows changing them.
        fn par_chunks_mut(&mut self, length: usize) -> ChunksMut<'_, T>;
    }

    impl<T> ParallelSlice<T> for [T] {
        fn par_iter(&self) -> Iter<'_, T> {
            self.iter()
        }

        fn par_iter_mut(&mut self) -> IterMut<'_, T> {
            self.iter_mut()
        }

        fn par_chunks_mut(&mut self, length: usize) -> ChunksMut<'_, T> {
            self.chunks_mut(length)
        }
    }

    /// The methods of rayon's iterators that iterators of the standard library lack.
    pub trait ParallelIterator: Iterator + Sized {
        /// Returns the iterator as it is: nothing is divided.
        #[must_use]
        fn with_max_len(self, _length: usize) -> Self {
            self
        }

        /// Iterates over the items of each iterator that `each` returns.
        fn flat_map_iter<I: IntoIterator>(
            self,
            each: impl Fn(Self::Item) -> I,
        ) -> impl Iterator<Item = I::Item> {
            self.flat_map(each)
        }

        /// `each` with a state that lasts from item to item.
        fn for_each_init<S>(self, init: impl Fn() -> S, each: impl Fn(&mut S, Self::Item)) {
            let mut state = init();
            self.for_each(|item| each(&mut state, item));
        }

        /// Maps items by `each`, which has a state that lasts from item to item.
        fn map_init<S, R>(
            self,
            init: impl Fn() -> S,
            each: impl Fn(&mut S, Self::Item) -> R,
        ) -> impl Iterator<Item = R> {
            let mut state = init();
            self.map(move |item| each(&mut state, item))
        }
    }

    impl<I: Iterator> ParallelIterator for I {}

    /// Iterators of a known length.
    pub trait IndexedParallelIterator: Iterator {}

    impl<I: Iterator> IndexedParallelIterator for I {}

    /// Where tasks are begun.
    pub struct Scope<'s>(PhantomData<&'s ()>);

    impl<'s> Scope<'s> {
        /// Does a task.
        pub fn spawn(&self, task: impl FnOnce(&Self) + 's) {
            task(self);
        }
    }

    /// Gives a scope to a task.
    pub fn in_place_scope<'s, R>(task: impl FnOnce(&Scope<'s>) -> R) -> R {
        task(&Scope(PhantomData))
    }

    /// Does both.
    pub fn join<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
        (first(), second())
    }

    /// This one.
    #[must_use]
    pub fn current_num_threads() -> usize {
        1
    }
}
