//! `omr data jobs`: lists the digests that a stopped server has to make.

use super::data::place;
use crate::commands::full::FullError;
use crate::commands::full::data::DataOf;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_server::{StoredJob, drop_jobs, stored_jobs};
use omr_store::Store;

#[derive(clap::Args)]
pub(crate) struct DataJobs {
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Forget the job of this id, or all unfinished jobs: their clients request them again
    #[arg(long, value_name = "ID|all")]
    pub(crate) drop: Option<String>,
    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &DataJobs, ui: &Ui) -> Result<(), CliError> {
    let store = Store::open(&place(&args.of)?)?;
    let jobs = stored_jobs(&store)?;
    let Some(wanted) = &args.drop else {
        return list(&jobs, args.json, ui);
    };
    let dropped: Vec<StoredJob> = match wanted.as_str() {
        "all" => jobs.into_iter().filter(StoredJob::is_unfinished).collect(),
        id => jobs.into_iter().filter(|job| job.id == *id).collect(),
    };
    if dropped.is_empty() && wanted != "all" {
        return Err(FullError::NoJob(wanted.clone()).into());
    }
    drop_jobs(&store, &dropped)?;
    if args.json {
        io::print_json(&dropped)?
    } else {
        ui.announce(&format!("{} jobs dropped", dropped.len()))
    }
    Ok(())
}

fn list(jobs: &[StoredJob], json: bool, ui: &Ui) -> Result<(), CliError> {
    if json {
        return Ok(io::print_json(&jobs)?);
    }
    let done = jobs.iter().filter(|job| job.state == "done").count();
    let mut text = String::new();
    for job in jobs.iter().filter(|job| job.state != "done") {
        let token = match &*job.token {
            "" => "-",
            name => name,
        };
        text += &format!(
            "{}  {:7}  {} attempts failed  {}..{}  {}  {token}  {}\n",
            job.id, job.state, job.attempts, job.start, job.end, job.scheme, job.error
        );
    }
    if text.is_empty() {
        ui.announce(&format!("no unfinished or failed jobs; {done} are done"));
    } else {
        io::print(&text)?;
        ui.announce(&format!("{done} more are done"));
    }
    Ok(())
}
