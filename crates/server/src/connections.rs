//! Connections, as many as are allowed at a time.

use omr_ops::{Held, Metrics};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// A rest after an error, such as too many open files.
const REST: Duration = Duration::from_millis(50);

/// A connection that gives its place back when it ends.
pub(crate) struct Connection {
    stream: TcpStream,
    metrics: Metrics,
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
        self.metrics.received((buf.filled().len() - before) as u64);
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
            Ok((stream, _)) => return connection(stream, place, metrics),
            Err(error) => {
                tracing::warn!(%error, "accepting a connection");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

fn connection(stream: TcpStream, place: OwnedSemaphorePermit, metrics: &Metrics) -> Connection {
    // Small answers go at once.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no delay");
    }
    Connection {
        stream,
        metrics: metrics.clone(),
        _counted: metrics.connection(),
        _place: place,
    }
}

/// Listens at an address.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, crate::ServerError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| crate::ServerError::Listen { address, source })
}
