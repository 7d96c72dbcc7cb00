//! Both sides of a query, as the steps and the trial in one process run them.

use super::plan;
use crate::error::PdqError;
use crate::io::hex;
use crate::progress::Ui;
use omr_client::os_rng;
use omr_pdq::{
    Answer, Client, EncryptedQuery, EvaluationKey, Params, Plan, QueryFileError, Rows, SecretKey,
    Server,
};
use omr_table::{Query, Schema, Table};
use serde::Serialize;
use std::sync::Arc;

/// A client with one question.
pub(super) struct Asker {
    pub(super) params: Arc<Params>,
    pub(super) schema: Schema,
    pub(super) secret: SecretKey,
    pub(super) query: Query,
    pub(super) plan: Plan,
}

impl Asker {
    /// Plans a query and says so.
    pub(super) fn new(
        (params, secret): (Arc<Params>, SecretKey),
        schema: Schema,
        (sql, bound): (&str, Option<u64>),
        ui: &Ui,
    ) -> Result<Self, PdqError> {
        let (query, bound) = super::parse(sql, &schema, bound)?;
        let plan = Plan::new(&params, &schema, &query.shape(), bound)?;
        ui.tell(&plan::words(&params, &schema, &plan));
        Ok(Self {
            params,
            schema,
            secret,
            query,
            plan,
        })
    }

    fn client(&self) -> Client<'_> {
        Client {
            params: &self.params,
            schema: &self.schema,
            secret: &self.secret,
        }
    }

    /// The query's file.
    pub(super) fn encrypt(&self) -> Result<Vec<u8>, PdqError> {
        let sent = self
            .client()
            .encrypt(&self.query, &self.plan, &mut os_rng());
        Ok(sent.to_bytes(&self.params)?)
    }

    /// The rows of an answer's file.
    pub(super) fn decode(&self, answer: &[u8]) -> Result<Rows, PdqError> {
        let answer = Answer::from_bytes(&self.params, &self.plan, answer)?;
        Ok(self.client().decode(&self.plan, &answer)?)
    }
}

/// The rows of the answer to a query's file.
pub(super) fn decode(
    (params, secret): (&Params, &SecretKey),
    schema: &Schema,
    query: &[u8],
    answer: &[u8],
) -> Result<(Plan, Rows), PdqError> {
    let (_, plan) = EncryptedQuery::from_bytes(params, query, |head| {
        let expected = schema.fingerprint();
        if head.schema != expected {
            return Err(QueryFileError::Schema {
                expected: hex(&expected[..8]),
                found: hex(&head.schema[..8]),
            });
        }
        Ok(Plan::new(params, schema, &head.shape, head.bound)?)
    })?;
    let client = Client {
        params,
        schema,
        secret,
    };
    let answer = Answer::from_bytes(params, &plan, answer)?;
    let rows = client.decode(&plan, &answer)?;
    Ok((plan, rows))
}

/// The answer's file.
pub(super) fn answer(
    (params, key): (&Params, &EvaluationKey),
    table: &Table,
    query: &[u8],
    ui: &Ui,
) -> Result<Vec<u8>, PdqError> {
    let server = Server {
        params,
        table,
        placement: super::placement(),
    };
    let (query, plan) = server.read(query)?;
    let bar = ui.bar();
    let answer = server.answer(&query, &plan, key, &|done, blocks| {
        bar.at("answer".into(), done as u64, blocks as u64);
    })?;
    Ok(answer.to_bytes(params)?)
}

/// What a query took.
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
