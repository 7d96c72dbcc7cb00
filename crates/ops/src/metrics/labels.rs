//! The label sets of the metrics, and the names of gRPC codes.

use prometheus_client::encoding::EncodeLabelSet;

/// Labels of requests.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct RequestLabel {
    pub(super) method: &'static str,
    pub(super) code: &'static str,
}

/// The engine that makes digests.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct EngineLabel {
    pub(super) engine: &'static str,
    /// The card's name by its driver; empty for the processor.
    pub(super) card: String,
}

/// A set of one label.
macro_rules! label {
    ($($name:ident { $field:ident })*) => {
        $(
            #[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
            pub(super) struct $name {
                pub(super) $field: &'static str,
            }
        )*
    };
}

label! {
    MethodLabel { method }
    ReasonLabel { reason }
    KindLabel { kind }
    StateLabel { state }
    OutcomeLabel { outcome }
    SchemeLabel { scheme }
    StageLabel { stage }
}

/// Names of the codes 0 to 16 of gRPC.
const CODES: [&str; 17] = [
    "ok",
    "cancelled",
    "unknown",
    "invalid_argument",
    "deadline_exceeded",
    "not_found",
    "already_exists",
    "permission_denied",
    "resource_exhausted",
    "failed_precondition",
    "aborted",
    "out_of_range",
    "unimplemented",
    "internal",
    "unavailable",
    "data_loss",
    "unauthenticated",
];

/// The name of a gRPC code, such as `not_found` for 5; `unknown` for numbers that are none.
pub fn grpc_code_name(code: i32) -> &'static str {
    usize::try_from(code)
        .ok()
        .and_then(|code| CODES.get(code).copied())
        .unwrap_or("unknown")
}
