//! Questions: read, planned, encrypted; and what comes back.

use crate::error::{of_answer, of_plan, of_query, other};
use crate::keys::rng;
use crate::{Keys, Rows, Set, Table};
use omr_pdq::{Answer, Client, EvaluationKey, Params, Public};
use omr_table::Query;
use std::rc::Rc;
use std::sync::Arc;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A question that its table can be asked.
#[wasm_bindgen]
pub struct Question {
    public: Rc<Public>,
    query: Rc<Query>,
    bound: usize,
}

#[wasm_bindgen]
impl Question {
    /// Reads SQL.
    ///
    /// Errors: of the kind `syntax`, and for a LIMIT that no answer holds.
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

    /// The plan with a set.
    ///
    /// Errors: of the kind `depth` where a deeper set may do, else `plan`.
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

/// A question with its plan.
#[wasm_bindgen]
pub struct Plan {
    plan: omr_pdq::Plan,
    params: Arc<Params>,
    public: Rc<Public>,
    query: Rc<Query>,
}

#[wasm_bindgen]
impl Plan {
    /// The set's name.
    #[wasm_bindgen(getter)]
    pub fn params(&self) -> String {
        self.params.name().to_owned()
    }

    /// Bytes of a key for the server.
    #[wasm_bindgen(getter, js_name = keyBytes)]
    pub fn key_bytes(&self) -> f64 {
        EvaluationKey::bytes_of(&self.params) as f64
    }

    /// The query as the server sees it.
    #[wasm_bindgen(getter)]
    pub fn shape(&self) -> String {
        self.plan.shape.render(self.public.schema())
    }

    /// Most rows that the answer can hold.
    #[wasm_bindgen(getter)]
    pub fn bound(&self) -> usize {
        self.plan.bound
    }

    /// Bytes of the query.
    #[wasm_bindgen(getter, js_name = queryBytes)]
    pub fn query_bytes(&self) -> f64 {
        self.plan.cost.query_bytes as f64
    }

    /// Bytes of the answer.
    #[wasm_bindgen(getter, js_name = answerBytes)]
    pub fn answer_bytes(&self) -> f64 {
        self.plan.cost.answer_bytes as f64
    }

    /// Products one after another.
    #[wasm_bindgen(getter)]
    pub fn depth(&self) -> usize {
        self.plan.cost.depth
    }

    /// Seconds of one thread, where a transform takes so many.
    pub fn seconds(&self, transform: f64) -> f64 {
        self.plan.cost.seconds(transform)
    }

    /// The query's file.
    ///
    /// Errors: where the browser gives no randomness.
    pub fn encrypt(&self, keys: &Keys) -> Result<Vec<u8>, JsValue> {
        let sent = self
            .client(keys)
            .encrypt(&self.query, &self.plan, &mut rng()?);
        sent.to_bytes(&self.params).map_err(other)
    }

    /// The rows of an answer's file.
    ///
    /// Errors: of the kind `overflow` where more rows match than the answer can hold; `answer`.
    pub fn decode(&self, keys: &Keys, answer: &[u8]) -> Result<Rows, JsValue> {
        let answer = Answer::from_bytes(&self.params, &self.plan, answer).map_err(other)?;
        let decoded = self.client(keys).decode(&self.plan, &answer);
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
