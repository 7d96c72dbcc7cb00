//! Both sides of a query, for single steps and for the trial in one process.

use super::{Bounded, plan};
use crate::commands::full::PdqError;
use omr_client::os_rng;
use omr_console::Ui;
use omr_pdq::{
    Answer, Client, EncryptedQuery, EvaluationKey, Hosted, Params, Plan, Public, Rows, SecretKey,
};
use omr_table::Query;
use serde::Serialize;
use std::sync::Arc;

/// A client with one question.
pub(super) struct Asker {
    pub(super) params: Arc<Params>,
    pub(super) public: Public,
    pub(super) secret: SecretKey,
    pub(super) query: Query,
    pub(super) plan: Plan,
}

impl Asker {
    /// Plans a query and prints the plan.
    pub(super) fn new(
        params: Arc<Params>,
        secret: SecretKey,
        public: Public,
        asked: Bounded,
        ui: &Ui,
    ) -> Result<Self, PdqError> {
        let plan = super::planned(&public, &params, &asked)?;
        ui.announce(&plan::words(&params, public.schema(), &plan));
        Ok(Self {
            params,
            public,
            secret,
            query: asked.query,
            plan,
        })
    }

    fn client(&self) -> Client<'_> {
        Client::new(&self.params, self.public.schema(), &self.secret)
    }

    /// Encrypts the query into a file.
    pub(super) fn encrypt(&self) -> Result<Vec<u8>, PdqError> {
        let sent = self
            .client()
            .encrypt(&self.query, &self.plan, &mut os_rng());
        Ok(sent.to_bytes(&self.params)?)
    }

    /// Decodes the rows in an answer's file.
    pub(super) fn decode(&self, answer: &[u8]) -> Result<Rows, PdqError> {
        let parsed = Answer::from_bytes(&self.params, &self.plan, answer)?;
        Ok(self.client().decode(&self.plan, &parsed)?)
    }
}

/// Decodes the rows in the answer to a query's file.
pub(super) fn decode(
    params: &Params,
    secret: &SecretKey,
    public: &Public,
    query: &[u8],
    answer: &[u8],
) -> Result<(Plan, Rows), PdqError> {
    let (_, plan) = EncryptedQuery::from_bytes(params, query, |head| {
        head.expect_schema(public.schema())?;
        Ok(public.plan(params, &head.shape, head.bound)?)
    })?;
    let client = Client::new(params, public.schema(), secret);
    let parsed = Answer::from_bytes(params, &plan, answer)?;
    let rows = client.decode(&plan, &parsed)?;
    Ok((plan, rows))
}

/// Answers a query's file.
pub(super) fn answer(
    params: &Params,
    key: &EvaluationKey,
    table: &Hosted,
    query: &[u8],
    ui: &Ui,
) -> Result<Vec<u8>, PdqError> {
    let (parsed, plan) = table.read(params, query)?;
    let bar = ui.bar();
    let progress = |done: usize, blocks: usize| bar.at("answer".into(), done as u64, blocks as u64);
    Ok(table.answer(params, &parsed, &plan, key, &progress)?)
}

/// The cost of a query.
#[derive(Default, Serialize)]
pub(super) struct Figures {
    pub(super) params: &'static str,
    pub(super) bound: usize,
    pub(super) rows: usize,
    pub(super) query_bytes: usize,
    pub(super) answer_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_bytes_sent: Option<u64>,
    pub(super) keys_s: f64,
    pub(super) encrypt_s: f64,
    pub(super) answer_s: f64,
    pub(super) decode_s: f64,
}
