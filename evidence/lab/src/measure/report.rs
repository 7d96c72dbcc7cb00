//! The figures of one build on one machine, as one document that compares with another.

use crate::measure::Setting;
use crate::measure::builds::{Figures, times_and_sizes};
use omr_protocol::{ParamSet, ParamsError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// The version of the document.
const FORMAT: &str = "omr bench all 1";

/// The document that `omr-lab bench all --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the document.
    pub format: String,
    /// The commit that was measured, or the version of the program if the commit is unknown.
    pub build: String,
    /// The day of the run: year, month and day.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// The parameter set of the digests.
    pub set: Rates,
    /// The measurements, in the order in which they ran.
    pub measurements: Vec<Measurement>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The name of the measurement.
    pub name: String,
    /// The command that ran, without its program.
    pub command: String,
    /// The object that the command printed.
    pub figures: Value,
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

/// The promises of a parameter set with both engines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// The name of the set.
    pub params: String,
    /// Bits of security.
    pub security_bits: f64,
    /// The base-2 logarithm of the probability that an engine misses a message; the larger one of both engines.
    pub miss_log2: f64,
    /// The base-2 logarithm of the probability that a stranger's message passes; the larger one of both engines.
    pub false_positive_log2: f64,
}

/// The setting of a measurement of digests.
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

/// One figure of two reports. The ratio is new to old.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The name of the measurement and of its figure, with a dot between them.
    pub name: String,
    /// The value in the old report, if it has the figure.
    pub old: Option<f64>,
    /// The value in the new report, if it has the figure.
    pub new: Option<f64>,
    /// The ratio, if both reports have the figure and the old one is not 0.
    pub ratio: Option<f64>,
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

impl Rates {
    /// Returns the promises of a set with both engines.
    ///
    /// Errors: `NoEngine`.
    pub fn of(set: &ParamSet) -> Result<Self, ParamsError> {
        let (bulk, instant) = (set.sophomr()?.spec(), set.instantomr()?);
        Ok(Self {
            params: set.name().to_owned(),
            security_bits: set.spec().security_bits(),
            miss_log2: bulk.miss_log2().max(instant.miss_log2()),
            false_positive_log2: bulk
                .false_positive_log2()
                .max(instant.false_positive_log2()),
        })
    }
}

impl Report {
    /// Returns a report without measurements. `build` names the build, `date` is a year, month and day.
    pub fn new(build: &str, date: &str, machine: Machine, set: Rates) -> Self {
        Self {
            format: FORMAT.to_owned(),
            build: build.to_owned(),
            date: date.to_owned(),
            machine,
            set,
            measurements: Vec::new(),
        }
    }

    /// Returns all times and sizes, each with the names of its measurement and of the figure.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures::new();
        for measurement in &self.measurements {
            times_and_sizes(&measurement.name, &measurement.figures, &mut figures);
        }
        figures
    }

    /// Compares every figure with that of a newer report. Reports of different builds can be compared; those of
    /// different machines or measurements cannot.
    ///
    /// Errors: the field that differs.
    pub fn compare(&self, new: &Self) -> Result<Vec<Compared>, Incomparable> {
        self.comparable(new)?;
        let (old, new) = (self.figures(), new.figures());
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let compared = |name: &String| {
            let (old, new) = (old.get(name).copied(), new.get(name).copied());
            let ratio = new.zip(old.filter(|old| *old != 0.0));
            Compared {
                name: name.clone(),
                old,
                new,
                ratio: ratio.map(|(new, old)| new / old),
            }
        };
        Ok(names.into_iter().map(compared).collect())
    }

    fn comparable(&self, new: &Self) -> Result<(), Incomparable> {
        let commands = |report: &Self| {
            let of = |one: &Measurement| one.command.clone();
            report.measurements.iter().map(of).collect::<Vec<_>>()
        };
        same("document format", &self.format, &new.format)?;
        same("machine", &self.machine.cpu, &new.machine.cpu)?;
        same("number of cores", &self.machine.cores, &new.machine.cores)?;
        same("kernels", &self.machine.kernels, &new.machine.kernels)?;
        same("parameter set", &self.set.params, &new.set.params)?;
        for (old, new) in commands(self).iter().zip(&commands(new)) {
            same("measurement", old, new)?;
        }
        same(
            "number of measurements",
            &self.measurements.len(),
            &new.measurements.len(),
        )
    }
}

fn same(field: &'static str, old: &dyn ToString, new: &dyn ToString) -> Result<(), Incomparable> {
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
}
