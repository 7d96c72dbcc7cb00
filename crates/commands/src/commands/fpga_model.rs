//! Digests beside the model of an FPGA.

use super::engines;
use crate::error::CliError;
use omr_console::{Ui, thousands};
use omr_detector::engine::Engine;
use omr_fpga::blocks::{Blocks, Source};
use omr_fpga::device::Device;
use omr_fpga::engine::{FpgaModel, Report, Reports};
use omr_fpga::predict::Prediction;
use omr_lab::LabError;
use omr_protocol::{EngineKind, ParamSet};
use std::sync::PoisonError;

/// The engine of a kind: for SophOMR the processor's with the model beside it, which writes to `reports`.
///
/// Errors: `Lab` for a set that the model does not take; `Params`.
pub(super) fn engine(
    set: &ParamSet,
    kind: EngineKind,
    reports: &Reports,
) -> Result<Box<dyn Engine>, CliError> {
    if kind != EngineKind::Sophomr {
        return engines::on_cpu(set, kind);
    }
    let model = || {
        let blocks = Blocks::of_repository()?;
        FpgaModel::new(set.sophomr()?, &blocks, &Device::U55C, reports).map_err(LabError::from)
    };
    Ok(Box::new(model()?))
}

/// What the model wrote of a digest: nothing where SophOMR had no part in it.
pub(super) fn report(reports: &Reports) -> Option<Report> {
    let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
    reports.pop()
}

/// Tells people on standard error.
pub(super) fn tell(ui: &Ui, report: &Report) {
    let source = match report.source {
        Source::Rtl => "measured in RTL",
        Source::Formula => "by formulas",
    };
    ui.line(&format!(
        "FPGA model: cycles of blocks {source}; {} MHz assumed, nothing placed and routed",
        report.clock_hz / 1e6
    ));
    for (board, prediction) in [("known board", &report.warm), ("new board", &report.cold)] {
        stages(ui, board, prediction);
    }
    let shares = &report.warm.shares;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    ui.line(&format!(
        "of the card: DSP {}, BRAM {}, URAM {}, HBM {} of its bytes",
        percent(shares.dsp),
        percent(shares.bram36),
        percent(shares.uram),
        percent(shares.hbm_bytes)
    ));
    ui.line(&format!(
        "affine transform on this processor {:.3} s, the rest {:.3} s; digest with the card {:.3} s, new board {:.3} s",
        report.processor_affine_s, report.processor_rest_s, report.digest_warm_s, report.digest_cold_s
    ));
}

fn stages(ui: &Ui, board: &str, prediction: &Prediction) {
    ui.line(&format!(
        "{board:<26} {:>13} {:>10} {:>6} {:>6}",
        "cycles", "ms", "HBM", "PCIe"
    ));
    for stage in &prediction.stages {
        ui.line(&format!(
            "  {:<24} {:>13} {:>10.2} {:>4.0} % {:>4.0} %",
            stage.stage,
            thousands(stage.cycles),
            stage.ms,
            100.0 * stage.hbm_share,
            100.0 * stage.pcie_share
        ));
    }
    let cycles = thousands(prediction.cycles);
    ui.line(&format!(
        "  {:<24} {cycles:>13} {:>10.2}",
        "together", prediction.ms
    ));
}
