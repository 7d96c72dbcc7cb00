//! Private database queries: a thin layer over `omr-pdq` and `omr-table`, for Python's module `omr.pdq`.

mod keys;
mod query;
mod rows;
mod server;
mod table;

pub(crate) use keys::{EvaluationKey, Keys};
pub(crate) use query::Query;
pub(crate) use rows::Rows;
pub(crate) use server::Server;
pub(crate) use table::{Schema, Table};

use crate::running::Watch;
use omr_detector::Progress;

impl omr_pdq::Progress for Watch {
    fn blocks(&self, done: usize, blocks: usize) {
        self.at("answer", done as u64, blocks as u64);
    }

    fn is_stopped(&self) -> bool {
        Progress::is_stopped(self)
    }
}
