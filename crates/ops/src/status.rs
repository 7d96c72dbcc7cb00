use serde::{Deserialize, Serialize};

/// What a service is doing: the figures of the status page and of `/status.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the software.
    pub version: String,
    /// The board's name, hexadecimal.
    pub board_id: String,
    /// Parameter set of the board.
    pub params_id: String,
    /// When this was written, seconds since 1970.
    pub written_unix_seconds: u64,
    /// How long the service has run.
    pub uptime_seconds: u64,
    /// Whether all is well.
    pub health: Health,
    /// Messages on the board.
    pub messages: u64,
    /// The board's length over the last hours, oldest first.
    pub growth: Vec<Growth>,
    /// Jobs that wait.
    pub queued_jobs: u64,
    /// Whether single digests are listed: who looks often sees when somebody fetched, and how much.
    pub lists_digests: bool,
    /// Jobs that run, where they are listed.
    pub running_jobs: Vec<RunningJob>,
    /// The last digests, newest first, where they are listed.
    pub digests: Vec<FinishedDigest>,
    /// What a message costs the detector.
    pub costs: Vec<Cost>,
    /// Sessions in sum.
    pub sessions: SessionFigures,
    /// What lies on the disk.
    pub disk: Vec<DiskUse>,
    /// Bytes that are left on the disk, where the system tells.
    pub disk_free_bytes: Option<u64>,
}

/// The board's length at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Seconds since 1970.
    pub unix_seconds: u64,
    /// Messages on the board then.
    pub messages: u64,
}

/// A job that runs. Nothing tells whose it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunningJob {
    /// Its scheme.
    pub scheme: String,
    /// What is being done.
    pub stage: String,
    /// Steps of the stage that are done.
    pub stage_done: u64,
    /// Steps that the stage has.
    pub stage_total: u64,
    /// How long it has run.
    pub seconds: f64,
}

/// A digest that was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishedDigest {
    /// Its scheme.
    pub scheme: String,
    /// Messages that were looked at.
    pub messages: u64,
    /// How long it took.
    pub seconds: f64,
}

/// What a message costs the detector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The scheme.
    pub scheme: String,
    /// Milliseconds of the detector's time a message.
    pub milliseconds_a_message: f64,
}

/// Sessions in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Sessions that are open.
    pub open: u64,
    /// Messages that they looked at since the start.
    pub messages: u64,
    /// Messages by which the slowest is behind the board.
    pub lag_messages: u64,
}

/// What a kind of files takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Which files.
    pub kind: String,
    /// Their bytes.
    pub bytes: u64,
}

/// Whether all is well, check by check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Every check is good.
    pub healthy: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
}

impl Health {
    /// Health by these checks.
    pub fn of(checks: Vec<Check>) -> Self {
        Self {
            healthy: checks.iter().all(|check| check.good),
            checks,
        }
    }
}

/// One thing that can be wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// Nothing is wrong.
    pub good: bool,
    /// What was found.
    pub found: String,
}
