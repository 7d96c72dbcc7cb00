//! Identities and inboxes against a server that misbehaves on demand.

mod batches;
mod calls;
mod canary;
mod common;
mod damage;
mod expiry;
mod export;
mod fetch;
mod frozen;
mod identity;
mod power;
mod rotate;
mod sealing;
mod short;
mod spares;
