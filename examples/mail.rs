//! Mail over a server: Alice registers detection keys, Bob sends a letter to the address of Alice, and Alice fetches a
//! digest and decodes it.
//!
//! `cargo run --release --example mail` prints `letter 1: hello Alice`.

use omr::mail::{Address, Home, Identity, Inbox, Letter, NewIdentity, Reader, Rules};
use omr::mail::{collect, register, send};
use omr::protocol::{ClueKind, Sealing};
use omr::remote::{Client, Endpoint};
use omr_server::{Config, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // A server with an empty board of a small set for tests. Anybody may post and ask for digests.
    let mut config = Config {
        listen: "127.0.0.1:0".parse()?,
        data: folder.path().join("server"),
        ..Config::default()
    };
    config.board.params = "insecure-tiny-hybrid-v4".to_owned();
    config.access.anonymous_post = true;
    config.access.anonymous_detect = true;
    let server = Server::start(config).await?;
    let client = Client::connect(&Endpoint::new(format!("http://{}", server.address()?)))?;
    tokio::spawn(server.run(std::future::pending()));
    // Alice's keys and letters lie in a folder. The server gets the detection keys, everybody gets `address`.
    let home = Home::new(folder.path().join("alice"));
    let new = NewIdentity {
        params: "insecure-tiny-hybrid-v4".to_owned(),
        scheme: None,
        clues: ClueKind::Bound,
        bound: 50,
        sealing: Sealing::HpkeX25519,
        spares: 2,
        board_id: None,
        own_masks: false,
        batches: false,
    };
    let mut alice = Identity::create(&home, &new)?;
    register(&mut alice, &client, |_, _, _| {}).await?;
    let address = alice.address()?.to_text();
    // Bob writes to the address.
    let to = Address::from_file(address.into_bytes())?;
    let letter = Letter::from(b"hello Alice".to_vec());
    send(&client, &to, &[letter], &Rules::default()).await?;
    // A fetch collects digests; what they contain is decoded afterwards, without a connection.
    let inbox = Inbox::open(&home)?;
    let reader = Reader::new(&alice)?;
    collect(&client, &alice, &inbox, &reader, |_| {}).await?;
    inbox.take_in(&reader)?;
    let letters = inbox.list(false)?;
    let [letter] = &letters[..] else {
        return Err(format!("expected one letter, found {letters:?}").into());
    };
    let text = String::from_utf8(inbox.body(letter.number)?)?;
    assert_eq!(text, "hello Alice");
    println!("letter {}: {text}", letter.number);
    Ok(())
}
