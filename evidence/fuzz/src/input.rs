//! From a fuzzer's bytes to files: frames with right checksums, and frozen files changed in some places.

use omr_protocol::frame::{FrameHeader, Kind, read_frame, write_frame_vec};

/// A file's header and body.
pub(crate) type Opened = (FrameHeader, Vec<u8>);

/// Largest frozen file.
const LARGEST: u64 = 1 << 30;

/// Opens a file that is known to be right.
pub(crate) fn opened(kind: Kind, file: &[u8]) -> Opened {
    read_frame(file, kind, LARGEST).expect("a file that reads")
}

/// A file with right checksums around any body.
pub(crate) fn closed(header: &FrameHeader, body: &[u8]) -> Vec<u8> {
    write_frame_vec(header, body).expect("a header that can be written")
}

/// A header.
pub(crate) fn header(kind: Kind, params: &str) -> FrameHeader {
    FrameHeader::new(kind, params, *b"a key of a test.")
}

/// Bytes with changes: three bytes of a place, one of a difference, again and again.
pub(crate) fn patched(bytes: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for change in changes.as_chunks::<4>().0 {
        let place = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
        let place = place % out.len().max(1);
        if let Some(byte) = out.get_mut(place) {
            *byte ^= change[3];
        }
    }
    out
}

/// From these choices on a file is any bytes, and from the other on a right one with changes, cut short; else a right one
/// with changes.
pub(crate) const ANY: usize = 192;
pub(crate) const CUT: usize = 128;

/// A file that is damaged as a choice has it.
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

/// A choice, and the bytes behind it.
pub(crate) fn chosen(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (choice, rest) = bytes.split_first()?;
    Some((usize::from(*choice), rest))
}

/// A choice in front of bytes.
pub(crate) fn choose(choice: usize, bytes: &[u8]) -> Vec<u8> {
    let choice = u8::try_from(choice).expect("few choices");
    [&[choice], bytes].concat()
}
