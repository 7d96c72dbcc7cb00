//! Connections through a SOCKS5 proxy, and never beside it.
#![forbid(unsafe_code)]

mod fake;

use fake::Fake;
use omr_remote::{Client, Endpoint, RemoteError, Retry};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// A connection as the proxy saw it: the name of the client, and the server that it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    name: Option<String>,
    server: String,
}

/// Starts a proxy (RFC 1928, RFC 1929) that connects to `to`, whatever server is asked for. It takes names only if
/// `takes_names`. Returns its address and the list of connections.
async fn proxy(to: SocketAddr, takes_names: bool) -> (SocketAddr, Arc<Mutex<Vec<Seen>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let all = all.clone();
            tokio::spawn(async move {
                let Some(one) = greeted(&mut near, takes_names).await else {
                    return;
                };
                all.lock().unwrap().push(one);
                near.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
                    .await
                    .unwrap();
                let mut far = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (address, seen)
}

async fn bytes(near: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut out = vec![0; count];
    near.read_exact(&mut out).await.unwrap();
    out
}

async fn greeted(near: &mut TcpStream, takes_names: bool) -> Option<Seen> {
    let head = bytes(near, 2).await;
    let methods = bytes(near, head[1].into()).await;
    let wanted = if takes_names { 2 } else { 0 };
    if !methods.contains(&wanted) {
        near.write_all(&[5, 0xff]).await.unwrap();
        return None;
    }
    near.write_all(&[5, wanted]).await.unwrap();
    let name = if takes_names {
        let user = bytes(near, 2).await[1];
        let name = bytes(near, user.into()).await;
        let password = bytes(near, 1).await[0];
        assert!(bytes(near, password.into()).await.len() >= 32);
        near.write_all(&[1, 0]).await.unwrap();
        Some(String::from_utf8(name).unwrap())
    } else {
        None
    };
    let request = bytes(near, 4).await;
    assert_eq!(request[..3], [5, 1, 0]);
    let host = match request[3] {
        1 => format!("{:?}", bytes(near, 4).await),
        3 => {
            let length = bytes(near, 1).await[0];
            String::from_utf8(bytes(near, length.into()).await).unwrap()
        }
        other => panic!("address of type {other}"),
    };
    let port = bytes(near, 2).await;
    let port = u16::from_be_bytes([port[0], port[1]]);
    let server = format!("{host}:{port}");
    Some(Seen { name, server })
}

fn through(url: &str, proxy: &str) -> Client {
    Client::connect(&Endpoint {
        proxy: Some(proxy.parse().unwrap()),
        retry: Retry {
            total: Duration::from_secs(1),
            ..Retry::default()
        },
        ..Endpoint::new(url)
    })
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_client_has_a_name_of_its_own_and_the_proxy_resolves_servers() {
    let fake = Fake::plain().await;
    let (address, seen) = proxy(fake.address, true).await;
    let url = "http://board.omr-test.onion:7600";
    let expected = fake.client().board().await.unwrap();
    for _ in 0..3 {
        let client = through(url, &format!("socks5h://{address}"));
        assert_eq!(client.board().await.unwrap(), expected);
        // A clone of a client is the same client.
        assert_eq!(client.clone().board().await.unwrap(), expected);
    }
    let all = seen.lock().unwrap().clone();
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(
        all.iter()
            .all(|one| one.server == "board.omr-test.onion:7600")
    );
    let names: BTreeSet<_> = all.iter().map(|one| one.name.clone().unwrap()).collect();
    assert!(names.len() == 3 && names.iter().all(|name| name.len() == 32));
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_without_names_need_to_be_named_so() {
    let fake = Fake::plain().await;
    let (address, seen) = proxy(fake.address, false).await;
    let url = format!("http://{}", fake.address);
    let nameless = through(&url, &format!("socks5h://@{address}"));
    nameless.board().await.unwrap();
    let expected = Seen {
        name: None,
        server: format!("[127, 0, 0, 1]:{}", fake.address.port()),
    };
    assert_eq!(*seen.lock().unwrap(), [expected]);
    let error = through(&url, &format!("socks5h://{address}")).board().await;
    assert!(
        matches!(error, Err(RemoteError::Unreachable { .. })),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_beside_a_proxy_that_is_gone() {
    let fake = Fake::plain().await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let url = format!("http://{}", fake.address);
    let error = through(&url, &format!("socks5h://{address}")).board().await;
    assert!(
        matches!(error, Err(RemoteError::Unreachable { .. })),
        "{error:?}"
    );
    assert!(fake.with(|state| state.log.is_empty()));
}
