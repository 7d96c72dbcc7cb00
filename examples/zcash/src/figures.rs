//! The figures of a measurement, as JSON and as tables of a page.

use crate::ZcashError;
use crate::relay::Traffic;
use omr_console::thousands;
use omr_protocol::ParamSet;
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// The version of the document.
const FORMAT: &str = "omr zcash costs 1";

/// The costs of a recipient who tries to decrypt everything, and of one with a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The version of the document.
    pub format: String,
    /// The commit that was measured, or the version of the program.
    pub build: String,
    /// The day of the measurement: year, month and day.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// The name of the board's parameter set.
    pub params: String,
    /// Bits of security of the set, estimated.
    pub security_bits: f64,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of payments in these blocks.
    pub payments: u64,
    /// The number of the payments' actions.
    pub actions: u64,
    /// The number of payments to the recipient.
    pub own: u64,
    /// Bytes of a message of the board.
    pub message_bytes: u64,
    /// The number of blocks that the recipient with a board fetched.
    pub fetched_blocks: u64,
    /// Microseconds of processor time of the trial decryption of an action, in one batch of all.
    pub trial_us: f64,
    /// The costs of trial decryption.
    pub trial: Costs,
    /// The costs of making and registering a key for the board's server.
    pub setup: Costs,
    /// The costs of a fetch with the board.
    pub fetch: Costs,
}

/// The machine of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The name of the processor.
    pub cpu: String,
    /// The number of cores that the process may use.
    pub cores: usize,
    /// The row operations in use.
    pub kernels: String,
}

/// The costs of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Bytes of connections to the node.
    pub node: Traffic,
    /// Bytes of connections to the board's server.
    pub board: Traffic,
    /// Seconds of processor time of the recipient.
    pub recipient_s: f64,
    /// Seconds of processor time of the node, the bridge and the board's server.
    pub servers_s: f64,
    /// Seconds until the end of the step.
    pub elapsed_s: f64,
}

impl Machine {
    /// Returns this machine.
    pub(crate) fn here(set: &ParamSet) -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let mut lines = info.lines();
        let name = lines.find_map(|line| line.strip_prefix("model name"));
        let name = name.map(|rest| rest.trim_start_matches([' ', '\t', ':']));
        Self {
            cpu: name.unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernels: set.clue().ring.kernels().name().to_owned(),
        }
    }
}

impl Figures {
    /// Returns the name of the format.
    pub(crate) fn format() -> String {
        FORMAT.to_owned()
    }

    /// Returns this day as year, month and day.
    pub(crate) fn today() -> String {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        now.split_at("2026-01-31".len()).0.to_owned()
    }

    /// Returns the figures as JSON.
    ///
    /// Errors: `Figures`.
    pub fn to_json(&self) -> Result<String, ZcashError> {
        serde_json::to_string_pretty(self).map_err(ZcashError::Figures)
    }

    /// Returns the setting and a table in Markdown.
    pub fn table(&self) -> String {
        let Self {
            trial,
            setup,
            fetch,
            ..
        } = self;
        let bytes = |of: fn(&Costs) -> u64| [of(trial), of(setup), of(fetch)].map(thousands);
        let seconds = |of: fn(&Costs) -> f64| {
            [of(trial), of(setup), of(fetch)].map(|value| format!("{value:.2} s"))
        };
        let rows = [
            ("bytes from the node", bytes(|costs| costs.node.down)),
            ("bytes to the node", bytes(|costs| costs.node.up)),
            (
                "bytes from the board's server",
                bytes(|costs| costs.board.down),
            ),
            ("bytes to the board's server", bytes(|costs| costs.board.up)),
            (
                "processor time of the recipient",
                seconds(|costs| costs.recipient_s),
            ),
            (
                "processor time of all servers",
                seconds(|costs| costs.servers_s),
            ),
            ("time until the end", seconds(|costs| costs.elapsed_s)),
        ];
        let rows: String = rows
            .iter()
            .map(|(name, values)| format!("| {name} | {} |\n", values.join(" | ")))
            .collect();
        let Machine {
            cpu,
            cores,
            kernels,
        } = &self.machine;
        format!(
            "Set `{}` ({:.0} bits of security, estimated); {} blocks with {} payments and {} actions.\n\
             {} of the payments are for the recipient.\n{cpu}, {cores} cores, {kernels} kernels; commit `{}`, {}.\n\n\
             | | trial decryption | board: once | board: a fetch |\n|---|---|---|---|\n{rows}\n\
             Trial decryption alone takes {:.0} us an action. The recipient with a board fetched {} blocks.\n\
             A message of the board has {} bytes.\n",
            self.params,
            self.security_bits,
            thousands(self.blocks),
            thousands(self.payments),
            thousands(self.actions),
            self.own,
            self.build,
            self.date,
            self.trial_us,
            self.fetched_blocks,
            thousands(self.message_bytes),
        )
    }
}
