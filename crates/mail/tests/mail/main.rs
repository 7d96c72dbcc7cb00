//! Identities and inboxes against a server that misbehaves on demand.

mod batches;
mod calls;
mod canary;
mod common;
mod conversations;
mod damage;
mod expiry;
mod export;
mod fetch;
mod identity;
mod kept;
mod periods;
mod power;
mod rotate;
mod sealing;
mod short;
mod spares;
