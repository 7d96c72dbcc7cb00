//! The calls of a database's storage that a storage around another one passes on.

/// The end and the locks of a [`redb::StorageBackend`], passed on to the storage in this field.
macro_rules! end_and_locks {
    ($within:ident) => {
        fn close(&self) -> std::io::Result<()> {
            self.$within.close()
        }

        fn try_lock_range(
            &self,
            start: std::ops::Bound<u64>,
            end: std::ops::Bound<u64>,
        ) -> Result<bool, redb::BackendError> {
            self.$within.try_lock_range(start, end)
        }

        fn try_lock_shared_range(
            &self,
            start: std::ops::Bound<u64>,
            end: std::ops::Bound<u64>,
        ) -> Result<bool, redb::BackendError> {
            self.$within.try_lock_shared_range(start, end)
        }

        fn lock_range(
            &self,
            start: std::ops::Bound<u64>,
            end: std::ops::Bound<u64>,
        ) -> Result<(), redb::BackendError> {
            self.$within.lock_range(start, end)
        }

        fn lock_shared_range(
            &self,
            start: std::ops::Bound<u64>,
            end: std::ops::Bound<u64>,
        ) -> Result<(), redb::BackendError> {
            self.$within.lock_shared_range(start, end)
        }

        fn unlock_range(
            &self,
            start: std::ops::Bound<u64>,
            end: std::ops::Bound<u64>,
        ) -> Result<(), redb::BackendError> {
            self.$within.unlock_range(start, end)
        }

        fn query_lock_range(
            &self,
            start: std::ops::Bound<u64>,
            end: std::ops::Bound<u64>,
        ) -> Result<bool, redb::BackendError> {
            self.$within.query_lock_range(start, end)
        }
    };
}

pub(crate) use end_and_locks;
