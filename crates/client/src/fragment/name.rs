//! Names of files, as they may be shown and saved.

/// Most bytes of a name.
const MOST: usize = 120;
/// Most bytes behind its last dot that survive shortening.
const MOST_ENDING: usize = 16;
/// A name that strangers wrote, made harmless: no folders, nothing that steers a terminal or turns text around, nothing
/// that a file system or a command line takes for something else, at most 120 bytes. `None` where nothing is left.
#[must_use]
pub fn file_name(text: &str) -> Option<String> {
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = last.chars().filter(|c| !is_hidden(*c));
    let clean: String = shown
        .map(|c| if "<>:\"|?*".contains(c) { '_' } else { c })
        .collect();
    let mut name = without_end(clean.trim_start()).to_owned();
    let first = name.chars().next()?;
    if first == '.' || first == '-' {
        name.replace_range(..1, "_");
    }
    // What shortening leaves may be a device's name again, and end as no name may.
    let short = shortened(&no_device(name));
    Some(no_device(without_end(&short).to_owned()))
}

/// Windows drops dots and spaces from a name's end; other white space nobody sees there.
fn without_end(name: &str) -> &str {
    name.trim_end_matches(|c: char| c == '.' || c.is_whitespace())
}

fn no_device(name: String) -> String {
    match is_device(&name) {
        true => format!("_{name}"),
        false => name,
    }
}

/// Control characters, line ends, and what has no width or changes the direction of writing.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Names that Windows gives to devices, whatever stands behind a dot.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_uppercase();
    let numbered = |of: &str| {
        let number = stem.strip_prefix(of).map(str::as_bytes);
        matches!(number, Some([b'0'..=b'9']))
    };
    ["CON", "PRN", "AUX", "NUL"].contains(&&stem[..]) || numbered("COM") || numbered("LPT")
}

/// Cut in the middle, so that what tells the type stays.
fn shortened(name: &str) -> String {
    if name.len() <= MOST {
        return name.to_owned();
    }
    let dot = name.rfind('.').filter(|at| name.len() - at <= MOST_ENDING);
    let (stem, ending) = name.split_at(dot.unwrap_or(name.len()));
    let mut end = MOST - ending.len();
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{ending}", stem[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_lose_what_is_dangerous() {
        for (text, name) in [
            ("photo.jpg", "photo.jpg"),
            ("Grüße aus Köln.pdf", "Grüße aus Köln.pdf"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("../.ssh/authorized_keys", "authorized_keys"),
            (".bashrc", "_bashrc"),
            ("-rf", "_rf"),
            ("a\nb\x1b[2J.txt", "ab[2J.txt"),
            ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
            ("a:b?.txt ", "a_b_.txt"),
            ("aux.txt", "_aux.txt"),
            ("COM7", "_COM7"),
            ("comma.txt", "comma.txt"),
            ("end. . ", "end"),
            ("end\u{202f}.", "end"),
            ("end.\u{3000}.", "end"),
        ] {
            assert_eq!(file_name(text).as_deref(), Some(name), "{text:?}");
        }
        for nothing in ["", "/", "..", " . ", "a/", "\n", "\u{200b}"] {
            assert_eq!(file_name(nothing), None, "{nothing:?}");
        }
        let long = format!("{}.jpeg", "ä".repeat(200));
        let name = file_name(&long).unwrap();
        assert!(name.len() <= MOST && name.ends_with("ä.jpeg"), "{name}");
        // Cut behind a dot, in spaces, and of a device.
        for long in [
            format!("{}.{}", "a".repeat(MOST - 1), "b".repeat(50)),
            format!("com1{}x.txt", " ".repeat(200)),
            format!("con.{}", "c".repeat(MOST - 4)),
        ] {
            let name = file_name(&long).unwrap();
            assert!(name.len() <= MOST && !is_device(&name), "{name}");
            assert_eq!(file_name(&name), Some(name));
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_harmless_name(text in ".{0,300}") {
            if let Some(name) = file_name(&text) {
                prop_assert!((1..=MOST).contains(&name.len()));
                prop_assert!(!name.contains(['/', '\\', ':']) && !name.starts_with(['.', '-']));
                prop_assert!(!name.chars().any(is_hidden));
                prop_assert_eq!(file_name(&name), Some(name));
            }
        }
    }
}
