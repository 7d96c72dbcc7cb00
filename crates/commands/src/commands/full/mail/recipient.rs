//! The recipient of letters, as an argument.

use super::{MAX_TEXT_BYTES, block_on, home, server};
use crate::commands::full::mail::{HomeArg, PlaceArgs};
use crate::commands::full::network::connect;
use crate::commands::full::{FullError, RecipientError};
use crate::error::{CliError, InputError};
use crate::io::{self, Framed};
use omr_console::{ReadError, Ui};
use omr_mail::{Address, Home, MailError, Named, Server, ShortAddress};
use omr_protocol::frame::{FrameReader, Kind};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// Returns the address of an argument: that in a file or on standard input, the text of an address, a short address, or
/// a contact, in this order. A file contains an address, a short address or a clue.key.
///
/// Errors: `Input`; `Mail`.
pub(in crate::commands) fn recipient(
    dir: &HomeArg,
    to: &Path,
    place: &PlaceArgs,
    ui: &Ui,
) -> Result<Address, CliError> {
    if io::is_standard(to) || (to.exists() && !to.is_dir()) {
        let named = read(to).map_err(CliError::input(to))?;
        return match named {
            Named::Whole(address) => Ok(address),
            Named::Short(short) => resolve(&home(dir)?, &short, place, ui),
        };
    }
    match known(&home(dir)?, &to.to_string_lossy(), place, ui) {
        Err(CliError::Full(FullError::Mail(MailError::NoContact(_) | MailError::Name(_)))) => {
            // A folder, such as somebody's home, is not an address.
            let nobody = if to.is_dir() {
                RecipientError::Folder(to.join(crate::commands::keygen::CLUE_KEY))
            } else {
                RecipientError::Nobody
            };
            Err(CliError::input(to)(nobody.into()))
        }
        address => address,
    }
}

/// Returns the address that a text is, or that a short address or the name of a contact stands for.
///
/// Errors: `Mail`; those of [`resolve`].
pub(super) fn known(
    home: &Home,
    text: &str,
    place: &PlaceArgs,
    ui: &Ui,
) -> Result<Address, CliError> {
    if text.contains("-----BEGIN") {
        return Ok(Address::from_text(text)?);
    }
    if ShortAddress::is_meant(text) {
        return resolve(home, &text.parse()?, place, ui);
    }
    Ok(home.contact(text)?)
}

/// Returns the clue.key of the address of an argument, as a file.
///
/// Errors: those of [`recipient`].
pub(in crate::commands) fn clue_key(to: &Path, ui: &Ui) -> Result<Framed, CliError> {
    let usual = HomeArg { home: None };
    let nowhere = PlaceArgs {
        server: None,
        ca: None,
    };
    let address = recipient(&usual, to, &nowhere, ui)?;
    Framed::of_bytes(to, Kind::ClueKey, Zeroizing::new(address.clue_key))
}

fn read(path: &Path) -> Result<Named, InputError> {
    let mut bytes = Vec::new();
    let most = MAX_TEXT_BYTES + 1;
    if io::is_standard(path) {
        std::io::stdin().take(most).read_to_end(&mut bytes)?
    } else {
        File::open(path)?.take(most).read_to_end(&mut bytes)?
    };
    if bytes.starts_with(b"OMRF") {
        // The error for a file of another kind names this kind, however long the file is.
        FrameReader::read_header(&bytes[..], Kind::ClueKey, u64::MAX)?;
    }
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        Err(ReadError::TooLarge(MAX_TEXT_BYTES).into())
    } else {
        Ok(Named::from_file(bytes).map_err(RecipientError::from)?)
    }
}

/// Returns the address of a short one: a known one, or a server's answer after a check.
pub(super) fn resolve(
    home: &Home,
    short: &ShortAddress,
    place: &PlaceArgs,
    ui: &Ui,
) -> Result<Address, CliError> {
    if let Some(known) = home.known(short)? {
        return Ok(known);
    }
    let own = match home.server() {
        Err(MailError::NoServer) => None,
        own => Some(own?),
    };
    let asked = match server(place, None)? {
        Some(named) => named,
        None => Server::named(short.server.as_deref(), own)
            .ok_or_else(|| MailError::NoResolver(short.to_string()))?,
    };
    ui.note(&format!(
        "asking {} for this address: it learns that you want to write to this recipient",
        asked.url
    ));
    // The server is called without a token, so that the caller stays unknown.
    let found = block_on(async { Ok(short.find(&connect(asked.stranger(), ui)?).await?) })?;
    home.keep_found(&found)?;
    Ok(found)
}
