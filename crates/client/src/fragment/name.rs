//! Names of files that are safe to show and to save.

/// Largest length in bytes of a name.
const MOST: usize = 120;
/// Largest length in bytes of an ending, with its dot, that shortening keeps.
const MOST_ENDING: usize = 16;
/// Makes a name from a stranger harmless: it has no folders, no characters that control a terminal or reverse text,
/// nothing that has a special meaning for a file system or a command line, and at most 120 bytes. Returns `None` if
/// nothing is left.
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
    // The shortened name may be a device's name, or have an end that names must not have.
    let short = visible(&shortened(&no_device(name)));
    Some(no_device(without_end(&short).to_owned()))
}

/// Removes dots and spaces from the end of a name, which Windows drops, and other white space, which nobody sees.
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

/// Returns a text in one line that is safe to show to people who did not write it: without control characters, line
/// ends, characters without width and characters that change the direction of writing. Joiners remain where scripts and
/// emoji need them: between two visible characters of these scripts.
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

/// Returns whether joiners beside a character may change its appearance. They never do for Latin, Greek, Cyrillic,
/// Hebrew and punctuation.
fn is_joined(c: char) -> bool {
    c >= '\u{600}' && !matches!(c, '\u{2000}'..='\u{206f}') && !c.is_whitespace() && !is_hidden(c)
}

/// Returns whether a character is a control character, a line end, has no width or no ink, or changes the direction of
/// writing.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        )
        || matches!(c, '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether the name is one of Windows' devices. An ending after a dot makes no difference.
fn is_device(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_ascii_uppercase();
    let numbered = |of: &str| {
        let number = stem.strip_prefix(of).map(str::as_bytes);
        matches!(number, Some([b'0'..=b'9']))
    };
    ["CON", "PRN", "AUX", "NUL"].contains(&&stem[..]) || numbered("COM") || numbered("LPT")
}

/// Removes bytes from the middle of a name, so that the ending, which shows the type, remains.
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
            // Joiners are part of the spelling of these: a family, a word of Persian, one of Hindi.
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
            // Joiners that are invisible are removed.
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
        // Names that end after shortening in a dot or spaces, or that become a device's name.
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
        fn any_text_becomes_a_harmless_name(text in ".{0,300}") {
            if let Some(name) = file_name(&text) {
                prop_assert!((1..=MOST).contains(&name.len()));
                prop_assert!(!name.contains(['/', '\\', ':']) && !name.starts_with(['.', '-']));
                prop_assert_eq!(&visible(&name), &name);
                prop_assert_eq!(file_name(&name), Some(name));
            }
        }
    }
}
