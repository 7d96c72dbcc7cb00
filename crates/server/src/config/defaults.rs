//! The default values of a configuration.

use super::{Access, Board, Config, Detector, Limits, Objects, Page, Tables, Watch};
use omr_cuda::Choice;
use omr_detector::engines::Costs;
use omr_protocol::Sealing;
use omr_protocol::params::DEFAULT;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7600),
            data: "omr-data".into(),
            board: Board::default(),
            tls: None,
            objects: Objects::default(),
            access: Access::default(),
            limits: Limits::default(),
            detector: Detector::default(),
            watch: Watch::default(),
            pdq: Tables::default(),
            page: Page::default(),
            build: String::new(),
        }
    }
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7601),
            metrics: None,
        }
    }
}

impl Default for Board {
    fn default() -> Self {
        Self {
            params: DEFAULT.into(),
            payload_bytes: 612,
            sealing: Sealing::HpkeX25519.name().into(),
            clues: None,
            expire_days: 0,
            ledger: None,
            fork_blocks: 100,
        }
    }
}

impl Default for Access {
    fn default() -> Self {
        Self {
            tokens: "tokens.toml".into(),
            anonymous_post: false,
            anonymous_detect: false,
            posting_work_bits: 0,
            hosts: Vec::new(),
            proxies: Vec::new(),
            origins: Vec::new(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            post_messages: 1000,
            messages_per_second: 1000,
            posting_bytes: 64 << 20,
            jobs: 4,
            all_jobs: 1000,
            sessions: 2,
            all_sessions: 100,
            session_hours: 7 * 24,
            orders: 2,
            all_orders: 1000,
            order_days: 30,
            keys: 8,
            all_keys: 1000,
            key_days: 90,
            addresses: 4,
            all_addresses: 10_000,
            address_days: 90,
            digest_messages: 1 << 20,
            bound: 1000,
            digest_hours: 7 * 24,
            upload_bytes: 4 << 30,
            upload_hours: 24,
            connections: 128,
            all_connections: 12_000,
            streams: 2000,
            idle_seconds: 60,
            post_id_hours: 7 * 24,
        }
    }
}

impl Default for Detector {
    fn default() -> Self {
        let costs = Costs::default();
        Self {
            local_worker: true,
            lease_seconds: 60,
            engine: Choice::Auto,
            threads: 0,
            session_threads: 0,
            keys_in_memory: 2,
            prepared_bytes: 1 << 30,
            together: 4,
            together_seconds: 2.0,
            session_keys_in_memory: 8,
            batch_seconds: costs.batch_s,
            message_seconds: costs.message_s,
        }
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            log: "info".into(),
            json: false,
            otlp: None,
            metrics: None,
            status: true,
            digests: false,
        }
    }
}
