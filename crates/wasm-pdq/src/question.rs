//! Queries: parsing, planning, encrypting, and decoding of answers.

use crate::error::{of_answer, of_plan, of_query, other};
use crate::keys::rng;
use crate::{Keys, Rows, Set, Table};
use omr_pdq::{Answer, Client, EvaluationKey, Params, Public};
use omr_table::Query;
use std::rc::Rc;
use std::sync::Arc;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A query for a table.
#[wasm_bindgen]
pub struct Question {
    public: Rc<Public>,
    query: Rc<Query>,
    bound: usize,
}

#[wasm_bindgen]
impl Question {
    /// Parses SQL.
    ///
    /// Errors: of the kind `syntax`, and for a LIMIT above the limit of answers.
    #[wasm_bindgen(constructor)]
    pub fn new(table: &Table, sql: &str) -> Result<Question, JsValue> {
        let parsed = Query::parse(sql, table.0.schema());
        let (query, limit) = parsed.map_err(|error| of_query(&error, sql))?;
        Ok(Self {
            public: table.0.clone(),
            query: Rc::new(query),
            bound: omr_pdq::plan::bound(limit).map_err(|error| of_plan(&error))?,
        })
    }

    /// Plans the query with a parameter set.
    ///
    /// Errors: of the kind `depth` if a deeper set may have room for the query, otherwise `plan`.
    pub fn plan(&self, set: &Set) -> Result<Plan, JsValue> {
        let planned = self.public.plan(&set.0, &self.query.shape(), self.bound);
        Ok(Plan {
            plan: planned.map_err(|error| of_plan(&error))?,
            params: set.0.clone(),
            public: self.public.clone(),
            query: self.query.clone(),
        })
    }
}

/// A query with its plan.
#[wasm_bindgen]
pub struct Plan {
    plan: omr_pdq::Plan,
    params: Arc<Params>,
    public: Rc<Public>,
    query: Rc<Query>,
}

#[wasm_bindgen]
impl Plan {
    /// Returns the name of the parameter set.
    #[wasm_bindgen(getter)]
    pub fn params(&self) -> String {
        self.params.name().to_owned()
    }

    /// Returns the length in bytes of a key for the server.
    #[wasm_bindgen(getter, js_name = keyBytes)]
    pub fn key_bytes(&self) -> f64 {
        EvaluationKey::bytes_of(&self.params) as f64
    }

    /// Returns the query as the server sees it.
    #[wasm_bindgen(getter)]
    pub fn shape(&self) -> String {
        self.plan.shape.render(self.public.schema())
    }

    /// Returns the largest number of rows in the answer.
    #[wasm_bindgen(getter)]
    pub fn bound(&self) -> usize {
        self.plan.bound
    }

    /// Returns the length of the query in bytes.
    #[wasm_bindgen(getter, js_name = queryBytes)]
    pub fn query_bytes(&self) -> f64 {
        self.plan.cost.query_bytes as f64
    }

    /// Returns the length of the answer in bytes.
    #[wasm_bindgen(getter, js_name = answerBytes)]
    pub fn answer_bytes(&self) -> f64 {
        self.plan.cost.answer_bytes as f64
    }

    /// Returns the number of consecutive products.
    #[wasm_bindgen(getter)]
    pub fn depth(&self) -> usize {
        self.plan.cost.depth
    }

    /// Returns the seconds on one thread, where `transform` is the seconds of a transform.
    pub fn seconds(&self, transform: f64) -> f64 {
        self.plan.cost.seconds(transform)
    }

    /// Encrypts the query and returns its file.
    ///
    /// Errors: if the browser has no randomness.
    pub fn encrypt(&self, keys: &Keys) -> Result<Vec<u8>, JsValue> {
        let sent = self
            .client(keys)
            .encrypt(&self.query, &self.plan, &mut rng()?);
        sent.to_bytes(&self.params).map_err(other)
    }

    /// Returns the rows in an answer's file.
    ///
    /// Errors: of the kind `overflow` if more rows match than the answer has room for; of the kind `answer`.
    pub fn decode(&self, keys: &Keys, answer: &[u8]) -> Result<Rows, JsValue> {
        let parsed = Answer::from_bytes(&self.params, &self.plan, answer).map_err(other)?;
        let decoded = self.client(keys).decode(&self.plan, &parsed);
        let found = decoded.map_err(|error| of_answer(&error))?;
        let schema = self.public.schema();
        Ok(Rows(found.of_columns(schema, &self.query.select)))
    }
}

impl Plan {
    fn client<'a>(&'a self, keys: &'a Keys) -> Client<'a> {
        Client::new(&self.params, self.public.schema(), &keys.secret)
    }
}
