//! All parts on this machine: a fake node, a bridge, and a server with a board of the node's chain.

use crate::pointer::Pointer;
use crate::{Bridge, Chain, KEPT_BLOCKS, Node, Sender, ZcashError};
use omr_mail::Server;
use omr_protocol::Sealing;
use omr_remote::{Client, Endpoint};
use omr_server::tokens::{Right, Token};
use omr_server::{Config, tokens};
use std::net::SocketAddr;
use std::path::Path;
use tokio::net::TcpListener;

/// The addresses at which the parts listen. Port 0 stands for any free one.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The address of the node.
    pub node: SocketAddr,
    /// The address of the bridge.
    pub bridge: SocketAddr,
    /// The address of the server with the board.
    pub server: SocketAddr,
}

/// Running parts. They end with the process.
pub struct Local {
    /// The node.
    pub node: Node,
    /// The bridge.
    pub bridge: Bridge,
    /// The URL of the node.
    pub node_url: String,
    /// The URL of the bridge.
    pub bridge_url: String,
    /// The server with the board.
    pub server: Server,
}

impl Addresses {
    /// Free ports of this machine.
    pub const FREE: Self = Self::at(0, 0, 0);
    /// The ports of `omr-zcash serve`.
    pub const USUAL: Self = Self::at(9067, 9068, 7600);

    const fn at(node: u16, bridge: u16, server: u16) -> Self {
        let local = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        Self {
            node: SocketAddr::new(local, node),
            bridge: SocketAddr::new(local, bridge),
            server: SocketAddr::new(local, server),
        }
    }
}

impl Local {
    /// Starts all parts, with the data of the server in a folder. The node's chain is new; so must be the folder.
    ///
    /// Errors: `Folder`, `Data`, `Listen`, `Io`, `Connect`, `Server`, `File`, `Call`, `Block`, `Remote`.
    pub async fn start(
        data: &Path,
        network: &str,
        params: &str,
        at: &Addresses,
    ) -> Result<Self, ZcashError> {
        if data.exists() {
            return Err(ZcashError::Folder(data.to_owned()));
        }
        std::fs::create_dir_all(data).map_err(|source| ZcashError::File {
            path: data.to_owned(),
            source,
        })?;
        let node = Node::new(network)?;
        let listener = listen(at.node).await?;
        let node_url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(node.clone().serve(listener));
        let mut chain = Chain::connect(&node_url).await?;

        let mut config = Config {
            listen: at.server,
            data: data.to_owned(),
            ..Config::default()
        };
        config.board.params = params.to_owned();
        config.board.payload_bytes = Pointer::PAYLOAD_BYTES;
        config.board.sealing = Sealing::HpkeX25519.name().to_owned();
        config.board.ledger = Some(chain.ledger().await?);
        config.board.fork_blocks = KEPT_BLOCKS;
        config.access.anonymous_detect = true;
        let token = Token {
            name: "bridge".into(),
            hash: String::new(),
            rights: vec![Right::Feed],
            messages_per_second: None,
            jobs: None,
            sessions: None,
            keys: None,
        };
        let token = tokens::add(&config.tokens(), token)?;
        let running = omr_server::Server::start(config).await?;
        let server = Server {
            url: format!("http://{}", running.address()?),
            ca_certificate: None,
            token: None,
        };
        tokio::spawn(running.run(std::future::pending()));

        let endpoint = Endpoint {
            token: Some(token),
            ..server.endpoint()
        };
        let bridge = Bridge::new(chain, Client::connect(&endpoint)?).await?;
        bridge.step().await?;
        let listener = listen(at.bridge).await?;
        let bridge_url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(bridge.clone().serve(listener));
        Ok(Self {
            node,
            bridge,
            node_url,
            bridge_url,
            server,
        })
    }

    /// Connects to the node.
    ///
    /// Errors: `Connect`.
    pub async fn chain(&self) -> Result<Chain, ZcashError> {
        Chain::connect(&self.node_url).await
    }

    /// Connects to all parts as a sender.
    ///
    /// Errors: `Connect`, `Remote`.
    pub async fn sender(&self) -> Result<Sender, ZcashError> {
        let board = Client::connect(&self.server.endpoint())?;
        Sender::connect(self.chain().await?, board, &self.bridge_url).await
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ZcashError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| ZcashError::Listen { address, source })
}
