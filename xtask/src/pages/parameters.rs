//! Parameters of functions that are tuple patterns: they have types without names, and calls do not show what is what.

use std::collections::BTreeMap;
use std::path::PathBuf;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{FnArg, Pat, Signature};

use super::Fault;

/// Returns the faults of all functions, a parameter at most one.
///
/// Closures and calls of macros, whose text is theirs, are not looked into.
pub(super) fn faults(sources: &BTreeMap<PathBuf, String>) -> Vec<Fault> {
    let mut found = Vec::new();
    for (source, text) in sources {
        match syn::parse_file(text) {
            Ok(file) => {
                let mut tuples = Tuples::default();
                tuples.visit_file(&file);
                found.extend(tuples.0.into_iter().map(|line| Fault::Tuple {
                    source: source.clone(),
                    line,
                }));
            }
            Err(error) => found.push(Fault::Syntax {
                source: source.clone(),
                line: error.span().start().line,
                found: error.to_string(),
            }),
        }
    }
    found
}

/// The lines of parameters that are tuple patterns.
#[derive(Default)]
struct Tuples(Vec<usize>);

impl Visit<'_> for Tuples {
    fn visit_signature(&mut self, signature: &Signature) {
        for input in &signature.inputs {
            if let FnArg::Typed(parameter) = input
                && is_tuple(&parameter.pat)
            {
                self.0.push(parameter.pat.span().start().line);
            }
        }
        visit::visit_signature(self, signature);
    }
}

/// Whether a pattern names the parts of a tuple; `()` has none.
fn is_tuple(pattern: &Pat) -> bool {
    match pattern {
        Pat::Tuple(tuple) => !tuple.elems.is_empty(),
        Pat::Reference(reference) => is_tuple(&reference.pat),
        Pat::Paren(inner) => is_tuple(&inner.pat),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<usize> {
        let sources = BTreeMap::from([(PathBuf::from("crates/ring/src/a.rs"), text.to_owned())]);
        let line = |fault| match fault {
            Fault::Tuple { line, .. } => line,
            other => panic!("{other}"),
        };
        faults(&sources).into_iter().map(line).collect()
    }

    #[test]
    fn tuple_patterns_are_found() {
        let text = "fn a((x, y): (u8, u8), z: u8) {}\nimpl A {\n    fn b(\n        &self,\n        \
                    &(mut x, _): &(u8, u8),\n    ) {\n        fn c(((x, y)): (u8, u8)) {}\n    }\n}\n\
                    trait T {\n    fn d(&self, (x,): (u8,)) {}\n}\n";
        assert_eq!(of(text), [1, 5, 7, 11]);
    }

    #[test]
    fn other_patterns_are_not() {
        let text = "fn a(x: (u8, u8), (): (), [y, z]: [u8; 2], Point { w, .. }: Point) {\n    \
                    let (b, c) = x;\n    let d = |(e, f): (u8, u8)| e + f;\n    type G = fn((u8, u8));\n}\n";
        assert!(of(text).is_empty());
    }

    #[test]
    fn what_is_not_rust_is_a_fault() {
        let source = PathBuf::from("crates/ring/src/a.rs");
        let text = "//! Rows.\n\nfn a(x: u8 {}\n".to_owned();
        let found = faults(&BTreeMap::from([(source.clone(), text)]));
        let [
            Fault::Syntax {
                source: at, line, ..
            },
        ] = &found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((at, *line), (&source, 3));
    }
}
