use super::trial::{megabytes, program, watched};
use crate::args::{BenchLoad, KeyChoice, LoadPart};
use crate::commands::show;
use crate::error::LabError;
use crate::trials::load::{
    JobFigures, JobLoad, KeyFigures, KeyLoad, Load, LoadFigures, PostFigures, PostLoad,
};
use omr_console::{Ui, thousands};

pub(super) fn run(args: &BenchLoad, ui: &Ui) -> Result<(), LabError> {
    let wants = |part| args.only.is_empty() || args.only.contains(&part);
    let load = Load {
        program: program()?,
        params: args.params.clone(),
        dir: args.dir.clone(),
        posts: wants(LoadPart::Posts).then_some(PostLoad {
            per_second: args.posts_per_second,
            seconds: args.seconds,
            clients: args.clients,
            stream: args.stream,
        }),
        keys: wants(LoadPart::Keys).then_some(KeyLoad {
            count: args.keys,
            instant: args.key_kind != KeyChoice::Bulk,
            bulk: args.key_kind != KeyChoice::Instant,
        }),
        jobs: wants(LoadPart::Jobs).then_some(JobLoad {
            recipients: args.jobs,
            messages: args.job_messages,
        }),
    };
    let figures = watched(ui, |progress| load.run(progress))?;
    show(args.json, &figures, table)?;
    Ok(figures.verdict()?)
}

fn table(figures: &LoadFigures) -> String {
    let mut text = format!("{}\n", figures.params);
    text.extend(figures.posts.iter().map(posts));
    text.extend(figures.keys.iter().map(keys));
    text.extend(figures.jobs.iter().map(jobs));
    text
}

fn posts(figures: &PostFigures) -> String {
    let latency = &figures.latency_ms;
    let read = &figures.read_back;
    let mut text = format!(
        "posts: {} clients by {}, clues of {} bytes, payloads of {} bytes\n\
         \x20 sent           {} at {} a second\n\
         \x20 acknowledged   {} in {:.2} s, {:.1} a second\n\
         \x20 latency        p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, most {:.2} ms\n\
         \x20 server         {:.1} s of processor time, {} MB of memory, {} bytes on disk\n\
         \x20 read back      {} in {:.2} s: {} exact, {} lost, {} doubled, {} misplaced, {} altered\n",
        figures.clients,
        figures.call,
        figures.clue_bytes,
        figures.payload_bytes,
        thousands(figures.sent),
        figures.due_per_second,
        thousands(figures.acknowledged),
        figures.seconds,
        figures.per_second,
        latency.p50,
        latency.p90,
        latency.p99,
        latency.p99_9,
        latency.max,
        figures.server_cpu_s,
        megabytes(figures.server_peak_rss_bytes),
        thousands(figures.disk_bytes),
        thousands(read.messages),
        read.seconds,
        thousands(read.exact),
        read.lost,
        read.doubled,
        read.misplaced,
        read.altered,
    );
    for (reason, count) in &figures.errors {
        text += &format!("  failed         {count}: {reason}\n");
    }
    text
}

fn keys(figures: &KeyFigures) -> String {
    format!(
        "keys: {} {} keys of {} bytes\n\
         \x20 generate       {:.3} s a key\n\
         \x20 upload         {:.3} s a key, {:.1} MB/s\n\
         \x20 register       {:.3} s a key, {:.3} s at most\n\
         \x20 resumed        at {} bytes, after an upload broken off half-way\n\
         \x20 kept           {}\n\
         \x20 server         {:.1} s of processor time, {} MB of memory, {} bytes on disk\n",
        figures.keys,
        figures.kind,
        thousands(figures.key_bytes),
        figures.generate_s,
        figures.upload_s,
        figures.upload_mb_per_s,
        figures.register_s,
        figures.register_max_s,
        thousands(figures.resumed_at_bytes),
        figures.kept,
        figures.server_cpu_s,
        megabytes(figures.server_peak_rss_bytes),
        thousands(figures.disk_bytes),
    )
}

fn jobs(figures: &JobFigures) -> String {
    let mut text = format!(
        "digests: {} recipients at once, {} messages, bound {}, {} pertinent to each\n",
        figures.jobs.len(),
        thousands(figures.messages),
        figures.bound,
        figures.pertinent,
    );
    for job in &figures.jobs {
        let verdict = match &job.error {
            None => "exact",
            Some(error) => error,
        };
        text += &format!(
            "  wait {:>8.2} s, run {:>7.2} s, total {:>8.2} s, {} bytes, {verdict}\n",
            job.wait_s,
            job.run_s,
            job.total_s,
            thousands(job.digest_bytes),
        );
    }
    text += &format!("  all            {:.2} s\n", figures.seconds);
    text += &format!("  first          {:.2} s\n", figures.first_s);
    if let (Some(mean), Some(over)) = (figures.further_mean_s, figures.further_over_first) {
        text += &format!("  further        {mean:.2} s on average, {over:.2} of the first\n");
    }
    text + &format!(
        "  server         {:.1} s of processor time, {} MB of memory\n",
        figures.server_cpu_s,
        megabytes(figures.server_peak_rss_bytes)
    )
}
