//! A crowd of idle connections. Half of them never send a byte.

use super::raw::{PREFACE, SETTINGS};
use super::tally::Tally;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// The number of connections that are opened together; [`PATIENCE`] limits their time.
const TOGETHER: u64 = 200;
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause after a connection that was refused.
const REST: Duration = Duration::from_millis(500);

/// Opens connections, as many as the system allows. They are opened again whenever the server closes one.
pub(super) async fn gather(tally: &Arc<Tally>, connections: u64) -> Vec<JoinHandle<()>> {
    let mut tasks = Vec::new();
    for number in 0..connections {
        tasks.push(tokio::spawn(idle(tally.clone(), number)));
        if number % TOGETHER == TOGETHER - 1 || number == connections - 1 {
            let start = Instant::now();
            while tally.held() <= number && start.elapsed() < PATIENCE {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }
    tasks
}

async fn idle(tally: Arc<Tally>, number: u64) {
    while !tally.is_over() {
        let Ok(mut stream) = TcpStream::connect(tally.address).await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        tally.held.fetch_add(1, Ordering::Relaxed);
        if number.is_multiple_of(2) {
            // If the server closed the connection, reading reveals it.
            let _ = stream.write_all(&[PREFACE, SETTINGS].concat()).await;
        }
        let mut heard = [0; 64];
        while stream.read(&mut heard).await.is_ok_and(|read| read > 0) {}
        tally.held.fetch_sub(1, Ordering::Relaxed);
    }
}
