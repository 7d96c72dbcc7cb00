//! Checks columns and links of the Markdown pages, the first line of each Rust file, which describes its content, words
//! of documentation comments, and parameters of functions.

mod parameters;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::error::XtaskError;
use crate::figures;
use crate::gpu;
use crate::web;

/// Longest line, but for rows of tables, which cannot be broken.
const COLUMNS: usize = 120;
/// Folders of pages, beside the workspace's root.
const FOLDERS: [&str; 3] = ["docs", "hw", "reference"];
/// The book's contents, in a folder that leads to all pages.
const CONTENTS: &str = "book/src/SUMMARY.md";
/// Folders of Rust files.
const SOURCES: [&str; 5] = ["crates", "evidence", "examples", "fuzz", "xtask"];

/// A fault of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A line of more than [`COLUMNS`] columns.
    Long {
        page: PathBuf,
        line: usize,
        columns: usize,
    },
    /// A link to a file or heading that does not exist.
    Broken {
        page: PathBuf,
        line: usize,
        link: String,
    },
    /// A name with a source file that does not define it.
    Undefined {
        page: PathBuf,
        line: usize,
        name: String,
        file: String,
    },
    /// A page that the book leaves out.
    Unlisted { page: PathBuf },
    /// A Rust file that does not begin with what is in it.
    Nameless { source: PathBuf },
    /// A documentation comment contains a word of [`words`], or begins with one.
    Word {
        source: PathBuf,
        line: usize,
        word: &'static str,
    },
    /// A parameter of a function is a tuple pattern.
    Tuple { source: PathBuf, line: usize },
    /// A file that cannot be parsed.
    Syntax {
        source: PathBuf,
        line: usize,
        found: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long {
                page,
                line,
                columns,
            } => {
                let page = page.display();
                write!(
                    f,
                    "{page}:{line}: expected at most {COLUMNS} columns, found {columns}"
                )
            }
            Self::Nameless { source } => {
                let source = source.display();
                write!(f, "{source}:1: expected `//! ` and what is in the file")
            }
            Self::Word { source, line, word } => {
                let source = source.display();
                write!(
                    f,
                    "{source}:{line}: expected a sentence of plain words with a subject, found `{word}`"
                )
            }
            Self::Undefined {
                page,
                line,
                name,
                file,
            } => {
                let page = page.display();
                write!(
                    f,
                    "{page}:{line}: expected that crates/{file} defines `{name}`, found no such item"
                )
            }
            Self::Tuple { source, line } => {
                let source = source.display();
                write!(
                    f,
                    "{source}:{line}: expected a parameter with a name, found a tuple pattern"
                )
            }
            Self::Syntax {
                source,
                line,
                found,
            } => {
                let source = source.display();
                write!(f, "{source}:{line}: expected Rust, found an error: {found}")
            }
            Self::Unlisted { page } => {
                let page = page.display();
                write!(f, "{CONTENTS}: expected {page}, found it nowhere")
            }
            Self::Broken { page, line, link } => {
                let page = page.display();
                write!(
                    f,
                    "{page}:{line}: expected what `{link}` points at, found nothing"
                )
            }
        }
    }
}

/// Checks all pages of the workspace at `root`.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let mut pages = BTreeMap::new();
    read(root, Path::new(""), "md", false, &mut pages)?;
    for folder in FOLDERS {
        read(root, Path::new(folder), "md", true, &mut pages)?;
    }
    let contents = root.join(CONTENTS);
    let contents = fs::read_to_string(&contents).map_err(XtaskError::io(&contents))?;
    let mut found = unlisted(&pages, &contents);
    pages.insert(CONTENTS.into(), contents);
    let mut sources = BTreeMap::new();
    for folder in SOURCES {
        read(root, Path::new(folder), "rs", true, &mut sources)?;
    }
    found.extend(faults(&pages, &|path| root.join(path).exists()));
    found.extend(undefined(&pages, &sources));
    found.extend(nameless(&sources));
    found.extend(words::faults(&sources));
    found.extend(parameters::faults(&sources));
    if found.is_empty() {
        figures::check(root)?;
        web::page(root, false)?;
        gpu::page(root, false)
    } else {
        Err(XtaskError::Pages(found))
    }
}

/// Adds the files of `folder`, a path below `root`, with this extension; what was built is no part of it.
fn read(
    root: &Path,
    folder: &Path,
    ending: &str,
    deep: bool,
    pages: &mut BTreeMap<PathBuf, String>,
) -> Result<(), XtaskError> {
    let at = root.join(folder);
    for entry in fs::read_dir(&at).map_err(XtaskError::io(&at))? {
        let entry = entry.map_err(XtaskError::io(&at))?;
        let (path, short) = (entry.path(), folder.join(entry.file_name()));
        if path.is_dir() && deep && entry.file_name() != "target" {
            read(root, &short, ending, deep, pages)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
            let text = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
            pages.insert(short, text);
        }
    }
    Ok(())
}

/// Pages that the book's contents do not link to.
fn unlisted(pages: &BTreeMap<PathBuf, String>, contents: &str) -> Vec<Fault> {
    let listed: BTreeSet<&Path> = contents.lines().flat_map(links).map(Path::new).collect();
    let left_out = pages.keys().filter(|page| !listed.contains(page.as_path()));
    let fault = |page: &PathBuf| Fault::Unlisted { page: page.clone() };
    left_out.map(fault).collect()
}

/// Rust files without a first line of their own documentation.
fn nameless(sources: &BTreeMap<PathBuf, String>) -> Vec<Fault> {
    let without = sources.iter().filter(|(_, text)| !text.starts_with("//! "));
    let fault = |(source, _): (&PathBuf, _)| Fault::Nameless {
        source: source.clone(),
    };
    without.map(fault).collect()
}

/// All faults of `pages`; `exists` answers for other files.
fn faults(pages: &BTreeMap<PathBuf, String>, exists: &dyn Fn(&Path) -> bool) -> Vec<Fault> {
    let mut found = Vec::new();
    for (page, text) in pages {
        let mut code = false;
        for (line, text) in (1..).zip(text.lines()) {
            code ^= text.trim_start().starts_with("```");
            let columns = text.chars().count();
            if columns > COLUMNS && !text.starts_with('|') {
                found.push(Fault::Long {
                    page: page.clone(),
                    line,
                    columns,
                });
            }
            if code {
                continue;
            }
            for link in links(text).filter(|link| !leads(page, link, pages, exists)) {
                let (page, link) = (page.clone(), link.to_string());
                found.push(Fault::Broken { page, line, link });
            }
        }
    }
    found
}

/// Names such as `` `Writer::parts` (`client/src/letter.rs`) `` that the source file does not define. Files are named from
/// the folder of crates.
fn undefined(pages: &BTreeMap<PathBuf, String>, sources: &BTreeMap<PathBuf, String>) -> Vec<Fault> {
    let mut found = Vec::new();
    for (page, text) in pages {
        // A line may end between a name and its file.
        let flat = text.replace('\n', " ");
        for (at, _) in flat.match_indices("` (`") {
            let (before, rest) = flat.split_at(at);
            let name = before.rsplit(['`', ':']).next().unwrap_or_default();
            let file = rest["` (`".len()..].split('`').next().unwrap_or_default();
            if !file.ends_with(".rs") {
                continue;
            }
            let source = sources.get(&Path::new("crates").join(file));
            if !source.is_some_and(|source| defines(source, name)) {
                found.push(Fault::Undefined {
                    page: page.clone(),
                    line: text[..at].lines().count(),
                    name: name.to_owned(),
                    file: file.to_owned(),
                });
            }
        }
    }
    found
}

/// Whether a source file defines a function, type or trait of this name.
fn defines(source: &str, name: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "type", "const"];
    kinds.iter().any(|kind| {
        let item = format!("{kind} {name}");
        source.match_indices(&item).any(|(at, _)| {
            let next = source[at + item.len()..].chars().next();
            !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
    })
}

/// Targets of the links `[text](target)` of a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.split("](").skip(1);
    ends.filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// Whether a link from `page` leads to a file, and to a heading if it names one.
fn leads(
    page: &Path,
    link: &str,
    pages: &BTreeMap<PathBuf, String>,
    exists: &dyn Fn(&Path) -> bool,
) -> bool {
    if link.contains("://") {
        return true;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() {
        page.to_path_buf()
    } else {
        plain(&page.with_file_name(file))
    };
    match pages.get(&target) {
        Some(text) => heading.is_empty() || headings(text).any(|found| found == heading),
        None => exists(&target),
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            _ => {}
        }
    }
    plain
}

/// Names by which links reach the headings of a page.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        title
            .chars()
            .filter(kept)
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pages: &[(&str, &str)]) -> Vec<Fault> {
        let pages = pages
            .iter()
            .map(|(name, text)| (name.into(), text.to_string()))
            .collect();
        faults(&pages, &|path| path == Path::new("docs/picture.svg"))
    }

    fn broken(page: &str, link: &str) -> Fault {
        Fault::Broken {
            page: page.into(),
            line: 1,
            link: link.into(),
        }
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let good = "[a](docs/b.md#2-the-frame) [b](docs/picture.svg) [c](https://example.org/x)";
        let docs = (
            "docs/b.md",
            "[back](../a.md), [here](#2-the-frame)\n\n## 2. The `frame`\n",
        );
        assert_eq!(of(&[("a.md", good), docs]), []);
        for link in ["docs/c.md", "docs/b.md#the-frame", "../docs/c.svg", "#none"] {
            let page = format!("[x]({link})");
            assert_eq!(
                of(&[("a.md", &page), docs]),
                [broken("a.md", link)],
                "{link}"
            );
        }
        let code = "```text\n[x](nothing.md)\n```\n";
        assert_eq!(of(&[("a.md", code)]), []);
    }

    #[test]
    fn names_are_defined_in_the_files_beside_them() {
        let of = |name: &str, file: &str| {
            let text = format!("# Tour\n\nA `{name}`\n(`{file}`) and `this` (`x.sv`).\n");
            let pages = BTreeMap::from([(PathBuf::from("docs/tour.md"), text)]);
            let source = "/// A row.\npub struct Row;\nimpl Row { pub(crate) fn of(self) {} }\n";
            let sources = BTreeMap::from([(PathBuf::from("crates/a/b.rs"), source.to_owned())]);
            undefined(&pages, &sources)
        };
        for name in ["Row", "of", "Row::of"] {
            assert_eq!(of(name, "a/b.rs"), [], "{name}");
        }
        for (name, file) in [("Ro", "a/b.rs"), ("Row", "a/c.rs")] {
            let fault = Fault::Undefined {
                page: "docs/tour.md".into(),
                line: 3,
                name: name.into(),
                file: file.into(),
            };
            assert_eq!(of(name, file), [fault]);
        }
    }

    #[test]
    fn the_book_has_every_page() {
        let pages = ["README.md", "docs/guide.md"].map(|page| (PathBuf::from(page), String::new()));
        let contents = "# Summary\n\n[omr](README.md)\n- [Guide](docs/guide.md)\n";
        assert_eq!(unlisted(&pages.clone().into(), contents), []);
        let page = PathBuf::from("docs/guide.md");
        let found = unlisted(&pages.into(), "[omr](README.md)");
        assert_eq!(found, [Fault::Unlisted { page }]);
    }

    #[test]
    fn rust_files_begin_with_what_is_in_them() {
        let texts = [("a.rs", "//! Rings.\n"), ("b.rs", "use a;\n//! Rings.\n")];
        let sources = texts.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
        let source = PathBuf::from("b.rs");
        assert_eq!(nameless(&sources.into()), [Fault::Nameless { source }]);
    }

    #[test]
    fn lines_end_before_the_last_column() {
        let line = "\u{fc}".repeat(COLUMNS);
        assert_eq!(of(&[("a.md", &line)]), []);
        let long = Fault::Long {
            page: "a.md".into(),
            line: 2,
            columns: COLUMNS + 1,
        };
        assert_eq!(of(&[("a.md", &format!("\n{line}x"))]), [long]);
        assert_eq!(of(&[("a.md", &format!("| {line} |"))]), []);
    }
}
