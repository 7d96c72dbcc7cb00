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
    let clean: String = visible(last)
        .chars()
        .map(|c| if "<>:\"|?*".contains(c) { '_' } else { c })
        .collect();
    let mut name = without_end(clean.trim_start()).to_owned();
    let first = name.chars().next()?;
    if first == '.' || first == '-' {
        name.replace_range(..1, "_");
    }
    // What shortening leaves may be a device's name again, and end as no name may.
    let short = visible(&shortened(&no_device(name)));
    Some(no_device(without_end(&short).to_owned()))
}

/// Windows drops dots and spaces from a name's end; other white space nobody sees there.
fn without_end(name: &str) -> &str {
    name.trim_end_matches(|c: char| c == '.' || c.is_whitespace())
}

fn no_device(name: String) -> String {
    if is_device(&name) {
        format!("_{name}")
    } else {
        name
    }
}

/// A text in one line, as it may be shown to somebody who did not write it: without control characters, line ends, what
/// has no width and what changes the direction of writing. Joiners stay where scripts and emoji need them: between
/// two visible characters of those scripts.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut before = None;
    let mut rest = text.chars().peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        let joins = matches!(c, ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER)
            && before.is_some_and(is_joined)
            && rest.peek().is_some_and(|next| is_joined(*next));
        if joins || !is_hidden(c) {
            shown.push(c);
        }
        before = Some(c);
    }
    shown
}

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Whether joiners beside a character may change how it looks: those of Latin, Greek, Cyrillic, Hebrew and punctuation
/// never do.
fn is_joined(c: char) -> bool {
    c >= '\u{600}' && !matches!(c, '\u{2000}'..='\u{206f}') && !c.is_whitespace() && !is_hidden(c)
}

/// Control characters, line ends, and what has no width, no ink or changes the direction of writing.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        )
        || matches!(c, '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
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
            // A family, a word of Persian, one of Hindi: joiners are part of how they are written.
            (
                "\u{1f469}\u{200d}\u{1f467}.txt",
                "\u{1f469}\u{200d}\u{1f467}.txt",
            ),
            (
                "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
                "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
            ),
            (
                "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
                "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            ),
            (
                "\u{915}\u{94d}\u{200d}\u{937}",
                "\u{915}\u{94d}\u{200d}\u{937}",
            ),
            // Where they hide, they go.
            ("pay\u{200d}pal.txt", "paypal.txt"),
            ("\u{1f469}\u{200d}\u{200d}\u{1f467}", "\u{1f469}\u{1f467}"),
            ("\u{1f469}\u{200d}.txt", "\u{1f469}.txt"),
            ("\u{645}\u{200d}\u{202e}\u{62e}", "\u{645}\u{62e}"),
            ("a\u{200b}b\u{3164}c\u{e0041}", "abc"),
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
        fn only_joiners_between_others_stay(text in "[a\u{626}\u{94d}\u{200b}-\u{200f}\u{1f469}\u{fe0f} .]{0,12}") {
            let shown = visible(&text);
            let of = |c: char| c == ZERO_WIDTH_JOINER || c == ZERO_WIDTH_NON_JOINER;
            prop_assert!(shown.chars().all(|c| of(c) || !is_hidden(c)));
            prop_assert!(!shown.starts_with(of) && !shown.ends_with(of));
            prop_assert_eq!(shown.replace(of, ""), text.replace(is_hidden, ""));
            prop_assert_eq!(visible(&shown), shown);
        }

        #[test]
        fn any_text_gives_a_harmless_name(text in ".{0,300}") {
            if let Some(name) = file_name(&text) {
                prop_assert!((1..=MOST).contains(&name.len()));
                prop_assert!(!name.contains(['/', '\\', ':']) && !name.starts_with(['.', '-']));
                prop_assert_eq!(&visible(&name), &name);
                prop_assert_eq!(file_name(&name), Some(name));
            }
        }
    }
}
