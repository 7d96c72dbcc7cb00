//! A board and a detector behind a network: the services of `proto/omr/v1`.
//!
//! The server handles ciphertexts, clues and detection keys. It cannot name a secret key.
#![forbid(unsafe_code)]

mod addresses;
mod backup;
mod caller;
mod chores;
pub mod config;
mod connections;
mod damage;
mod error;
mod feeding;
mod file_modes;
mod host_rules;
mod jobs;
mod listening;
mod mail;
mod orders;
mod pages;
mod parts;
mod pdq;
mod peer;
mod posting;
mod priority;
mod proxies;
mod records;
mod refuse;
mod registrations;
mod requests;
mod room;
mod routes;
mod serve;
mod services;
mod sessions;
mod share;
mod shared;
mod source;
mod status;
mod strangers;
mod tls;
pub mod tokens;
mod uploads;

pub use backup::{TOKENS_FILE, backup, restore_tokens};
pub use config::Config;
pub use error::ServerError;
pub use file_modes::create_private_files;
pub use jobs::{StoredJob, drop_jobs, stored_jobs};
pub use parts::store_config;
pub use pdq::{PdqConfig, PdqServer};
pub use room::check_memory;
pub use serve::{Pulse, Server};
pub use tls::certificate_and_name;
