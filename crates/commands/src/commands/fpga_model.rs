//! Digests beside the model of an FPGA.

use crate::args::EngineName;
use crate::error::CliError;
use omr_console::{Ui, thousands};
use omr_detector::engine::Engine;
use omr_fpga::blocks::{Blocks, Source};
use omr_fpga::device::Device;
use omr_fpga::engine::{FpgaModel, Report, Reports};
use omr_fpga::paper;
use omr_fpga::predict::Prediction;
use omr_lab::LabError;
use omr_protocol::{EngineKind, ParamSet};
use std::sync::PoisonError;

/// The model beside the processor, if it was asked for.
pub(super) struct Beside(Option<(FpgaModel, Reports)>);

impl Beside {
    /// Explores designs for the set, which takes seconds.
    ///
    /// Errors: `Lab` for a set that the model does not take; `Params` for one without SophOMR.
    pub(super) fn new(name: EngineName, set: &ParamSet) -> Result<Self, CliError> {
        if name != EngineName::FpgaModel {
            return Ok(Self(None));
        }
        let reports = Reports::default();
        let blocks = Blocks::of_repository().map_err(LabError::from)?;
        let model = FpgaModel::new(set.sophomr()?, &blocks, &Device::U55C, &reports);
        Ok(Self(Some((model.map_err(LabError::from)?, reports))))
    }

    /// For SophOMR the processor's engine with the model beside it, if it was asked for.
    pub(super) fn engine(&self, kind: EngineKind) -> Option<Box<dyn Engine>> {
        match &self.0 {
            Some((model, _)) if kind == EngineKind::Sophomr => Some(Box::new(model.clone())),
            _ => None,
        }
    }

    /// What the model wrote of the digest. Warns where SophOMR had no part in it.
    pub(super) fn report(&self, ui: &Ui) -> Option<Report> {
        let (_, reports) = self.0.as_ref()?;
        let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
        let report = reports.pop();
        if report.is_none() {
            ui.warn("the model of an FPGA takes over nothing: SophOMR had no part in this digest");
        }
        report
    }
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
    ui.line(&format!(
        "of the card: DSP {}, LUT {}, FF {}, BRAM {}, URAM {}, HBM {} of its bytes",
        percent(shares.dsp),
        percent(shares.lut),
        percent(shares.ff),
        percent(shares.bram36),
        percent(shares.uram),
        percent(shares.hbm_filled)
    ));
    speedups(ui, report);
    ui.line(&format!(
        "other stages on this processor {:.3} s; digest with the card {:.3} s, new board {:.3} s",
        report.processor_rest_s, report.digest_warm_s, report.digest_cold_s
    ));
}

/// The card against this processor, and the published figure as it can be read.
fn speedups(ui: &Ui, report: &Report) {
    let [one, both] = paper::speedups();
    ui.line(&format!(
        "affine transform on this processor {:.3} s, {:.1} times the card's, {:.1} of a new board",
        report.processor_affine_s, report.speedup_warm, report.speedup_cold
    ));
    ui.line(&format!(
        "published: {:.2} times if 29.8 s are of one product, {:.2} if of both",
        one.separate, both.separate
    ));
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn stages(ui: &Ui, board: &str, prediction: &Prediction) {
    ui.line(&format!(
        "{board:<26} {:>13} {:>10} {:>6} {:>6} {:>6}",
        "cycles", "ms", "DSP", "HBM", "PCIe"
    ));
    for stage in &prediction.stages {
        ui.line(&format!(
            "  {:<24} {:>13} {:>10.2} {:>6} {:>6} {:>6}",
            stage.stage,
            thousands(stage.cycles),
            stage.ms,
            percent(stage.dsp_share),
            percent(stage.hbm_share),
            percent(stage.pcie_share)
        ));
    }
    let cycles = thousands(prediction.cycles);
    ui.line(&format!(
        "  {:<24} {cycles:>13} {:>10.2}",
        "together", prediction.ms
    ));
}
