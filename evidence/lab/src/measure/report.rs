//! A document with every figure of one build on one machine, which can be compared with another.

use crate::measure::{DigestFigures, RecipientsFigures, Setting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the document.
const FORMAT: &str = "omr bench all 1";

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the document.
    pub format: String,
    /// The measured build: its commit, or its version if the commit is unknown.
    pub build: String,
    /// The machine.
    pub machine: Machine,
    /// The work.
    pub setting: Subject,
    /// The mean of all measurements of the yardstick; `None` in builds without it.
    pub yardstick_us: Option<f64>,
    /// Times by name. The name of a digest's stage is that of the digest, a dot, and that of the stage.
    pub figures: BTreeMap<String, Figure>,
    /// Sizes by name.
    pub bytes: BTreeMap<String, u64>,
    /// The number of digests.
    pub digests: u64,
    /// The number of digests with exactly the pertinent messages, bit for bit.
    pub exact: u64,
}

/// The machine on which figures were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The name of the processor.
    pub cpu: String,
    /// The number of cores that the process may use.
    pub cores: usize,
    /// The row operations in use.
    pub kernels: String,
}

/// The measured work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The name of the parameter set.
    pub params: String,
    /// The number of messages on the board.
    pub messages: u64,
    /// The number of pertinent messages.
    pub pertinent: usize,
    /// The bound of the digest.
    pub bound: usize,
    /// The bytes of a payload.
    pub payload_bytes: usize,
    /// The number of threads in use.
    pub threads: usize,
    /// The first seed.
    pub seed: u64,
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Seconds.
    pub seconds: f64,
    /// The time in yardstick NTTs; `None` in builds without the yardstick.
    pub ntts: Option<f64>,
}

/// One figure of two reports. Ratios are new to old.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The name of the figure.
    pub name: String,
    /// Seconds or bytes in the old report, if it has the figure.
    pub old: Option<f64>,
    /// Seconds or bytes in the new report, if it has the figure.
    pub new: Option<f64>,
    /// The ratio of seconds or bytes.
    pub ratio: Option<f64>,
    /// The ratio of yardstick NTTs, if both reports have them.
    pub ntts_ratio: Option<f64>,
}

/// Two reports cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} differs: expected {expected}, found {found}; figures do not compare")]
pub struct Incomparable {
    /// The field that differs.
    pub field: &'static str,
    /// The value in the old report.
    pub expected: String,
    /// The value in the new report.
    pub found: String,
}

impl Subject {
    /// Returns a setting on the threads of this process's pool.
    pub(crate) fn new(params: &str, setting: &Setting, pertinent: usize) -> Self {
        Self {
            params: params.to_owned(),
            messages: setting.messages,
            pertinent,
            bound: setting.shape.bound,
            payload_bytes: setting.shape.payload_bytes,
            threads: rayon::current_num_threads(),
            seed: setting.start.seed,
        }
    }
}

impl Machine {
    /// Returns this machine, with the row operations `kernels`.
    pub fn here(kernels: &str) -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map(|rest| rest.trim_start_matches([' ', '\t', ':']));
        Self {
            cpu: name.unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernels: kernels.to_owned(),
        }
    }
}

impl Report {
    /// Returns an empty report.
    pub fn new(build: &str, machine: Machine, setting: Subject) -> Self {
        Self {
            format: FORMAT.to_owned(),
            build: build.to_owned(),
            machine,
            setting,
            yardstick_us: None,
            figures: BTreeMap::new(),
            bytes: BTreeMap::new(),
            digests: 0,
            exact: 0,
        }
    }

    /// Adds a time, also in NTTs of `yardstick_us`.
    pub fn time(&mut self, name: &str, seconds: f64, yardstick_us: Option<f64>) {
        let ntts = yardstick_us.map(|us| seconds * 1e6 / us);
        let figure = Figure { seconds, ntts };
        self.figures.insert(name.to_owned(), figure);
    }

    /// Adds the times of a digest and its stages as `name`.
    pub fn digest(&mut self, name: &str, run: &DigestFigures) {
        let cost = &run.cost;
        self.time(name, cost.digest_s, cost.yardstick_us);
        for (stage, &seconds) in &cost.stages {
            self.time(&format!("{name}.{stage}"), seconds, cost.yardstick_us);
        }
        self.digests += 1;
        self.exact += u64::from(run.is_exact());
    }

    /// Adds the mean times of digests for several recipients as `name`.
    pub fn recipients(&mut self, name: &str, run: &RecipientsFigures) {
        for (which, seconds) in [
            ("alone", Some(run.digests.alone_s)),
            ("further", run.digests.further_s),
        ] {
            if let Some(seconds) = seconds {
                self.time(&format!("{name}.{which}"), seconds, run.yardstick_us);
            }
        }
        self.digests += run.recipients as u64;
        self.exact += run.exact as u64;
    }

    /// Returns every figure beside its old value. Reports of different builds can be compared, those of different
    /// machines or settings cannot.
    ///
    /// Errors: the field that differs.
    pub fn compare(&self, new: &Self) -> Result<Vec<Compared>, Incomparable> {
        self.comparable(new)?;
        let time = |name: &String| Compared {
            ntts_ratio: {
                let ntts = |report: &Self| report.figures.get(name)?.ntts;
                ntts(new).zip(ntts(self)).map(|(new, old)| new / old)
            },
            ..compared(
                name,
                |report| Some(report.figures.get(name)?.seconds),
                self,
                new,
            )
        };
        let size = |name: &String| {
            let bytes = |report: &Self| report.bytes.get(name).map(|&bytes| bytes as f64);
            compared(name, bytes, self, new)
        };
        let times = names(&self.figures, &new.figures);
        let sizes = names(&self.bytes, &new.bytes);
        Ok(times
            .iter()
            .map(time)
            .chain(sizes.iter().map(size))
            .collect())
    }

    fn comparable(&self, new: &Self) -> Result<(), Incomparable> {
        let same = |field, old: &dyn ToString, new: &dyn ToString| {
            let (expected, found) = (old.to_string(), new.to_string());
            if expected == found {
                Ok(())
            } else {
                Err(Incomparable {
                    field,
                    expected,
                    found,
                })
            }
        };
        same("document format", &self.format, &new.format)?;
        let (a, b) = (&self.machine, &new.machine);
        same("machine", &a.cpu, &b.cpu)?;
        same("number of cores", &a.cores, &b.cores)?;
        same("kernels", &a.kernels, &b.kernels)?;
        let (a, b) = (&self.setting, &new.setting);
        same("parameter set", &a.params, &b.params)?;
        same("number of messages", &a.messages, &b.messages)?;
        same("number of pertinent messages", &a.pertinent, &b.pertinent)?;
        same("bound", &a.bound, &b.bound)?;
        same("payload size", &a.payload_bytes, &b.payload_bytes)?;
        same("number of threads", &a.threads, &b.threads)
    }
}

fn compared(
    name: &str,
    value: impl Fn(&Report) -> Option<f64>,
    old: &Report,
    new: &Report,
) -> Compared {
    let (old, new) = (value(old), value(new));
    Compared {
        name: name.to_owned(),
        old,
        new,
        ratio: new.zip(old).map(|(new, old)| new / old),
        ntts_ratio: None,
    }
}

fn names<T>(old: &BTreeMap<String, T>, new: &BTreeMap<String, T>) -> Vec<String> {
    let mut names: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names
}
