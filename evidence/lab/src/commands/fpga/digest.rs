//! `omr-lab fpga digest`: a digest of the processor, and the model's engine on the same messages.

use super::blocks;
use crate::commands::bench::{enough_messages, just_pertinent};
use crate::commands::output::Output;
use crate::error::LabError;
use crate::measure::{BenchError, Score, Shape, Start, Workload};
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_client::sophomr::{Recipient, keygen};
use omr_console::args::messages;
use omr_detector::engine::{Answer, Engine, Task, on_cpu};
use omr_fpga::device::Device;
use omr_fpga::engine::{FpgaModel, Report, Reports};
use omr_protocol::sophomr::Digest;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Request, Scheme, Sealing};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::PoisonError;

#[derive(Args)]
pub(crate) struct FpgaDigest {
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = "sophomr-v2")]
    params: String,
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    messages: u64,
    /// Pertinent messages among them
    #[arg(long, value_name = "P", default_value_t = 50)]
    pertinent: usize,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    start: Start,
    /// Cycles of blocks, as `make -C hw full` writes them; those of this build unless given
    #[arg(long, value_name = "FILE")]
    cycles: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Serialize)]
struct Figures {
    digest_bytes: usize,
    /// Whether the model's engine made the digest of the processor, byte for byte.
    same_digest: bool,
    payloads_exact: usize,
    digest_s: f64,
    model: Report,
}

pub(super) fn run(args: &FpgaDigest, out: &Output<'_>) -> Result<(), LabError> {
    enough_messages(args.messages, args.pertinent)?;
    omr_console::start_threads(args.start.threads)?;
    let set = ParamSet::named(&args.params)?;
    let params = set.sophomr()?;
    let mut rng = ChaCha20Rng::seed_from_u64(args.start.seed);
    let keys = keygen(params, ClueKind::Plain, &mut rng);
    let mut key = Vec::new();
    keys.detection
        .write(params, &mut key)
        .map_err(BenchError::from)?;
    let mut board = Workload::new(
        params.clue.clone(),
        keys.clue,
        args.messages,
        args.pertinent,
        args.shape.payload_bytes,
        args.start.seed,
    );
    let mut placement = [0; 32];
    rng.fill_bytes(&mut placement);

    let reports = Reports::default();
    let blocks = blocks(args.cycles.as_deref())?;
    let model = FpgaModel::new(params, &blocks, &Device::U55C, &reports)?;
    let processor = on_cpu(&set, EngineKind::Sophomr, None)?;
    let request = Request::new(
        0..args.messages,
        args.shape.bound,
        Some(args.shape.payload_bytes),
    );
    let mut digest = |engine: &dyn Engine| -> Result<(Answer, Vec<u8>), BenchError> {
        let loaded = engine.load(&mut &key[..])?;
        let task = Task {
            source: &mut board,
            request: request.clone(),
            board_id: [0; 16],
            sealing: Sealing::None,
            seed: placement,
        };
        let bar = out.ui.bar();
        let answer = loaded.answer(Scheme::Sophomr, task, &bar)?;
        let bytes = answer.response.to_bytes(&set)?;
        Ok((answer, bytes))
    };
    let (answer, expected) = digest(&model)?;
    let (_, found) = digest(&*processor)?;

    let decoded = Digest::from_bytes(params, &found)
        .map_err(BenchError::from)
        .and_then(|digest| {
            let recipient = Recipient::new(params.recipient(), &keys.secret);
            Ok(recipient.decode(&digest)?)
        })?;
    let score = Score::new(&board, 0, &decoded);
    let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
    let figures = Figures {
        digest_bytes: found.len(),
        same_digest: expected == found,
        payloads_exact: score.exact,
        digest_s: answer.stages.total(),
        model: reports.pop().ok_or(LabError::NoReport)?,
    };
    out.show(&figures)?;
    just_pertinent(args.pertinent, score.exact, score.false_positives)?;
    if !figures.same_digest {
        return Err(LabError::OtherDigest);
    }
    Ok(())
}
