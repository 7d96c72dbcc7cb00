//! The bytes of a header.

use super::{Header, HeaderError, MEDIA_TYPE_BYTES, SERVER_BYTES, SUBJECT_BYTES, Sender, Thread};
use crate::fragment::{FragmentError, varint, visible};
use omr_protocol::{FINGERPRINT_BYTES, Mismatch, VERIFYING_KEY_BYTES};

const VERSION: u8 = 1;
const TIME: u64 = 1;
const THREAD: u64 = 2;
const SUBJECT: u64 = 3;
const MEDIA_TYPE: u64 = 4;
const SENDER: u64 = 5;
const SIGNATURE: u64 = 6;

/// Bytes of a signature.
pub(super) const SIGNATURE_BYTES: usize = 64;
/// Bytes of the field of a signature, which is always the last one.
pub(super) const SIGNATURE_FIELD: usize = 2 + SIGNATURE_BYTES;
/// Bytes of a sender without a server.
const SENDER_BYTES: usize = VERIFYING_KEY_BYTES + FINGERPRINT_BYTES;

/// The fields of a header, before the signature is verified.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) header: Header,
    pub(super) sender: Option<Sender>,
    pub(super) signature: Option<[u8; SIGNATURE_BYTES]>,
}

/// Checks the texts of a header that is to be sent.
///
/// Errors: `Length`, `Hidden`.
pub(super) fn check(header: &Header) -> Result<(), HeaderError> {
    let texts = [(SUBJECT, &header.subject), (MEDIA_TYPE, &header.media_type)];
    for (tag, text) in texts {
        let Some(text) = text else { continue };
        check_length(tag, text.len() as u64)?;
        if visible(text) != *text {
            return Err(HeaderError::Hidden(field(tag).0));
        }
    }
    Ok(())
}

/// Checks the length of the URL of a sender's server.
///
/// Errors: `Length`.
pub(super) fn check_server(server: &str) -> Result<(), HeaderError> {
    let found = server.len();
    if (1..=SERVER_BYTES).contains(&found) {
        return Ok(());
    }
    Err(HeaderError::Length {
        field: "the URL of a server",
        least: 1,
        most: SERVER_BYTES,
        found: found as u64,
    })
}

/// Returns the bytes of checked fields, without a signature.
pub(super) fn write(header: &Header, sender: Option<&Sender>) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    let mut push = |tag, value: Option<&[u8]>| {
        if let Some(value) = value {
            push(tag, value, &mut bytes);
        }
    };
    let time = header.time.map(u64::to_le_bytes);
    push(TIME, time.as_ref().map(<[u8; 8]>::as_slice));
    push(THREAD, header.thread.as_ref().map(Thread::as_slice));
    push(SUBJECT, header.subject.as_deref().map(str::as_bytes));
    push(MEDIA_TYPE, header.media_type.as_deref().map(str::as_bytes));
    let sender = sender.map(|sender| {
        let server = sender.server.as_deref().unwrap_or_default().as_bytes();
        [&sender.verifying_key[..], &sender.unsigned, server].concat()
    });
    push(SENDER, sender.as_deref());
    bytes
}

/// Adds the signature.
pub(super) fn push_signature(signature: &[u8; SIGNATURE_BYTES], bytes: &mut Vec<u8>) {
    push(SIGNATURE, signature, bytes);
}

fn push(tag: u64, value: &[u8], bytes: &mut Vec<u8>) {
    varint::write(tag, bytes);
    varint::write(value.len() as u64, bytes);
    bytes.extend_from_slice(value);
}

/// Reads the fields of a header.
///
/// Errors: `Version`, `Truncated`, `Number`, `Order`, `Tag`, `Length`, `Text`.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, HeaderError> {
    let truncated = HeaderError::Truncated(bytes.len());
    let (version, mut rest) = bytes.split_first().ok_or(truncated.clone())?;
    if *version != VERSION {
        return Err(HeaderError::Version(*version));
    }
    let number = |rest: &mut &[u8]| {
        varint::read(rest, bytes.len()).map_err(|error| match error {
            FragmentError::Truncated(found) => HeaderError::Truncated(found),
            _ => HeaderError::Number,
        })
    };
    let mut parsed = Parsed::default();
    let mut last = 0;
    while !rest.is_empty() {
        let tag = number(&mut rest)?;
        if !(TIME..=SIGNATURE).contains(&tag) {
            return Err(HeaderError::Tag(tag));
        }
        if tag <= last {
            return Err(HeaderError::Order(Mismatch::new(last, tag)));
        }
        last = tag;
        let length = number(&mut rest)?;
        check_length(tag, length)?;
        let (value, after) = rest
            .split_at_checked(length as usize)
            .ok_or(truncated.clone())?;
        rest = after;
        parsed.take(tag, value)?;
    }
    Ok(parsed)
}

impl Parsed {
    /// Takes in the value of a field, whose length was checked.
    fn take(&mut self, tag: u64, value: &[u8]) -> Result<(), HeaderError> {
        let text = || {
            let text = String::from_utf8(value.to_vec());
            text.map_err(|_| HeaderError::Text(field(tag).0))
        };
        match tag {
            TIME => self.header.time = Some(u64::from_le_bytes(fixed(value))),
            THREAD => self.header.thread = Some(fixed(value)),
            SUBJECT => self.header.subject = Some(text()?),
            MEDIA_TYPE => self.header.media_type = Some(text()?),
            SENDER => self.sender = Some(sender(value)?),
            _ => self.signature = Some(fixed(value)),
        }
        Ok(())
    }
}

fn sender(value: &[u8]) -> Result<Sender, HeaderError> {
    let (verifying_key, rest) = value.split_at(VERIFYING_KEY_BYTES);
    let (unsigned, server) = rest.split_at(FINGERPRINT_BYTES);
    let server = String::from_utf8(server.to_vec());
    let server = server.map_err(|_| HeaderError::Text(field(SENDER).0))?;
    Ok(Sender {
        verifying_key: fixed(verifying_key),
        unsigned: fixed(unsigned),
        server: Some(server).filter(|server| !server.is_empty()),
    })
}

fn fixed<const N: usize>(value: &[u8]) -> [u8; N] {
    value.try_into().expect("its length was checked")
}

/// Returns the name of a field, and its least and its greatest length in bytes.
fn field(tag: u64) -> (&'static str, usize, usize) {
    match tag {
        TIME => ("the time", 8, 8),
        THREAD => ("the conversation", 16, 16),
        SUBJECT => ("the subject", 1, SUBJECT_BYTES),
        MEDIA_TYPE => ("the media type", 1, MEDIA_TYPE_BYTES),
        SENDER => ("the sender", SENDER_BYTES, SENDER_BYTES + SERVER_BYTES),
        _ => ("the signature", SIGNATURE_BYTES, SIGNATURE_BYTES),
    }
}

fn check_length(tag: u64, found: u64) -> Result<(), HeaderError> {
    let (field, least, most) = field(tag);
    if (least as u64..=most as u64).contains(&found) {
        Ok(())
    } else {
        Err(HeaderError::Length {
            field,
            least,
            most,
            found,
        })
    }
}
