//! Conversion of a fuzzer's bytes to files: frames with correct checksums, and frozen files with changes.

use omr_protocol::frame::{FrameHeader, Kind, read_frame, write_frame_vec};

/// The header and the body of a file.
pub(crate) type Opened = (FrameHeader, Vec<u8>);

/// The size of the largest frozen file.
const LARGEST: u64 = 1 << 30;

/// Opens a file that is known to be valid.
pub(crate) fn opened(kind: Kind, file: &[u8]) -> Opened {
    read_frame(file, kind, LARGEST).expect("a file that reads")
}

/// Returns a file with any body and correct checksums.
pub(crate) fn closed(header: &FrameHeader, body: &[u8]) -> Vec<u8> {
    write_frame_vec(header, body).expect("a header that can be written")
}

/// Returns a header.
pub(crate) fn header(kind: Kind, params: &str) -> FrameHeader {
    FrameHeader::new(kind, params, *b"a key of a test.")
}

/// Returns bytes with changes. Each change is three bytes of position and one byte of difference.
pub(crate) fn patched(bytes: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for change in changes.as_chunks::<4>().0 {
        let at = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
        let place = at % out.len().max(1);
        if let Some(byte) = out.get_mut(place) {
            *byte ^= change[3];
        }
    }
    out
}

/// From this choice on a file is any bytes; from [`CUT`] on a valid file with changes, truncated; else a valid file
/// with changes.
pub(crate) const ANY: usize = 192;
pub(crate) const CUT: usize = 128;

/// Returns a file that is damaged as the choice determines.
pub(crate) fn damaged(right: &[u8], choice: usize, rest: &[u8]) -> Vec<u8> {
    if choice >= ANY {
        return rest.to_vec();
    }
    let mut file = patched(right, rest);
    if choice >= CUT {
        file.truncate(file.len() / 64 * (choice - CUT));
    }
    file
}

/// Returns the choice and the bytes after it.
pub(crate) fn chosen(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (choice, rest) = bytes.split_first()?;
    Some((usize::from(*choice), rest))
}

/// Returns a choice followed by bytes.
pub(crate) fn choose(choice: usize, bytes: &[u8]) -> Vec<u8> {
    let choice = u8::try_from(choice).expect("few choices");
    [&[choice], bytes].concat()
}
