//! The part of a server's backup that is not in its store: the tokens, without which no client has access after a
//! restore.

use crate::error::ServerError;
use crate::tokens;
use omr_store::{Piece, Store, StoreError};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The name of the tokens' file in a backup. It contains hashes of tokens, not the tokens.
pub const TOKENS_FILE: &str = "tokens.toml";

/// Calls `each` with the tokens in the file `tokens`, if it exists, and with everything in the store, see
/// [`Store::backup`]. Returns the faults that the backup leaves out.
///
/// Errors: those of [`Store::backup`]; `Io` where the tokens cannot be read.
pub fn backup(
    store: &Store,
    tokens: &Path,
    have: &HashSet<String>,
    each: &mut dyn FnMut(Piece<'_>) -> Result<(), StoreError>,
) -> Result<Vec<StoreError>, StoreError> {
    match fs::read(tokens) {
        Ok(data) => each(Piece {
            name: TOKENS_FILE,
            offset: 0,
            data: &data,
            last: true,
        })?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(StoreError::Io(error)),
    }
    store.backup(have, each)
}

/// Copies the tokens of the backup in the folder `from` to the place where the server reads them, and returns their
/// number. Existing tokens stay as they are. Returns `None` in that case, and if the backup has no tokens.
///
/// Errors: `Read`, `Config` where the backup's file is not a file of tokens, `Write`.
pub fn restore_tokens(from: &Path, tokens: &Path) -> Result<Option<usize>, ServerError> {
    let backup = from.join(TOKENS_FILE);
    let there = |path: &Path| fs::exists(path).map_err(ServerError::read(path));
    if there(tokens)? || !there(&backup)? {
        return Ok(None);
    }
    tokens::copy(&backup, tokens).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::test_store;
    use crate::tokens::{Right, Token, Tokens, add};

    #[test]
    fn clients_have_access_after_a_backup_is_restored() {
        let dir = tempfile::tempdir().unwrap();
        let (store, tokens) = (test_store(&dir), dir.path().join("tokens.toml"));
        let secret = add(&tokens, Token::test("wallet")).unwrap();
        let folder = dir.path().join("backup");
        fs::create_dir(&folder).unwrap();
        let faults = backup(&store, &tokens, &HashSet::new(), &mut |piece| {
            assert!(piece.last && piece.offset == 0);
            Ok(fs::write(folder.join(piece.name), piece.data)?)
        });
        assert!(faults.unwrap().is_empty());
        let again = dir.path().join("again").join("tokens.toml");
        assert_eq!(restore_tokens(&folder, &again).unwrap(), Some(1));
        let found = Tokens::open(again.clone()).unwrap().find(&secret).unwrap();
        assert_eq!(found.rights, [Right::Post]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&again).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600);
        }
        // Existing tokens stay.
        fs::write(&again, "").unwrap();
        assert_eq!(restore_tokens(&folder, &again).unwrap(), None);
        assert_eq!(fs::read(&again).unwrap(), b"");
    }
}
