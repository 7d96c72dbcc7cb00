//! Identities at a fake server whose digests are real.

#[path = "../../../remote/tests/fake/mod.rs"]
pub(crate) mod fake;

use fake::{Fake, Maker};
use omr_client::Words;
use omr_detector::engine::on_cpu;
use omr_detector::engines::{Costs, Engines, Job};
use omr_detector::{Messages, Quiet};
use omr_mail::{
    Address, Collected, Home, Identity, Inbox, Letter, MAX_LEVELS, MailError, NewIdentity, Reader,
    Rules, Server, Taken, collect, register,
};
use omr_protocol::{ClueKind, EngineKind, ParamSet, Request, Scheme, Sealing, Stride};
use omr_remote::Client;
use omr_remote::v1::{Board, CreateJobRequest, Message};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(crate) const PARAMS: &str = "insecure-tiny-hybrid-v4";
pub(crate) const BOARD: [u8; 16] = [7; 16];
pub(crate) const PAYLOAD: usize = 200;

/// Returns the properties of an identity for InstantOMR.
pub(crate) fn wanted() -> NewIdentity {
    NewIdentity {
        params: PARAMS.into(),
        scheme: Some(Scheme::Instantomr),
        clues: ClueKind::Bound,
        bound: 10,
        spares: 2,
        sealing: Sealing::HpkeX25519,
        board_id: None,
        own_masks: false,
        batches: false,
    }
}

/// Rules that allow letters longer than the address does.
const ANY_LENGTH: Rules<'_> = Rules {
    sealing: None,
    large: true,
    signer: None,
};

/// An identity with its server.
pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) fake: Fake,
    pub(crate) client: Client,
    pub(crate) identity: Identity,
    /// The indices that the detector leaves out.
    pub(crate) dropped: Arc<Mutex<BTreeSet<u64>>>,
    /// The sealing of letters that digests state.
    pub(crate) said: Arc<Mutex<Sealing>>,
    pub(crate) keys: Keys,
}

/// The identity's detection keys, once they are uploaded.
#[derive(Clone, Default)]
pub(crate) struct Keys(Arc<Mutex<Option<Arc<Engines>>>>);

impl Scene {
    /// Returns a scene with a registered identity and an empty board.
    pub(crate) async fn new(bound: u32) -> Self {
        Self::of(&NewIdentity {
            bound,
            spares: MAX_LEVELS,
            ..wanted()
        })
        .await
    }

    /// Returns such a scene with an identity of these properties.
    pub(crate) async fn of(new: &NewIdentity) -> Self {
        Self::of_words(new, None).await
    }

    /// Returns such a scene whose identity's keys are those of the words, if there are any.
    pub(crate) async fn of_words(new: &NewIdentity, words: Option<&Words>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (keys, dropped) = (Keys::default(), Arc::default());
        let said = Arc::new(Mutex::new(Sealing::HpkeX25519));
        let maker = maker(keys.clone(), Arc::clone(&dropped), Arc::clone(&said));
        let fake = Fake::start(board(), maker).await;
        let home = Home::new(dir.path().join("home"));
        let made = match words {
            Some(words) => Identity::of_words(&home, new, words),
            None => Identity::create(&home, new),
        };
        let mut identity = made.unwrap();
        let server = Server {
            url: fake.url(),
            ca_certificate: None,
            token: None,
        };
        home.set_server(&server).unwrap();
        let client = fake.client();
        register(&mut identity, &client, |_, _, _| {})
            .await
            .unwrap();
        let scene = Self {
            dir,
            fake,
            client,
            identity,
            dropped,
            said,
            keys,
        };
        scene.detect_for(&home);
        scene
    }

    /// Makes the detector use the keys in a home.
    pub(crate) fn detect_for(&self, home: &Home) {
        *self.keys.0.lock().unwrap() = Some(Arc::new(engines(home)));
    }

    pub(crate) fn address(&self) -> Address {
        self.identity.address().unwrap()
    }

    pub(crate) fn inbox(&self) -> Inbox {
        Inbox::open(&self.identity.home).unwrap()
    }

    /// Posts letters to the identity.
    pub(crate) async fn write(&self, letters: &[&[u8]]) {
        let files: Vec<Letter> = letters
            .iter()
            .map(|letter| letter.to_vec().into())
            .collect();
        omr_mail::send(&self.client, &self.address(), &files, &ANY_LENGTH)
            .await
            .unwrap();
    }

    /// Posts letters to somebody else.
    pub(crate) async fn write_to_others(&self, count: usize) {
        let set = ParamSet::named(PARAMS).unwrap();
        let (_, key) = omr_client::identity(set.clue(), ClueKind::Bound, &mut omr_client::os_rng());
        let to = Address {
            server: None,
            clue_key: key.to_bytes(set.clue()).unwrap(),
            terms: None,
            verifying_key: None,
            period_keys: None,
        };
        let files = vec![Letter::from(b"not for her".to_vec()); count];
        omr_mail::send(&self.client, &to, &files, &ANY_LENGTH)
            .await
            .unwrap();
    }

    /// Returns a scene with a registered identity, at a server that makes digests with a step.
    pub(crate) async fn with_spares(bound: u32) -> Self {
        let mut scene = Self::new(bound).await;
        scene.fake.with(|state| {
            state.limits.step = 1 << 16;
            state.limits.post_messages = 1000;
        });
        scene.client = scene.fake.client();
        scene
    }

    /// Runs the network half of a fetch.
    pub(crate) async fn collect(
        &self,
        client: &Client,
        inbox: &Inbox,
    ) -> Result<Collected, MailError> {
        let reader = Reader::new(&self.identity)?;
        collect(client, &self.identity, inbox, &reader, |_| {}).await
    }

    /// Runs a whole fetch.
    pub(crate) async fn fetch(&self, inbox: &Inbox) -> Result<Vec<Taken>, MailError> {
        self.collect(&self.client, inbox).await?;
        inbox.take_in(&Reader::new(&self.identity)?)
    }

    /// Returns the contents of all messages, sorted.
    pub(crate) fn contents(&self, inbox: &Inbox) -> Vec<Vec<u8>> {
        let all = inbox.list(true).unwrap();
        let body = |message: &omr_mail::Listed| inbox.body(message.number).unwrap();
        let mut bodies: Vec<_> = all.iter().map(body).collect();
        bodies.sort();
        bodies
    }
}

pub(crate) fn board() -> Board {
    let set = ParamSet::named(PARAMS).unwrap();
    Board {
        board_id: BOARD.to_vec().into(),
        params_id: PARAMS.into(),
        sealing: Sealing::HpkeX25519.name().into(),
        clue_bytes: ClueKind::Bound.bytes(set.clue()) as u32,
        payload_bytes: PAYLOAD as u32,
        messages: 0,
        clues: omr_remote::v1::ClueKind::Bound.into(),
        first_index: 0,
        ..Board::default()
    }
}

fn engines(home: &Home) -> Engines {
    let set = ParamSet::named(PARAMS).unwrap();
    let files = [
        (EngineKind::Instantomr, "instant.key"),
        (EngineKind::Sophomr, "detection.key"),
        (EngineKind::Rounds, "rounds.key"),
    ];
    let mut engines = Engines::default();
    for (kind, name) in files {
        if let Ok(mut file) = File::open(home.path(name)) {
            let engine = on_cpu(&set, kind).unwrap();
            engines.add(engine.load(&mut file).unwrap());
        }
    }
    engines
}

/// Returns a maker of digests with the identity's keys; messages to be dropped get a clue for nobody.
fn maker(keys: Keys, dropped: Arc<Mutex<BTreeSet<u64>>>, said: Arc<Mutex<Sealing>>) -> Arc<Maker> {
    let set = ParamSet::named(PARAMS).unwrap();
    Arc::new(move |request: &CreateJobRequest, messages: &[Message]| {
        let engines = keys.0.lock().unwrap().clone().expect("registered");
        let mut messages = messages.to_vec();
        let stride = Stride::new(request.start..request.end, request.step);
        for (message, counted) in messages.iter_mut().zip(stride.range()) {
            if !dropped.lock().unwrap().contains(&stride.index(counted)) {
                continue;
            }
            let rng = &mut omr_client::os_rng();
            let other = omr_client::identity(set.clue(), ClueKind::Bound, rng).1;
            let sender = omr_client::BoundSender::new(set.clue(), &other, BOARD);
            let clue = sender.clue(&omr_client::ClueSeed::generate(rng), &message.payload);
            message.clue = clue.to_bytes(set.clue()).into();
        }
        let clues = messages.iter().flat_map(|message| message.clue.to_vec());
        let payloads = messages.iter().flat_map(|message| message.payload.to_vec());
        let range = request.start..request.start + messages.len() as u64;
        let mut source: Messages =
            Messages::new(range, clues.collect(), payloads.collect()).unwrap();
        let job = Job {
            source: &mut source,
            request: Request::new(stride.range(), request.bound as usize, Some(PAYLOAD)),
            board_id: BOARD,
            sealing: *said.lock().unwrap(),
            seed: &|_| [3; 32],
            costs: Costs::default(),
        };
        let scheme = engines.scheme(true).unwrap();
        let answer = engines.respond(scheme, job, &Quiet).unwrap();
        answer.response.to_bytes(&set).unwrap()
    })
}

/// Opens the database of a home's inbox; makes an empty one where there is none.
pub(crate) fn database(home: &Home) -> redb::Database {
    let identity = Identity::open(home).unwrap();
    let key = identity
        .secret(&identity.set().unwrap())
        .unwrap()
        .storage_key();
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = options.open(home.path("inbox.redb")).unwrap();
    let storage = omr_disk::encrypted_database(file, &key).unwrap();
    redb::Builder::new()
        .create_with_backend(storage.unwrap())
        .unwrap()
}

/// Copies a folder with its content.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}
