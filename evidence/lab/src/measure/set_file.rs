//! Experimental parameter sets in TOML files, for measurements. A file names a published set and the fields that differ
//! from it. Servers and clients know published sets alone, so that no file makes a set that they use.

mod sections;

use omr_protocol::params::SetSpec;
use omr_protocol::{ParamSet, ParamsError};
use omr_ring::NarrowGaussian;
use sections::Sections;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The beginning of the name of every experimental set, and of one whose base is for tests only.
const PREFIXES: [&str; 2] = ["experimental-", "experimental-insecure-"];

/// The fields whose values are replaced as a whole, because another kind has other fields.
const WHOLE: [&str; 2] = ["secret", "posting"];

/// A number of a file is at most this many times, and at least this part of, the base's.
const FACTOR: f64 = 8.0;

/// A parameter set could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetFileError {
    /// No published set has this name.
    #[error(transparent)]
    Published(#[from] ParamsError),
    /// The file could not be read.
    #[error("{}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is no TOML, or has a field or a value that a set does not have.
    #[error("{}: expected name, base and fields of a parameter set as `omr-lab params show NAME --toml` prints them, found {found}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The parser's message, with the line if it is known.
        found: String,
    },
    /// The name could be that of a published set, or has other characters.
    #[error("{}: expected a name that begins with {expected}, of at most 64 lower-case letters, digits and hyphens, found {found:?}", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// The beginning.
        expected: &'static str,
        /// The name.
        found: String,
    },
    /// A number is far from the base's.
    #[error("{}: expected {field} from {} to {}, near {base} of the base, found {found}", path.display(), base / FACTOR, base * FACTOR)]
    Far {
        /// The file.
        path: PathBuf,
        /// The field, after its section.
        field: String,
        /// The base's number.
        base: f64,
        /// The file's number.
        found: f64,
    },
    /// No estimate of security covers a key.
    #[error("{}: expected {field} of {bound} {base}, as no estimate of 128 bits covers others, found {found}", path.display())]
    Unestimated {
        /// The file.
        path: PathBuf,
        /// The field, after its section.
        field: &'static str,
        /// The direction in which keys are at least as secure as the base's.
        bound: &'static str,
        /// The base's number.
        base: f64,
        /// The file's number.
        found: f64,
    },
    /// The set is insecure or impossible.
    #[error("{}", .0.display())]
    Params(PathBuf, #[source] ParamsError),
}

/// The first fields of a file.
#[derive(Deserialize)]
struct Head {
    name: String,
    base: String,
}

/// Returns the published set of this name, or the experimental set of a file whose name ends with `.toml`.
///
/// Errors: all of [`SetFileError`]; the engines of an experimental set are checked at once.
pub fn set(name: &str) -> Result<ParamSet, SetFileError> {
    let path = Path::new(name);
    if path.extension().is_none_or(|end| end != "toml") {
        return Ok(ParamSet::named(name)?);
    }
    let text = std::fs::read_to_string(path)
        .map_err(|source| SetFileError::Read(path.to_owned(), source))?;
    let spec = parsed(path, &text)?;
    let checked = |spec: SetSpec| -> Result<ParamSet, ParamsError> {
        let set = ParamSet::new(spec)?;
        if set.spec().sophomr.is_some() {
            set.sophomr()?;
        }
        if set.spec().instantomr.is_some() {
            set.instantomr()?;
        }
        if set.spec().rounds.is_some() {
            set.rounds()?;
        }
        Ok(set)
    };
    checked(spec).map_err(|source| SetFileError::Params(path.to_owned(), source))
}

/// Returns a published set as a file that has it as its base and states every field.
#[must_use]
pub fn template(set: &SetSpec) -> String {
    let prefix = PREFIXES[usize::from(set.insecure)];
    let plain = set.name.trim_start_matches(PREFIXES[0]);
    let plain = plain.trim_start_matches("insecure-");
    let head = Head {
        name: format!("{prefix}{plain}"),
        base: set.name.to_owned(),
    };
    let sections = Table::try_from(Sections::of(set)).expect("numbers and names");
    format!(
        "name = {:?}\nbase = {:?}\n\n{sections}",
        head.name, head.base
    )
}

/// Reads the text of a file; engines are not checked yet.
fn parsed(path: &Path, text: &str) -> Result<SetSpec, SetFileError> {
    let field = |error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].lines().count());
        let at = line.map_or(String::new(), |line| format!("in line {}: ", line.max(1)));
        SetFileError::Field {
            path: path.to_owned(),
            found: at + error.message(),
        }
    };
    let mut own: Table = text.parse().map_err(field)?;
    let mut head = Table::new();
    for key in ["name", "base"] {
        head.extend(own.remove_entry(key));
    }
    let head: Head = Value::Table(head).try_into().map_err(field)?;
    let base = SetSpec::named(&head.base)
        .map_err(|source| SetFileError::Params(path.to_owned(), source))?;
    let expected = PREFIXES[usize::from(base.insecure)];
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !head.name.starts_with(expected) || head.name.len() > 64 || !head.name.bytes().all(is_plain)
    {
        let (path, found) = (path.to_owned(), head.name);
        return Err(SetFileError::Name {
            path,
            expected,
            found,
        });
    }
    let published = Table::try_from(Sections::of(&base)).expect("numbers and names");
    near(path, "", &published, &own)?;
    let merged = Value::Table(merge(published, own));
    let sections: Sections = merged.try_into().map_err(field)?;
    // A name lives as long as the process, as those of published sets do.
    let set = sections.into_set(Box::leak(head.name.into_boxed_str()), &base);
    if !base.insecure {
        estimated(path, &base, &set)?;
    }
    Ok(set)
}

/// Returns the base's fields with those of a file in their place.
fn merge(mut base: Table, own: Table) -> Table {
    for (key, value) in own {
        let value = match (base.remove(&key), value) {
            (Some(Value::Table(inner)), Value::Table(value)) if !WHOLE.contains(&&*key) => {
                Value::Table(merge(inner, value))
            }
            (_, value) => value,
        };
        base.insert(key, value);
    }
    base
}

/// Checks that the numbers of a file are of the size of the base's.
///
/// Errors: `Far`.
fn near(path: &Path, section: &str, base: &Table, own: &Table) -> Result<(), SetFileError> {
    for (key, value) in own {
        let field = format!("{section}{key}");
        let Some(known) = base.get(key) else {
            continue;
        };
        if let (Value::Table(known), Value::Table(value)) = (known, value) {
            near(path, &format!("{field}."), known, value)?;
            continue;
        }
        let numbers = |value: &Value| match value {
            Value::Array(values) => values.iter().filter_map(number).collect(),
            other => Vec::from_iter(number(other)),
        };
        for (base, found) in numbers(known).into_iter().zip(numbers(value)) {
            if !(base / FACTOR..=base * FACTOR).contains(&found) {
                let path = path.to_owned();
                return Err(SetFileError::Far {
                    path,
                    field,
                    base,
                    found,
                });
            }
        }
    }
    Ok(())
}

fn number(value: &Value) -> Option<f64> {
    let whole = value.as_integer().map(|number| number as f64);
    whole.or(value.as_float())
}

/// Checks that every key whose security no table contains is at least as secure as the base's: larger dimensions and
/// weights, wider errors and smaller moduli are.
///
/// Errors: `Unestimated`.
fn estimated(path: &Path, base: &SetSpec, set: &SetSpec) -> Result<(), SetFileError> {
    let mut least: Vec<(&'static str, f64, f64)> = Vec::new();
    let mut most: Vec<(&'static str, f64, f64)> = Vec::new();
    if let (Some(known), Some(own)) = (&base.sophomr, &set.sophomr) {
        let (opening, changed) = (&known.opening, &own.opening);
        let whole = |number: usize| number as f64;
        least.extend([
            ("sophomr.opening.n", whole(opening.n), whole(changed.n)),
            (
                "sophomr.opening.packing_rank",
                whole(opening.packing_rank),
                whole(changed.packing_rank),
            ),
            (
                "sophomr.opening.packing_sigma",
                opening.packing_sigma,
                changed.packing_sigma,
            ),
            (
                "sophomr.opening.rank",
                whole(opening.rank),
                whole(changed.rank),
            ),
            (
                "sophomr.opening.weight",
                whole(opening.weight),
                whole(changed.weight),
            ),
            (
                "sophomr.embedding_bound",
                known.embedding_bound,
                own.embedding_bound,
            ),
        ]);
        most.extend([
            (
                "sophomr.opening.packing_bits",
                f64::from(opening.packing_bits),
                f64::from(changed.packing_bits),
            ),
            (
                "sophomr.opening.narrow_bits",
                opening.narrow_bits,
                changed.narrow_bits,
            ),
        ]);
    }
    if let (Some(known), Some(own)) = (&base.instantomr, &set.instantomr) {
        least.push(("instantomr.sigma", known.sigma, own.sigma));
        // The switching key hides its secret under that of clues.
        let clue = NarrowGaussian::new(set.clue.instant().sigma).sd() / set.clue.q as f64;
        let switch = f64::from(own.switch_bits).exp2();
        least.push((
            "instantomr.switch_sigma",
            clue * switch * 0.995,
            own.switch_sigma,
        ));
        most.push((
            "instantomr.modulus_bits",
            f64::from(known.modulus_bits),
            f64::from(own.modulus_bits),
        ));
    }
    let unestimated = |field, bound, base, found| {
        let path = path.to_owned();
        Err(SetFileError::Unestimated {
            path,
            field,
            bound,
            base,
            found,
        })
    };
    for (field, base, found) in least {
        if found < base {
            return unestimated(field, "at least", base, found);
        }
    }
    for (field, base, found) in most {
        if found > base {
            return unestimated(field, "at most", base, found);
        }
    }
    Ok(())
}
