//! `omr pdq`: private database queries, thin over `omr-pdq` and `omr-table`.

mod encrypt_table;
mod files;
mod import;
mod keygen;
mod local;
mod plan;
mod query;
mod remote;
mod rows;
mod schema;
mod serve;
mod steps;

use crate::args::Pdq;
use crate::error::{CliError, PdqError};
use omr_console::Ui;
use omr_pdq::{Params, Plan, PlanError, Public, Spec};
use omr_table::{Query, Schema};

pub(super) fn run(command: &Pdq, ui: &Ui) -> Result<(), CliError> {
    match command {
        Pdq::Import(args) => import::run(args, ui),
        Pdq::Schema(args) => schema::run(args, ui),
        Pdq::Keygen(args) => keygen::run(args),
        Pdq::EncryptTable(args) => encrypt_table::run(args, ui),
        Pdq::Plan(args) => plan::run(args),
        Pdq::Query(args) => query::run(args, ui),
        Pdq::Encrypt(args) => steps::encrypt(args, ui),
        Pdq::Answer(args) => steps::answer(args, ui),
        Pdq::Decode(args) => steps::decode(args, ui),
        Pdq::Serve(args) => serve::run(args, ui),
    }
}

/// A query and its bound: the one given, else its LIMIT, else 16.
fn parse(sql: &str, schema: &Schema, bound: Option<u64>) -> Result<(Query, usize), PdqError> {
    let (query, limit) = Query::parse(sql, schema)?;
    Ok((query, omr_pdq::plan::bound(bound.or(limit))?))
}

/// Plans a query.
///
/// Errors: those of the plan; where the set is not deep enough for a table in the clear, with the set that is.
fn planned(
    public: &Public,
    params: &Params,
    query: &Query,
    bound: usize,
) -> Result<Plan, PdqError> {
    let shape = query.shape();
    let plan = public.plan(params, &shape, bound);
    let Err(error @ PlanError::Depth(_)) = plan else {
        return Ok(plan?);
    };
    let is_clear = matches!(public, Public::Clear(_));
    let sets = Spec::ALL
        .into_iter()
        .filter(|set| is_clear && !params.two_sided() && set.insecure == params.spec().insecure);
    for set in sets {
        if public
            .plan(&*files::params(set.name)?, &shape, bound)
            .is_ok()
        {
            return Err(PdqError::Deeper(error, set.name));
        }
    }
    Err(error.into())
}

/// Warns of comparisons that hold for no row.
fn warn_of_null(sql: &str, ui: &Ui) {
    if compares_null(sql) {
        ui.warn(
            "nothing equals NULL, so that `= NULL` holds for no row: IS NULL finds absent values",
        );
    }
}

fn compares_null(sql: &str) -> bool {
    // Between quotes stand texts.
    let outside: Vec<&str> = sql.split('\'').step_by(2).collect();
    let outside = outside.join("' '").to_ascii_uppercase();
    let words: Vec<&str> = outside.split_whitespace().collect();
    let joined = words.join(" ");
    ["=", "<>", "!=", "<", ">"].iter().any(|operator| {
        [format!("{operator} NULL"), format!("{operator}NULL")]
            .iter()
            .any(|comparison| joined.contains(comparison.as_str()))
    })
}

/// A place of rows that nobody but chance chose.
fn placement() -> [u8; 32] {
    let mut seed = [0; 32];
    rand_core::Rng::fill_bytes(&mut omr_client::os_rng(), &mut seed);
    seed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_with_null_are_noticed() {
        for sql in [
            "WHERE age = NULL",
            "where age<>null",
            "WHERE a = 1 AND NOT b >=  null",
        ] {
            assert!(compares_null(sql), "{sql}");
        }
        for sql in [
            "WHERE age IS NULL",
            "WHERE a = 'x = NULL'",
            "WHERE a IN (1, NULL)",
        ] {
            assert!(!compares_null(sql), "{sql}");
        }
    }
}
