//! A relay in front of a server, which counts the bytes of its connections.

use crate::ZcashError;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The number of bytes that a relay moves at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// A relay. It ends with the process.
pub(crate) struct Relay {
    pub(crate) url: String,
    up: Arc<AtomicU64>,
    down: Arc<AtomicU64>,
}

/// The number of bytes of a client's connections to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The number of bytes to the server.
    pub up: u64,
    /// The number of bytes from the server.
    pub down: u64,
}

impl Relay {
    /// Starts a relay in front of a server of this machine.
    ///
    /// Errors: `Io`.
    pub(crate) async fn start(server: &str) -> Result<Self, ZcashError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let relay = Self {
            url: format!("http://{}", listener.local_addr()?),
            up: Arc::default(),
            down: Arc::default(),
        };
        let address = server.trim_start_matches("http://").to_owned();
        let (up, down) = (relay.up.clone(), relay.down.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&address).await else {
                    continue;
                };
                // A delay would change no count.
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(forward(from_client, to_server, up.clone()));
                tokio::spawn(forward(from_server, to_client, down.clone()));
            }
        });
        Ok(relay)
    }

    /// Returns the bytes since the last call.
    pub(crate) fn take(&self) -> Traffic {
        Traffic {
            up: self.up.swap(0, Ordering::Relaxed),
            down: self.down.swap(0, Ordering::Relaxed),
        }
    }
}

/// Moves bytes from one connection to another one until the first one ends.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: Arc<AtomicU64>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        count.fetch_add(length as u64, Ordering::Relaxed);
        to.write_all(&buffer[..length]).await?;
    }
}
