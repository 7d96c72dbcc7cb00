//! A server under load: posts at a fixed rate, many keys, many digests at once.

mod jobs;
mod keys;
mod ledger;
pub(crate) mod pool;
mod posts;
pub(crate) mod scene;

pub use jobs::{JobFigures, JobLoad, JobTimes};
pub use keys::{KeyChoice, KeyFigures, KeyLoad};
pub use ledger::ReadBack;
pub use posts::{Latency, PostFigures, PostLoad};

use crate::help;
use crate::trials::{Site, TrialError};
use clap::{Args, ValueEnum};
use omr_protocol::ParamSet;
use scene::{Room, Scene};
use serde::Serialize;

/// A function that receives the name of the current step, its progress and its size.
pub type Progress<'a> = dyn Fn(&str, u64, u64) + 'a;

/// A part of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Posts at a fixed rate
    Posts,
    /// Detection keys
    Keys,
    /// Digests at once
    Jobs,
}

/// A server under load.
#[derive(Clone, Debug, Args)]
#[command(after_help = help::TRIALS)]
pub struct Load {
    /// Parts to run; all unless given; may be given several times
    #[arg(long, value_name = "PART")]
    pub only: Vec<Part>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub posts: PostLoad,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub keys: KeyLoad,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub jobs: JobLoad,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub site: Site,
}

/// The results of the parts.
#[derive(Clone, Debug, Serialize)]
pub struct LoadFigures {
    /// The parameter set of the board.
    pub params: String,
    /// The results of posts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posts: Option<PostFigures>,
    /// The results of keys, by kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyFigures>,
    /// The results of digests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobFigures>,
}

impl Load {
    /// Starts a server, runs the parts one after another and stops it.
    ///
    /// Errors: `Start`, `Io`, `Own`; `Remote` if the server fails outside the posts, whose errors are counted;
    /// `Broken` if it does not stop properly.
    pub fn run(&self, progress: &Progress<'_>) -> Result<LoadFigures, TrialError> {
        let params = &self.site.params;
        let set = ParamSet::named(params).map_err(TrialError::own)?;
        let (posts, keys, jobs) = self.parts();
        let recipients = jobs.map_or(0, |jobs| jobs.recipients);
        let room = Room {
            params: params.clone(),
            board: String::new(),
            keys: keys.map_or(0, KeyLoad::total) + u32::from(recipients) + 1,
            // The server's own limit, unless more are requested.
            digest_messages: jobs.map_or(0, |jobs| jobs.messages).max(1 << 20),
        };
        let mut scene = Scene::new(self.site.dir.as_deref(), &room)?;
        let posters = tokens(&scene, "poster", posts.map_or(0, |posts| posts.clients))?;
        let keeper = scene.token("keeper")?;
        let recipients = tokens(&scene, "recipient", recipients)?;
        scene.start()?;
        let mut figures = LoadFigures {
            params: params.clone(),
            posts: None,
            keys: Vec::new(),
            jobs: None,
        };
        if let Some(posts) = posts {
            figures.posts = Some(posts.run(&scene, &set, &posters, progress)?);
        }
        if let Some(keys) = keys {
            figures.keys = keys.run(&scene, &set, &keeper, progress)?;
        }
        if let Some(jobs) = jobs {
            figures.jobs = Some(jobs.run(&scene, &set, &recipients, progress)?);
        }
        scene.stop()?;
        Ok(figures)
    }

    /// Returns the requested parts.
    fn parts(&self) -> (Option<&PostLoad>, Option<&KeyLoad>, Option<&JobLoad>) {
        let wants = |part| self.only.is_empty() || self.only.contains(&part);
        (
            wants(Part::Posts).then_some(&self.posts),
            wants(Part::Keys).then_some(&self.keys),
            wants(Part::Jobs).then_some(&self.jobs),
        )
    }
}

fn tokens(scene: &Scene, name: &str, count: u16) -> Result<Vec<String>, TrialError> {
    (0..count)
        .map(|number| scene.token(&format!("{name}-{number}")))
        .collect()
}

impl LoadFigures {
    /// Checks that the server kept all its promises.
    ///
    /// Errors: `Broken` with everything that was lost, wrong or refused.
    pub fn verdict(&self) -> Result<(), TrialError> {
        let mut faults = Vec::new();
        faults.extend(self.posts.iter().flat_map(PostFigures::faults));
        faults.extend(self.keys.iter().filter_map(KeyFigures::faults));
        faults.extend(self.jobs.iter().flat_map(JobFigures::faults));
        TrialError::unless_none(&faults)
    }
}

/// Returns a rate; 0 if no time passed.
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}
