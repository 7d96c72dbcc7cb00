//! Formats of files, found out from their first bytes.

use serde::de::IgnoredAny;

/// The format of a file that may be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Parquet,
    /// A format that is not imported: what it is, and what to do about it.
    Other(&'static str),
}

/// Bytes from a file's beginning that are enough to know its format.
pub(super) const HEAD_BYTES: u64 = 1 << 16;

const WORKBOOK: &str = "a spreadsheet: save its sheet as CSV";

/// First bytes of formats that are not imported.
const BEGINNINGS: [(&[u8], &str); 19] = [
    (b"\x1F\x8B", "data compressed by gzip: decompress it first"),
    (
        b"\x28\xB5\x2F\xFD",
        "data compressed by zstd: decompress it first",
    ),
    (b"\xFD7zXZ\0", "data compressed by xz: decompress it first"),
    (
        b"\x04\x22\x4D\x18",
        "data compressed by lz4: decompress it first",
    ),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", WORKBOOK),
    (
        b"SQLite format 3\0",
        "a database of SQLite: export its table as CSV",
    ),
    (b"OMRTABLE", "a table that was imported already"),
    (b"ARROW1", "a file of Arrow: write it as Parquet or CSV"),
    (
        b"\xFF\xFF\xFF\xFF",
        "a stream of Arrow: write it as Parquet or CSV",
    ),
    (b"FEA1", "a file of Feather: write it as Parquet or CSV"),
    (b"Obj\x01", "a file of Avro: write it as Parquet or CSV"),
    (b"\x89HDF", "a file of HDF5: write it as Parquet or CSV"),
    (b"%PDF-", "a PDF"),
    (b"<?xml", "XML: write it as CSV"),
    (b"<!DOCTYPE", "HTML: write it as CSV"),
    (b"<html", "HTML: write it as CSV"),
    (b"\xFF\xFE", "text in UTF-16: convert it to UTF-8"),
    (b"\xFE\xFF", "text in UTF-16: convert it to UTF-8"),
];

/// Finds out the format. `head`: the file's first bytes, [`HEAD_BYTES`] unless it is shorter.
pub(super) fn format(head: &[u8]) -> Format {
    // A header of CSV may begin with the letters of these.
    if has_controls(head) {
        match head.get(..4) {
            Some(b"PAR1") => return Format::Parquet,
            Some(b"PARE") => return Format::Other("Parquet with an encrypted footer: decrypt it"),
            Some([b'O', b'R', b'C', _]) => {
                return Format::Other("a file of ORC: write it as Parquet or CSV");
            }
            Some([b'B', b'Z', b'h', b'1'..=b'9']) => {
                return Format::Other("data compressed by bzip2: decompress it first");
            }
            Some(b"PK\x03\x04") => return Format::Other(archive(head)),
            _ if head.get(8..12) == Some(b"DUCK") => {
                return Format::Other("a database of DuckDB: export its table as CSV or Parquet");
            }
            _ => {}
        }
    }
    let other = BEGINNINGS.iter().find(|(begin, _)| head.starts_with(begin));
    match other {
        Some((_, found)) => Format::Other(found),
        None if is_json(head) => Format::Other("JSON: write it as CSV"),
        None => Format::Csv,
    }
}

/// Whether the first bytes contain what no header of CSV does.
fn has_controls(head: &[u8]) -> bool {
    let start = &head[..head.len().min(64)];
    start
        .iter()
        .any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

fn archive(head: &[u8]) -> &'static str {
    let contains = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
    if contains(b"xl/") || contains(b"opendocument.spreadsheet") {
        WORKBOOK
    } else {
        "a zip archive: unpack it first"
    }
}

/// Whether the first bytes begin an object or an array of JSON, which may end behind them.
fn is_json(head: &[u8]) -> bool {
    if !matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return false;
    }
    let mut values = serde_json::Deserializer::from_slice(head).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let rest = &head[values.byte_offset()..];
            rest.first().is_none_or(u8::is_ascii_whitespace)
        }
        Some(Err(error)) => error.is_eof(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(head: &[u8]) -> &'static str {
        match format(head) {
            Format::Csv => "CSV",
            Format::Parquet => "Parquet",
            Format::Other(found) => found,
        }
    }

    #[test]
    fn formats_are_known_by_their_beginning() {
        let workbook =
            b"PK\x03\x04\x14\0\x06\0\x08\0[Content_Types].xml..PK\x03\x04xl/workbook.xml";
        let sheet = b"PK\x03\x04\x14\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet";
        for (head, expected) in [
            (&b"PAR1\x15\x04"[..], "Parquet"),
            (b"\x1F\x8B\x08\0", "gzip"),
            (b"\x28\xB5\x2F\xFD\x04", "zstd"),
            (b"\xFD7zXZ\0\0\x04", "xz"),
            (b"\x04\x22\x4D\x18", "lz4"),
            (b"BZh91AY&SY\x01", "bzip2"),
            (b"PK\x03\x04\x14\0a.csv", "zip"),
            (workbook, "spreadsheet"),
            (sheet, "spreadsheet"),
            (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "spreadsheet"),
            (b"SQLite format 3\0", "SQLite"),
            (b"\0\0\0\0\0\0\0\0DUCK", "DuckDB"),
            (b"ARROW1\0\0", "file of Arrow"),
            (b"\xFF\xFF\xFF\xFF\x10\0\0\0", "stream of Arrow"),
            (b"ORC\x0A\x03", "ORC"),
            (b"Obj\x01", "Avro"),
            (b"OMRTABLE\x01\0\0\0", "imported already"),
            (b"\xFF\xFEa\0", "UTF-16"),
            (b"\xFE\xFF\0a", "UTF-16"),
            (b"{\"a\": 1}\n{\"a\": 2}\n", "JSON"),
            (b" [\n  {\"a\": [1, 2", "JSON"),
            (b"{\"a\": 1}", "JSON"),
            (b"<?xml version=\"1.0\"?>", "XML"),
        ] {
            assert!(found(head).contains(expected), "{head:?}: {}", found(head));
        }
    }

    #[test]
    fn headers_that_look_like_formats_are_csv() {
        for head in [
            &b""[..],
            b"a\n1\n",
            b"PAR1,PAR2\n1,2\n",
            b"ORCID,name\n",
            b"BZh9,x\n",
            b"PARENT\r\n",
            b"[a],b\n",
            b"[1],b\n",
            b"{a}\n",
            b"\"{\"\n",
            b"\xEF\xBB\xBFa\n",
        ] {
            assert_eq!(found(head), "CSV", "{head:?}");
        }
    }
}
