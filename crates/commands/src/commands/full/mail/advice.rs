//! Advice for errors of mail: the command or the option that helps.

use omr_console::chain;
use omr_mail::MailError;
use omr_protocol::ClueKind;

/// Returns the text of an error with its causes, followed by advice.
pub(in crate::commands) fn with_advice(error: &MailError) -> String {
    match advice(error) {
        Some(advice) => format!("{}: {advice}", chain(error)),
        None => chain(error),
    }
}

/// Returns the command or the option that helps after an error.
pub(in crate::commands) fn advice(error: &MailError) -> Option<String> {
    let text = match error {
        MailError::NoHome => "name it with --home",
        MailError::NoIdentity(_) => "make one with `omr id new`",
        MailError::Exists(_) => "`omr id register` goes on with it, another --home makes another",
        MailError::Keys(..) => "choose another --home",
        MailError::ServerBound { fixed: true, .. } => {
            "make an identity with a smaller --bound in another --home"
        }
        MailError::ServerBound { fixed: false, .. } => "give a smaller --bound",
        MailError::NotEmpty(_) => {
            "choose another --home, or empty it if an import was interrupted there"
        }
        MailError::NoRetired(_) => "`omr id show` lists them",
        MailError::NoServer => "give one with `omr id register --server URL`",
        MailError::OtherParams(_) => "make an identity for it in another --home",
        MailError::AddressParams(_) => {
            "ask the recipient for the address that names the right server, or name that server with --server"
        }
        MailError::Unsealed(_) => "where that is meant, give `--sealing none`",
        MailError::LongLetter { .. } => {
            "send it in smaller pieces, or with --large, and it arrives over many fetches or not at all"
        }
        MailError::OtherClues(kinds) => match kinds.found {
            ClueKind::Plain => "an identity for it is made with `omr id new --plain-clues`",
            ClueKind::Bound => "an identity for it is made with `omr id new`",
        },
        MailError::NoResolver(short) => {
            return Some(format!("name one with --server, or write {short}@URL"));
        }
        MailError::NotPublished(_) => {
            "ask its owner to publish it (`omr id publish`), or for the text that `omr address` prints"
        }
        MailError::NoContact(_) => "`omr contact list` shows all",
        MailError::NotRegistered => "run `omr id register`",
        MailError::KeysGone => {
            "where another device has a new address, bring that here: `omr id export` there, `omr id import` here into \
             another --home; only where this address is still yours, run `omr id register`"
        }
        MailError::NotLinked(_) => "link one: `omr id export --device` here, `omr id import` there",
        MailError::NoBatches(_) => "leave --batches out, or give another --scheme",
        MailError::NoInstant => "make an identity with --scheme instantomr or hybrid",
        MailError::NoSigner(_) => {
            "an identity for signed letters is made with `omr id new` in another --home"
        }
        MailError::NoSender(_) => "write to somebody you know with --to",
        MailError::NoMessage(_) => "`omr inbox --all` lists them",
        MailError::Busy => {
            "end it first (a running `omr watch`?); `omr inbox --offline` and `omr inbox read` work beside it"
        }
        MailError::Version(_) => {
            "`omr inbox rebuild` fetches it from the server and keeps the file under another name"
        }
        MailError::Damaged(_) | MailError::OtherInbox(_) | MailError::Record(_) => {
            "`omr inbox rebuild` fetches it again from the server and keeps the old file under another name"
        }
        MailError::NotKept(_) => "`omr inbox kept` lists them",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::Mismatch;

    /// Messages of the library name no option or command; the advice does.
    #[test]
    fn advice_follows_the_message() {
        let clues = Mismatch::new(ClueKind::Bound, ClueKind::Plain);
        let bound = |fixed| MailError::ServerBound {
            most: 3,
            found: 4,
            fixed,
        };
        for (error, help) in [
            (MailError::NoHome, "--home"),
            (MailError::Exists("ann".into()), "omr id register"),
            (bound(true), "another --home"),
            (bound(false), "smaller --bound"),
            (MailError::Unsealed("server"), "--sealing none"),
            (MailError::OtherClues(clues), "omr id new --plain-clues"),
            (MailError::NoResolver("omr1x".into()), "omr1x@URL"),
            (MailError::NotRegistered, "omr id register"),
            (MailError::Damaged(None), "omr inbox rebuild"),
        ] {
            let message = error.to_string();
            assert!(
                !message.contains("--") && !message.contains('`'),
                "{message}"
            );
            let text = with_advice(&error);
            assert!(text.starts_with(&message) && text.contains(help), "{text}");
        }
        let name = MailError::Name("a/b".into());
        assert_eq!(with_advice(&name), name.to_string());
    }
}
