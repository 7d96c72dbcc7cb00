//! Connections, as many as are allowed at a time.

use omr_ops::{Held, Metrics};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// A rest after an error, such as too many open files.
const REST: Duration = Duration::from_millis(50);

/// Bytes that a client of HTTP/2 says first; requests of HTTP/1.1 are longer.
const PREFACE: usize = 24;
/// How long they may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection that gives its place back when it ends.
pub(crate) struct Connection {
    stream: TcpStream,
    metrics: Metrics,
    /// Bytes that arrived, until they tell what the client speaks.
    first: usize,
    /// When they must have; nothing else would end a connection that is silent from the start.
    deadline: Option<Pin<Box<Sleep>>>,
    _counted: Held,
    _place: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let count = buf.filled().len() - before;
        self.metrics.received(count as u64);
        self.first = self.first.saturating_add(count);
        if self.first >= PREFACE {
            self.deadline = None;
        }
        let late = self.deadline.as_mut();
        if polled.is_pending() && late.is_some_and(|late| late.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = polled {
            self.metrics.sent(written as u64);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Accepts connections; beyond `most` at a time, new ones wait in the system's queue.
pub(crate) fn accept(
    listener: TcpListener,
    most: usize,
    metrics: Metrics,
) -> impl Stream<Item = io::Result<Connection>> {
    let places = Arc::new(Semaphore::new(most));
    futures::stream::unfold(
        (listener, places, metrics),
        |(listener, places, metrics)| async {
            let connection = next(&listener, &places, &metrics).await;
            Some((Ok(connection), (listener, places, metrics)))
        },
    )
}

async fn next(listener: &TcpListener, places: &Arc<Semaphore>, metrics: &Metrics) -> Connection {
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            unreachable!("nobody closes the semaphore");
        };
        match listener.accept().await {
            Ok((stream, _)) => return connection(stream, place, metrics, PATIENCE),
            Err(error) => {
                tracing::warn!(%error, "accepting a connection");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

fn connection(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    metrics: &Metrics,
    patience: Duration,
) -> Connection {
    // Small answers go at once.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no delay");
    }
    Connection {
        stream,
        metrics: metrics.clone(),
        first: 0,
        deadline: Some(Box::pin(tokio::time::sleep(patience))),
        _counted: metrics.connection(),
        _place: place,
    }
}

/// Listens at an address.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, crate::ServerError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| crate::ServerError::Listen { address, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// A connection that has a while to say what it speaks, and its client.
    async fn pair() -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let place = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let metrics = Metrics::new("0", "test");
        let patience = Duration::from_millis(50);
        let connection = connection(accepted.unwrap().0, place, &metrics, patience);
        (connection, client.unwrap())
    }

    #[tokio::test]
    async fn a_client_that_does_not_say_what_it_speaks_is_let_go() {
        let (mut connection, mut client) = pair().await;
        client.write_all(b"PRI").await.unwrap();
        let error = connection.read_exact(&mut [0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn one_that_did_may_be_silent() {
        let (mut connection, mut client) = pair().await;
        client.write_all(&[7; PREFACE]).await.unwrap();
        connection.read_exact(&mut [0; PREFACE]).await.unwrap();
        let later = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            client.write_all(&[8]).await.unwrap();
        };
        let mut byte = [0];
        let (read, ()) = tokio::join!(connection.read_exact(&mut byte), later);
        assert_eq!((read.unwrap(), byte), (1, [8]));
    }
}
