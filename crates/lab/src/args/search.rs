//! Arguments of `omr params search`.

use clap::Args;
use omr_console::args::{bound, messages, payload_bytes};
use omr_protocol::Scheme;
use omr_protocol::params::DEFAULT;

#[derive(Args)]
#[allow(missing_docs, reason = "clap would show it as help")]
pub struct ParamsSearch {
    /// sophomr or instantomr
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::Sophomr)]
    pub(crate) scheme: Scheme,
    /// A few sets around the default
    #[arg(long)]
    pub(crate) quick: bool,
    /// Make a digest of this set and compare its stages with the model
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = DEFAULT)]
    pub(crate) check: Option<String>,
    /// Pertinent messages that the digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Messages that the digest covers
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub(crate) messages: u64,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
