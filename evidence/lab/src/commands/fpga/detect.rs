//! `omr-lab fpga detect`: detection of pertinent messages on the processor, with the model's prediction for the card.

use super::blocks;
use crate::commands::bench::{enough_messages, just_pertinent};
use crate::commands::output::Output;
use crate::error::LabError;
use crate::measure::{BenchError, Start, Workload};
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_bgv::Decryptor;
use omr_console::args::messages;
use omr_detector::{DetectorError, MessageSource};
use omr_fpga::device::Device;
use omr_fpga::engine::{FpgaModel, Report};
use omr_papers::clear::{PaperParams, Params, Spec};
use omr_papers::client::ring_keys;
use omr_papers::detector::{ClueBatch, PaperDetector};
use omr_protocol::{Clue, ClueKind, Placement};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Args)]
pub(crate) struct FpgaDetect {
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = Spec::SOPHOMR)]
    params: String,
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    messages: u64,
    /// Pertinent messages among them
    #[arg(long, value_name = "P", default_value_t = 50)]
    pertinent: usize,
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
    /// The number of pertinent messages that were found.
    found: usize,
    false_positives: usize,
    model: Report,
}

pub(super) fn run(args: &FpgaDetect, out: &Output<'_>) -> Result<(), LabError> {
    enough_messages(args.messages, args.pertinent)?;
    omr_console::start_threads(args.start.threads)?;
    let params = Arc::new(Params::named(&args.params)?);
    let mut rng = ChaCha20Rng::seed_from_u64(args.start.seed);
    let keys = ring_keys(&params, ClueKind::Plain, &mut rng);
    let (address, seed) = (keys.clue, args.start.seed);
    let mut board = Workload::new(
        params.clue.clone(),
        address,
        args.messages,
        args.pertinent,
        1,
        seed,
    );
    let mut placed = [0; 32];
    rng.fill_bytes(&mut placed);
    let slots = params.slots();
    let mut placements = Vec::new();
    let mut batches = Vec::new();
    for (number, first) in (0..args.messages).step_by(slots).enumerate() {
        let end = args.messages.min(first + slots as u64);
        let clues = board
            .clues(first..end)
            .map_err(|error| BenchError::Detector(DetectorError::Source(error)))?;
        let placement = Placement::new(&placed, number, slots);
        let bytes = Clue::bytes(&params.clue);
        batches.push(ClueBatch::new(&params, &placement, clues, bytes));
        placements.push(placement);
    }
    let set_params = PaperParams::of_ring(params.clone());
    let detector = PaperDetector::new(Arc::new(set_params), keys.detection);
    let blocks = blocks(args.cycles.as_deref())?;
    let model = FpgaModel::new(&detector, &blocks, &Device::U55C)?;
    let detected = out.under_bar(|bar| model.detect(&batches, bar));
    let (vectors, report) = detected.map_err(BenchError::from)?;

    let decryptor = Decryptor {
        ring: &params.ring,
        plain: &params.plain,
        secret: &keys.large,
    };
    let (mut found, mut false_positives) = (0, 0);
    for (batch, (vector, placement)) in vectors.iter().zip(&placements).enumerate() {
        let ones = decryptor.decrypt(vector);
        let hits = ones.iter().zip(placement.messages());
        for (_, &message) in hits.filter(|(one, _)| **one == 1) {
            let index = (batch * slots) as u64 + u64::from(message);
            if board.pertinent().binary_search(&index).is_ok() {
                found += 1;
            } else {
                false_positives += 1;
            }
        }
    }
    out.show(&Figures {
        found,
        false_positives,
        model: report,
    })?;
    just_pertinent(args.pertinent, found, false_positives)
}
