//! Arguments of `omr worker`.

use super::TokenArg;
use clap::Args;
use omr_console::args::threads;
use omr_cuda::Choice;
use omr_protocol::EngineKind;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct WorkerArgs {
    /// The server whose digests it makes
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Certificate of the server's authority, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Where digests are made: an NVIDIA card, the processor, or (auto) a card where there is one
    #[arg(long, value_name = "WHERE", default_value_t = Choice::Auto)]
    pub(crate) on: Choice,
    /// Threads; all cores unless given
    #[arg(long, value_name = "N", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Keys kept in memory from one run to the next, 0.3 GB each at full size
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) keys: usize,
    /// Memory for messages kept from one run to the next: 0.23 GB a full batch
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = size)]
    pub(crate) messages: usize,
    /// Recipients that one run serves at most; as many as the server puts together unless given
    #[arg(long, value_name = "N")]
    pub(crate) together: Option<u32>,
    /// Make digests with this engine alone, sophomr or instantomr: one machine has memory for it, others have for both
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    pub(crate) engine: Option<EngineKind>,
    /// What the server's log calls it: letters, digits, - _ and .; random unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print the server that it works for as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// What is logged, in the form of RUST_LOG
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log: String,
}

/// Bytes, such as 14GB, 512MB or 0.
fn size(text: &str) -> Result<usize, String> {
    let units = [("GB", 30), ("MB", 20), ("KB", 10), ("", 0)];
    let read = units.iter().find_map(|(unit, bits)| {
        let number: usize = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << bits)
    });
    read.ok_or_else(|| format!("expected a size such as 14GB or 512MB, found {text:?}"))
}

/// An engine by its name in small letters.
fn engine(text: &str) -> Result<EngineKind, String> {
    let name = |kind: EngineKind| kind.title().to_lowercase();
    let named = EngineKind::ALL.into_iter().find(|&kind| name(kind) == text);
    let expected = EngineKind::ALL.map(name).join(" or ");
    named.ok_or_else(|| format!("expected {expected}, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_names() {
        let read = ["sophomr", "instantomr"].map(engine);
        assert_eq!(read, EngineKind::ALL.map(Ok));
        let wrong = engine("hybrid").unwrap_err();
        assert_eq!(wrong, "expected sophomr or instantomr, found \"hybrid\"");
    }

    #[test]
    fn sizes_have_units() {
        let read = ["14GB", "512MB", "3 KB", "7", "0"].map(size);
        let expected = [14 << 30, 512 << 20, 3 << 10, 7, 0];
        assert_eq!(read, expected.map(Ok));
        for wrong in ["", "GB", "-1", "1.5GB", "14 apples", "99999999999999999999"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
