//! The parts together: payments, reorganisations, restored recipients, and what is refused.
#![forbid(unsafe_code)]

use omr_client::{Words, os_rng};
use omr_protocol::ParamSet;
use omr_remote::Client;
use omr_zcash::{
    Addresses, Bridge, Chain, Local, Node, Note, PaymentAddress, Wallet, ZcashError, measure,
};
use tempfile::TempDir;

const PARAMS: &str = "insecure-tiny-hybrid-v4";

struct World {
    dir: TempDir,
    local: Local,
    chain: Chain,
    words: Words,
}

impl World {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("server");
        let local = Local::start(&data, "regtest", PARAMS, &Addresses::FREE).await;
        let local = local.unwrap();
        Self {
            dir,
            chain: local.chain().await.unwrap(),
            local,
            words: Words::generate(&mut os_rng()),
        }
    }

    async fn wallet(&mut self, name: &str, birthday: Option<u64>) -> Wallet {
        let dir = self.dir.path().join(name);
        let (server, chain) = (&self.local.server, &mut self.chain);
        let made = Wallet::create(&dir, &self.words, birthday, server, chain).await;
        made.unwrap()
    }

    /// Mines blocks and feeds them to the board.
    async fn mine(&self, blocks: usize) {
        self.local.node.mine(blocks);
        self.local.bridge.step().await.unwrap();
    }
}

fn stranger() -> PaymentAddress {
    let words = Words::generate(&mut os_rng());
    PaymentAddress::of_words(&words, &ParamSet::named(PARAMS).unwrap()).unwrap()
}

/// Returns heights and texts.
fn short(notes: &[Note]) -> Vec<(u64, &str)> {
    let mut short: Vec<_> = notes
        .iter()
        .map(|note| (note.height, note.memo.as_str()))
        .collect();
    short.sort_unstable();
    short
}

#[tokio::test(flavor = "multi_thread")]
async fn recipients_find_their_payments_and_restore_them() {
    let mut world = World::start().await;
    let birthday = world.chain.tip().await.unwrap() + 1;
    let mut alice = world.wallet("alice", None).await;
    let address = PaymentAddress::from_text(&alice.address().unwrap().to_text()).unwrap();
    let mut sender = world.local.sender().await.unwrap();
    let paid = sender.pay(&address, 70, "first").await.unwrap();
    sender.pay(&stranger(), 80, "other").await.unwrap();
    world.mine(300).await;
    sender.pay(&address, 90, "").await.unwrap();
    world.mine(1).await;
    world.local.node.asked();
    let received = alice.receive(&mut world.chain).await.unwrap();
    assert_eq!(
        short(&received.found),
        [(birthday, "first"), (birthday + 300, "")]
    );
    assert_eq!((received.idle, received.waiting), (0, 0));
    let note = &received.found[0];
    let mut txid = paid.txid;
    txid.reverse();
    assert_eq!(note.txid, omr_protocol::hex(&txid));
    assert_eq!((note.output, note.zatoshis), (paid.output, 70));
    // The payments are in two windows, or three with their expiry. A fetch without letters asks for as many.
    assert_eq!(world.local.node.asked().len(), 4);
    let received = alice.receive(&mut world.chain).await.unwrap();
    assert_eq!((received.found.len(), received.waiting), (0, 0));
    assert_eq!(world.local.node.asked().len(), 4);
    let mut again = world.wallet("again", Some(birthday)).await;
    again.receive(&mut world.chain).await.unwrap();
    assert_eq!(again.notes().unwrap(), alice.notes().unwrap());
    // Nothing was paid from this later birthday on.
    let late = Some(birthday + 301);
    let mut late = world.wallet("late", late).await;
    assert_eq!(late.receive(&mut world.chain).await.unwrap().found, []);
    // An opened folder has the same notes.
    let opened = Wallet::open(&world.dir.path().join("again"), &world.words).unwrap();
    assert_eq!(opened.notes().unwrap(), again.notes().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_move_and_disappear_with_their_blocks() {
    let mut world = World::start().await;
    let height = world.chain.tip().await.unwrap() + 1;
    let mut alice = world.wallet("alice", None).await;
    let address = alice.address().unwrap();
    let mut sender = world.local.sender().await.unwrap();
    sender.pay(&address, 1, "stays").await.unwrap();
    world.mine(1).await;
    sender.pay(&address, 2, "moves").await.unwrap();
    let lost = sender.pay(&address, 3, "lost").await.unwrap();
    world.mine(2).await;
    alice.receive(&mut world.chain).await.unwrap();
    let (here, gone) = alice.notes().unwrap();
    let found = [
        (height, "stays"),
        (height + 1, "lost"),
        (height + 1, "moves"),
    ];
    assert_eq!((short(&here), gone), (found.into(), vec![]));
    world.local.node.reorganise(2, Some(lost.txid));
    world.local.bridge.step().await.unwrap();
    let received = alice.receive(&mut world.chain).await.unwrap();
    assert_eq!(short(&received.found), [(height + 2, "moves")]);
    let (here, gone) = alice.notes().unwrap();
    assert_eq!(short(&here), [(height, "stays"), (height + 2, "moves")]);
    assert_eq!(short(&gone), [(height + 1, "lost")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_outputs_of_blocks_come_to_the_board() {
    let mut world = World::start().await;
    let mut alice = world.wallet("alice", None).await;
    let address = alice.address().unwrap();
    let mut sender = world.local.sender().await.unwrap();
    let messages = async || {
        let board = Client::connect(&world.local.server.endpoint()).unwrap();
        board.board().await.unwrap().messages
    };
    // No transaction, an output behind those of the transaction, and another announcement of the same output.
    sender.announce(&address, [7; 32], 0, "").await.unwrap();
    let paid = sender.pay(&address, 5, "paid").await.unwrap();
    sender.announce(&address, paid.txid, 2, "").await.unwrap();
    let refused = sender.announce(&address, paid.txid, paid.output, "").await;
    let refused = refused.unwrap_err().to_string();
    assert_eq!(refused, "Announce: the output was announced before");
    world.mine(1).await;
    assert_eq!(messages().await, 1);
    // Somebody points to the payment of another, and to no payment: the recipient does not take them for payments.
    let other = sender.pay(&stranger(), 6, "").await.unwrap();
    let output = 1 - other.output;
    sender
        .announce(&address, other.txid, output, "")
        .await
        .unwrap();
    world.mine(50).await;
    assert_eq!(messages().await, 3);
    let received = alice.receive(&mut world.chain).await.unwrap();
    assert_eq!((received.found.len(), received.idle), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_of_other_networks_are_refused() {
    let mut world = World::start().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(Node::new("main").unwrap().serve(listener));
    let mut other = Chain::connect(&url).await.unwrap();
    let mut alice = world.wallet("alice", None).await;
    let error = alice.receive(&mut other).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ZcashError::Network { .. }), "{text}");
    assert!(
        text.contains("zcash main") && text.contains("zcash regtest"),
        "{text}"
    );
    let board = || Client::connect(&world.local.server.endpoint()).unwrap();
    let bridge = Bridge::new(other.clone(), board()).await.err().unwrap();
    assert!(matches!(bridge, ZcashError::Network { .. }), "{bridge}");
    let address = alice.address().unwrap();
    let sender = omr_zcash::Sender::connect(other, board(), &world.local.bridge_url).await;
    let paid = sender.unwrap().pay(&address, 1, "").await.unwrap_err();
    assert!(matches!(paid, ZcashError::Network { .. }), "{paid}");
    let long = "m".repeat(200);
    let mut sender = world.local.sender().await.unwrap();
    let refused = sender.pay(&address, 1, &long).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "expected a memo of at most 80 bytes, found 200"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_measured_day_has_costs_of_both_kinds() {
    let dir = tempfile::tempdir().unwrap();
    let measured = measure(dir.path(), "test", PARAMS, 40).await.unwrap();
    // Each payment has a second action, which pays nobody.
    assert_eq!((measured.payments, measured.actions), (40, 80));
    // Four windows of 64 blocks, of which the last one may end early.
    assert!((3 * 64 + 1..=4 * 64).contains(&measured.fetched_blocks));
    assert!(measured.trial.node.down > measured.fetch.node.down);
    assert_eq!(measured.trial.board.down, 0);
    assert!(measured.setup.board.up > measured.fetch.board.up);
    for costs in [&measured.trial, &measured.setup, &measured.fetch] {
        assert!(
            costs.recipient_s > 0.0 && costs.servers_s > 0.0,
            "{costs:?}"
        );
    }
}
