//! A database whose file is encrypted: AES-256 in XTS mode (IEEE 1619, NIST SP 800-38E), in sectors of 64 bytes.
//!
//! XTS changes no length and encrypts every 16 bytes for themselves, so that an interrupted write of the database
//! leaves what it would leave in a plain file. It hides contents and keys of records. It does not hide which sectors
//! changed from a person who has copies of two days, and authenticates nothing: damage is what the database's checksums
//! find.
//!
//! A file begins with a head of 4,096 bytes: `omr encrypted database 1`, 16 bytes that follow from the key, and zeros.
//! A sector of zeros was never written, as no sector encrypts to zeros in practice.

use crate::locks::end_and_locks;
use aes::Aes256;
use aes::cipher::KeyInit;
use redb::StorageBackend;
use std::fmt;
use std::io;
use xts_mode::{Xts128, get_tweak_default};
use zeroize::Zeroizing;

/// The key of a file.
pub type Key = Zeroizing<[u8; 32]>;

const MAGIC: &[u8; 24] = b"omr encrypted database 1";
const CHECK_BYTES: usize = 16;
const HEAD: u64 = 4096;
const SECTOR: usize = 64;

/// The storage of a database in an encrypted file.
pub(crate) struct Encrypted<B> {
    backend: B,
    cipher: Xts128<Aes256>,
}

/// Returns 32 bytes for one purpose.
fn derived(purpose: &'static str, key: &Key) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(blake3::derive_key(purpose, &key[..]))
}

fn head(key: &Key) -> Vec<u8> {
    let check = derived("omr encrypted database v1 check", key);
    let mut head = vec![0; HEAD as usize];
    head[..MAGIC.len()].copy_from_slice(MAGIC);
    head[MAGIC.len()..][..CHECK_BYTES].copy_from_slice(&check[..CHECK_BYTES]);
    head
}

impl<B: StorageBackend> Encrypted<B> {
    /// Opens a file, or begins an empty one. Returns `None` for a file of another key, and for one that is not
    /// encrypted.
    ///
    /// Errors: those of the system.
    pub(crate) fn new(backend: B, key: &Key) -> io::Result<Option<Self>> {
        let head = head(key);
        if backend.len()? == 0 {
            backend.set_len(HEAD)?;
            backend.write(0, &head)?;
        }
        let mut found = [0; MAGIC.len() + CHECK_BYTES];
        if backend.len()? < HEAD {
            return Ok(None);
        }
        backend.read(0, &mut found)?;
        if found != head[..found.len()] {
            return Ok(None);
        }
        let cipher = |purpose| Aes256::new((&*derived(purpose, key)).into());
        Ok(Some(Self {
            backend,
            cipher: Xts128::new(
                cipher("omr encrypted database v1 data"),
                cipher("omr encrypted database v1 tweak"),
            ),
        }))
    }

    /// Reads whole sectors.
    fn sectors(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.backend.read(HEAD + first * SECTOR as u64, out)?;
        for (number, sector) in (first..).zip(out.chunks_mut(SECTOR)) {
            if sector.iter().any(|byte| *byte != 0) {
                let tweak = get_tweak_default(number.into());
                self.cipher.decrypt_sector(sector, tweak);
            }
        }
        Ok(())
    }
}

/// Returns the first sector of a range, the bytes of that sector before the range, and those of all its sectors.
fn covered(offset: u64, len: usize) -> (u64, usize, usize) {
    let before = (offset % SECTOR as u64) as usize;
    let bytes = (before + len).next_multiple_of(SECTOR);
    (offset / SECTOR as u64, before, bytes)
}

/// Shows nothing of the key.
impl<B> fmt::Debug for Encrypted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encrypted(..)")
    }
}

impl<B: StorageBackend> StorageBackend for Encrypted<B> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.backend.len()?.saturating_sub(HEAD))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (first, before, bytes) = covered(offset, out.len());
        if bytes == out.len() {
            return self.sectors(first, out);
        }
        let mut sectors = Zeroizing::new(vec![0; bytes]);
        self.sectors(first, &mut sectors)?;
        out.copy_from_slice(&sectors[before..][..out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.backend.set_len(HEAD + len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.backend.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let (first, before, bytes) = covered(offset, data.len());
        let mut sectors = vec![0; bytes];
        if bytes != data.len() {
            self.sectors(first, &mut sectors)?;
        }
        sectors[before..][..data.len()].copy_from_slice(data);
        for (number, sector) in (first..).zip(sectors.chunks_mut(SECTOR)) {
            let tweak = get_tweak_default(number.into());
            self.cipher.encrypt_sector(sector, tweak);
        }
        self.backend.write(HEAD + first * SECTOR as u64, &sectors)
    }

    end_and_locks!(backend);
}

#[cfg(test)]
mod tests {
    use super::*;
    use redb::backends::{FileBackend, InMemoryBackend};
    use redb::{Database, ReadableDatabase, TableDefinition};
    use std::fs;

    const KEY: fn(u8) -> Key = |byte| Zeroizing::new([byte; 32]);
    const LETTERS: TableDefinition<&str, &[u8]> = TableDefinition::new("letters");

    fn file(path: &std::path::Path) -> FileBackend {
        let mut options = fs::File::options();
        let options = options.read(true).write(true).create(true);
        FileBackend::new(options.truncate(false).open(path).unwrap()).unwrap()
    }

    fn opened(path: &std::path::Path, key: u8) -> Option<Encrypted<FileBackend>> {
        Encrypted::new(file(path), &KEY(key)).unwrap()
    }

    #[test]
    fn a_database_is_read_with_its_key_and_shows_nothing_without() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("inbox");
        let (name, letter) = (
            "the name of a record",
            [b"a secret letter ".repeat(400)].concat(),
        );
        {
            let storage = opened(&path, 1).unwrap();
            let db = Database::builder().create_with_backend(storage).unwrap();
            let tx = db.begin_write().unwrap();
            let mut table = tx.open_table(LETTERS).unwrap();
            table.insert(name, &letter[..]).unwrap();
            drop(table);
            tx.commit().unwrap();
        }
        let bytes = fs::read(&path).unwrap();
        for plain in [&b"redb"[..], name.as_bytes(), &letter[..16], b"letters"] {
            let found = bytes.windows(plain.len()).any(|window| window == plain);
            assert!(!found, "{:?}", String::from_utf8_lossy(plain));
        }
        assert!(bytes.starts_with(MAGIC));
        assert!(opened(&path, 2).is_none());
        let storage = opened(&path, 1).unwrap();
        let db = Database::builder().create_with_backend(storage).unwrap();
        let table = db.begin_read().unwrap().open_table(LETTERS).unwrap();
        assert_eq!(table.get(name).unwrap().unwrap().value(), letter);
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for content in [
            &b"x"[..],
            &[0; 5000],
            &[MAGIC.as_slice(), &[7; 5000]].concat(),
        ] {
            let path = dir.path().join("other");
            fs::write(&path, content).unwrap();
            assert!(opened(&path, 1).is_none());
            assert_eq!(fs::read(&path).unwrap(), content);
        }
    }

    /// Every range is written and read as in a plain file, also where a file has holes.
    #[test]
    fn ranges_are_those_of_a_plain_file() {
        let plain = InMemoryBackend::new();
        let encrypted = Encrypted::new(InMemoryBackend::new(), &KEY(1));
        let encrypted = encrypted.unwrap().unwrap();
        let ranges = [
            (0, 320),
            (4096, 4096),
            (64, 128),
            (9, 1),
            (1000, 77),
            (8191, 1),
            (63, 2),
        ];
        for backend in [&plain as &dyn StorageBackend, &encrypted] {
            backend.set_len(16_384).unwrap();
            for (at, (offset, len)) in (1u8..).zip(ranges) {
                let data: Vec<u8> = (0..len).map(|i| at.wrapping_mul(37) ^ i as u8).collect();
                backend.write(offset, &data).unwrap();
            }
        }
        for (offset, len) in [(0, 16_384), (5, 3), (64, 64), (9_000, 7_384), (60, 70)] {
            let read = |backend: &dyn StorageBackend| {
                let mut out = vec![1; len];
                backend.read(offset, &mut out).unwrap();
                out
            };
            assert!(read(&plain) == read(&encrypted), "{len} bytes at {offset}");
        }
        assert_eq!(encrypted.len().unwrap(), 16_384);
    }

    /// A write changes the 16 bytes of its own blocks alone, as a crash may keep a part of it.
    #[test]
    fn a_write_changes_its_own_blocks() {
        let backend = InMemoryBackend::new();
        let encrypted = Encrypted::new(backend, &KEY(1)).unwrap().unwrap();
        encrypted.set_len(256).unwrap();
        encrypted.write(0, &[5; 256]).unwrap();
        let raw = |of: &Encrypted<InMemoryBackend>| {
            let mut bytes = vec![0; 256];
            of.backend.read(HEAD, &mut bytes).unwrap();
            bytes
        };
        let before = raw(&encrypted);
        encrypted.write(70, &[6; 4]).unwrap();
        let after = raw(&encrypted);
        let blocks = before.chunks(16).zip(after.chunks(16));
        let changed: Vec<usize> = (0..)
            .zip(blocks)
            .filter(|(_, (a, b))| a != b)
            .map(|(i, _)| i)
            .collect();
        assert_eq!(changed, [4]);
    }
}
