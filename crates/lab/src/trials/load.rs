//! A server under load: posts at a fixed rate, many keys, many digests at once.

pub(crate) mod command;
mod jobs;
mod keys;
mod ledger;
pub(crate) mod pool;
mod posts;
pub(crate) mod scene;

pub use jobs::{JobFigures, JobLoad, JobTimes};
pub use keys::{KeyFigures, KeyLoad};
pub use ledger::ReadBack;
pub use posts::{Latency, PostFigures, PostLoad};

use crate::trials::TrialError;
use omr_protocol::ParamSet;
use scene::{Room, Scene};
use serde::Serialize;
use std::path::PathBuf;

/// Told what is being done, how much of it is, and how much there is.
pub type Progress<'a> = dyn Fn(&str, u64, u64) + 'a;

/// A server under load; parts that are absent are left out.
#[derive(Clone, Debug)]
pub struct Load {
    /// The program `omr`.
    pub program: PathBuf,
    /// Parameter set of the board.
    pub params: String,
    /// Where its folder is made; the system's temporary one if absent.
    pub dir: Option<PathBuf>,
    /// Posts at a fixed rate.
    pub posts: Option<PostLoad>,
    /// Keys.
    pub keys: Option<KeyLoad>,
    /// Digests at once.
    pub jobs: Option<JobLoad>,
}

/// What the parts measured.
#[derive(Clone, Debug, Serialize)]
pub struct LoadFigures {
    /// Parameter set of the board.
    pub params: String,
    /// Posts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posts: Option<PostFigures>,
    /// Keys, kind by kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyFigures>,
    /// Digests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobFigures>,
}

impl Load {
    /// Starts a server, runs the parts one after another and stops it.
    ///
    /// Errors: `Start`, `Io`, `Own`; `Remote` where the server fails outside the posts, whose errors are
    /// counted; `Broken` where it does not stop in order.
    pub fn run(&self, progress: &Progress<'_>) -> Result<LoadFigures, TrialError> {
        let set = ParamSet::named(&self.params).map_err(TrialError::own)?;
        let recipients = self.jobs.as_ref().map_or(0, |jobs| jobs.recipients);
        let room = Room {
            params: self.params.clone(),
            keys: self.keys.as_ref().map_or(0, KeyLoad::total) + u32::from(recipients) + 1,
            // The server's own limit, unless more are asked for.
            digest_messages: self
                .jobs
                .as_ref()
                .map_or(0, |jobs| jobs.messages)
                .max(1 << 20),
        };
        let mut scene = Scene::new(&self.program, self.dir.as_deref(), room)?;
        let posters = self.posts.as_ref().map_or(0, |posts| posts.clients);
        let posters = tokens(&scene, "poster", posters)?;
        let keeper = scene.token("keeper")?;
        let recipients = tokens(&scene, "recipient", recipients)?;
        scene.start()?;
        let mut figures = LoadFigures {
            params: self.params.clone(),
            posts: None,
            keys: Vec::new(),
            jobs: None,
        };
        if let Some(posts) = &self.posts {
            figures.posts = Some(posts.run(&scene, &set, &posters, progress)?);
        }
        if let Some(keys) = &self.keys {
            figures.keys = keys.run(&scene, &set, &keeper, progress)?;
        }
        if let Some(jobs) = &self.jobs {
            figures.jobs = Some(jobs.run(&scene, &set, &recipients, progress)?);
        }
        scene.stop()?;
        Ok(figures)
    }
}

fn tokens(scene: &Scene, name: &str, count: u16) -> Result<Vec<String>, TrialError> {
    (0..count)
        .map(|number| scene.token(&format!("{name}-{number}")))
        .collect()
}

impl LoadFigures {
    /// Whether the server kept all its promises.
    ///
    /// Errors: `Broken` with all that was lost, wrong or refused.
    pub fn verdict(&self) -> Result<(), TrialError> {
        let mut faults = Vec::new();
        faults.extend(self.posts.iter().flat_map(PostFigures::faults));
        faults.extend(self.keys.iter().filter_map(KeyFigures::faults));
        faults.extend(self.jobs.iter().flat_map(JobFigures::faults));
        match faults.is_empty() {
            true => Ok(()),
            false => Err(TrialError::Broken(faults.join("; "))),
        }
    }
}

/// A rate; 0 for no time.
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    match seconds > 0.0 {
        true => count as f64 / seconds,
        false => 0.0,
    }
}
