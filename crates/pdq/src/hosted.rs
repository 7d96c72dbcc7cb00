//! A table on a server, in the clear or encrypted, with its public description for clients.

use crate::keys::EvaluationKey;
use crate::{
    EncryptedHead, EncryptedQuery, EncryptedServer, EncryptedTable, Params, Plan, PlanError,
    Progress, QueryFileError, QueryHead, Server, ServerError, TableFileError,
};
use chacha20::ChaCha20Rng;
use omr_protocol::Mismatch;
use omr_protocol::frame::is_frame;
use omr_table::{Schema, Shape, Table};
use rand_core::SeedableRng;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The public description of a table, from which a client plans queries.
#[derive(Clone, Debug, PartialEq)]
pub enum Public {
    /// The schema of a table in the clear.
    Clear(Schema),
    /// The schema of an encrypted table, and the masks that it contains.
    Encrypted(EncryptedHead),
}

impl Public {
    /// The schema.
    pub fn schema(&self) -> &Schema {
        match self {
            Self::Clear(schema) => schema,
            Self::Encrypted(head) => &head.schema,
        }
    }

    /// The plan of a query. Errors: those of [`Plan::new`] and [`Plan::encrypted`].
    pub fn plan(&self, params: &Params, shape: &Shape, bound: usize) -> Result<Plan, PlanError> {
        match self {
            Self::Clear(schema) => Plan::new(params, schema, shape, bound),
            Self::Encrypted(head) => Plan::encrypted(params, head, shape, bound),
        }
    }

    /// Returns the description as JSON.
    pub fn to_json(&self) -> String {
        match self {
            Self::Clear(schema) => schema.to_json(),
            Self::Encrypted(head) => serde_json::to_string_pretty(head).expect("plain data"),
        }
    }

    /// Reads either. An encrypted table's part that does not fit a parameter set is refused when it is planned with.
    ///
    /// Errors: what a schema may not be.
    pub fn from_json(json: &[u8]) -> Result<Self, PlanError> {
        if let Ok(head) = serde_json::from_slice::<EncryptedHead>(json) {
            head.schema.check()?;
            return Ok(Self::Encrypted(head));
        }
        Ok(Self::Clear(Schema::from_json(json)?))
    }
}

/// A table and what is needed to answer from it.
pub enum Hosted {
    /// Rows that the server reads.
    Clear {
        /// The table.
        table: Table,
        /// The seed of where rows lie in their blocks.
        placement: [u8; 32],
    },
    /// Rows that it does not.
    Encrypted {
        /// The parameters that it was encrypted with.
        params: Arc<Params>,
        /// The table.
        table: EncryptedTable,
    },
}

impl Hosted {
    /// Reads a table's file of either kind; an encrypted one may have `max_bytes`. `placement`: of a table in the clear.
    ///
    /// Errors: what is wrong with the file.
    pub fn open(path: &Path, placement: [u8; 32], max_bytes: u64) -> Result<Self, TableFileError> {
        let mut magic = Vec::new();
        File::open(path)?.take(4).read_to_end(&mut magic)?;
        if !is_frame(&magic) {
            let table = Table::open(path)?;
            return Ok(Self::Clear { table, placement });
        }
        let from = BufReader::new(File::open(path)?);
        let (params, table) = EncryptedTable::read_any(from, max_bytes)?;
        Ok(Self::Encrypted { params, table })
    }

    /// Returns the public description, which clients receive.
    pub fn public(&self) -> Public {
        match self {
            Self::Clear { table, .. } => Public::Clear(table.schema().clone()),
            Self::Encrypted { table, .. } => Public::Encrypted(table.head.clone()),
        }
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        match self {
            Self::Clear { table, .. } => table.schema(),
            Self::Encrypted { table, .. } => &table.head.schema,
        }
    }

    /// Returns the plan of a query that arrived.
    ///
    /// Errors: a schema or parameters other than the table's; the errors of planning.
    pub fn plan(&self, params: &Params, head: &QueryHead) -> Result<Plan, QueryFileError> {
        match self {
            Self::Clear { table, placement } => clear(params, table, placement).plan(head),
            Self::Encrypted { params: own, table } => encrypted(params, own, table)?.plan(head),
        }
    }

    /// Reads a query's file. Errors: the errors of [`EncryptedQuery::from_bytes`] and [`Hosted::plan`].
    pub fn read(
        &self,
        params: &Params,
        bytes: &[u8],
    ) -> Result<(EncryptedQuery, Plan), QueryFileError> {
        EncryptedQuery::from_bytes(params, bytes, |head| self.plan(params, head))
    }

    /// The answer's file.
    ///
    /// Errors: a key other than the query's, or than an encrypted table's; `Stopped`.
    pub fn answer(
        &self,
        params: &Params,
        query: &EncryptedQuery,
        plan: &Plan,
        key: &EvaluationKey,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>, ServerError> {
        let answer = match self {
            Self::Clear { table, placement } => {
                clear(params, table, placement).answer(query, plan, key, &mut rng()?, progress)?
            }
            Self::Encrypted { params: own, table } => {
                encrypted(params, own, table)?.answer(query, plan, key, progress)?
            }
        };
        Ok(answer.to_bytes(params)?)
    }
}

/// Seeded by the operating system.
fn rng() -> Result<ChaCha20Rng, ServerError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(ServerError::NoRandomness)?;
    let rng = ChaCha20Rng::from_seed(seed);
    zeroize::Zeroize::zeroize(&mut seed);
    Ok(rng)
}

fn clear<'a>(params: &'a Params, table: &'a Table, placement: &[u8; 32]) -> Server<'a> {
    Server::new(params, table, *placement)
}

/// Errors: unless both are the same set.
fn encrypted<'a>(
    params: &'a Params,
    own: &Params,
    table: &'a EncryptedTable,
) -> Result<EncryptedServer<'a>, QueryFileError> {
    if params.name() == own.name() {
        Ok(EncryptedServer { params, table })
    } else {
        Err(QueryFileError::Params(Mismatch::new(
            own.name(),
            params.name(),
        )))
    }
}
