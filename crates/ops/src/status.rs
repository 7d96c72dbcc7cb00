//! The figures of a service, as the status page and `/status.json` show them.

use serde::{Deserialize, Serialize};

/// The state of a service: the figures of the status page and of `/status.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the software.
    pub version: String,
    /// Profile, system and instruction set of the build.
    pub build: String,
    /// Address of the source code.
    pub source: String,
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
    /// Messages on the board, those that have expired among them.
    pub messages: u64,
    /// The first message that is kept.
    pub first_index: u64,
    /// Days after which messages expire; 0: never.
    pub expire_days: u64,
    /// The board's length over the last hours, oldest first.
    pub growth: Vec<Growth>,
    /// The figures of posts.
    pub posting: PostingFigures,
    /// The figures of what clients use.
    pub in_use: UseFigures,
    /// Whether single digests are listed: an observer who looks often then sees the time and size of each fetch.
    pub lists_digests: bool,
    /// Jobs that run, where they are listed.
    pub running_jobs: Vec<RunningJob>,
    /// The last digests, newest first, where they are listed.
    pub digests: Vec<FinishedDigest>,
    /// The costs of a message for the detector, as configured; not measured.
    pub configured_costs: Vec<Cost>,
    /// Whether the page for letters is below, at `mail/`.
    pub mail: bool,
}

/// The board's length at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Seconds since 1970.
    pub unix_seconds: u64,
    /// Messages on the board then.
    pub messages: u64,
    /// Posts that the service had taken since its start.
    pub posts: u64,
}

/// Something of a kind, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The kind, a name known when the program is compiled.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// Posts, which everybody sees on the board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostingFigures {
    /// The rate over the last minute.
    pub minute: Rate,
    /// The rate over the last hour.
    pub hour: Rate,
    /// Refused since the start, by gRPC code.
    pub refused: Vec<Count>,
}

/// Posts of some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// The time in milliseconds: less than a whole minute or hour after the start.
    pub milliseconds: u64,
    /// Posts acknowledged in it.
    pub posts: u64,
    /// Messages in those.
    pub messages: u64,
}

/// Sums of what clients use. A service with few clients updates them seldom, so that nobody sees
/// when one of them fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseFigures {
    /// When this was counted, seconds since 1970.
    pub counted_unix_seconds: u64,
    /// Seconds until it is counted again; 0: it is of the moment.
    pub every_seconds: u64,
    /// Jobs.
    pub jobs: JobFigures,
    /// Keys that are registered.
    pub keys: u64,
    /// Bytes of keys on the disk or in the bucket.
    pub key_bytes: u64,
    /// Sessions in sum.
    pub sessions: SessionFigures,
    /// Calls that were refused or failed since the start, by gRPC code.
    pub refused: Vec<Count>,
    /// Bytes in memory; `None` where the system does not report them.
    pub memory_bytes: Option<u64>,
    /// The most bytes of memory there may be.
    pub memory_limit_bytes: Option<u64>,
    /// The use of the disk.
    pub disk: Vec<DiskUse>,
    /// Bytes free on the disk; `None` where the system does not report them.
    pub disk_free_bytes: Option<u64>,
}

/// Jobs: those that are not finished, and those that ended since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFigures {
    /// Jobs that wait.
    pub waiting: u64,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that gave a digest.
    pub done: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// Jobs that were cancelled while they ran.
    pub cancelled: u64,
}

/// A job that runs, without its owner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunningJob {
    /// The scheme of the job.
    pub scheme: String,
    /// The stage of the work.
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
    /// The scheme of the digest.
    pub scheme: String,
    /// Messages that were looked at.
    pub messages: u64,
    /// How long it took.
    pub seconds: f64,
}

/// The cost of a message for the detector, as configured.
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

/// The disk space of one kind of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// The kind of the files.
    pub kind: String,
    /// The size of these files in bytes.
    pub bytes: u64,
}

/// Whether all is well, check by check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Every check is good.
    pub healthy: bool,
    /// The checks that were made.
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
    /// The name of the check.
    pub name: String,
    /// Whether nothing is wrong.
    pub good: bool,
    /// The state that was found.
    pub found: String,
}
