//! Sessions whose layers are evaluated by another engine, with several chunks in flight.

use crate::world::{BOUND, World, advance};
use chacha20::ChaCha20Rng;
use omr_client::instantomr::detection_key;
use omr_detector::instantomr::{
    AwayEngine, Coming, InstantDetector, Layers, LayersEngine, Session,
};
use omr_detector::{DetectorError, MessageSource, Quiet};
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_tfhe::{Lwe, RingCipher, Rotation, Window};
use rand_core::SeedableRng;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The number of messages in a chunk.
const CHUNK: u64 = 256;

/// The calls that an engine received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Hits(usize),
    Verdicts(usize),
}

/// An engine that works when it is waited for, and fails after a number of layers.
struct Place {
    params: Arc<InstantParams>,
    key: Vec<u8>,
    asked: Arc<Mutex<Vec<Asked>>>,
    good: Arc<AtomicUsize>,
}

struct Key {
    place: Place,
    key: Arc<InstantKey>,
}

/// A layer that is computed only when it is waited for.
struct Later<F>(F);

impl<F: FnOnce() -> Result<Vec<RingCipher>, String> + Send> Coming for Later<F> {
    fn wait(self: Box<Self>) -> Result<Vec<RingCipher>, String> {
        self.0()
    }
}

impl Place {
    fn clone(&self) -> Self {
        Self {
            params: self.params.clone(),
            key: self.key.clone(),
            asked: self.asked.clone(),
            good: self.good.clone(),
        }
    }

    fn asked(&self, asked: Asked) -> Result<(), String> {
        self.asked.lock().unwrap().push(asked);
        let left = self.good.load(Ordering::Relaxed);
        self.good.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 {
            Err("a requested failure".into())
        } else {
            Ok(())
        }
    }
}

impl LayersEngine for Place {
    fn bring(&self, _: &InstantKey) -> Result<Box<dyn Layers>, String> {
        let key = InstantKey::read(&self.params, &self.key[..]).unwrap();
        Ok(Box::new(Key {
            place: self.clone(),
            key: Arc::new(key),
        }))
    }
}

impl Key {
    fn rotated(&self, digits: u32, cts: &[Lwe], window: Window) -> Vec<RingCipher> {
        let ring = &self.place.params.ring;
        let start = cts.iter().map(|ct| Rotation::new(ring, ct, window));
        self.key.bootstrap.rotate(ring, digits, start.collect())
    }
}

impl Layers for Key {
    fn name(&self) -> String {
        "a place elsewhere".into()
    }

    fn hits(&self, cts: &[Lwe], each: usize, window: Window) -> Result<Box<dyn Coming>, String> {
        self.place.asked(Asked::Hits(cts.len() / each))?;
        let (params, rotated) = (self.place.params.clone(), self.rotated(1, cts, window));
        Ok(Box::new(Later(move || {
            let (ring, m) = (&params.ring, params.ring.modulus(0));
            let sum = |cts: &[RingCipher]| {
                let mut sum = cts[0].clone();
                for ct in &cts[1..] {
                    ring.kernels().add_assign(m, &mut sum.body, &ct.body);
                    ring.kernels().add_assign(m, &mut sum.mask, &ct.mask);
                }
                sum
            };
            Ok(rotated.chunks(each).map(sum).collect())
        })))
    }

    fn verdicts(&self, sums: &[Lwe], window: Window) -> Result<Box<dyn Coming>, String> {
        self.place.asked(Asked::Verdicts(sums.len()))?;
        let (place, key) = (self.place.clone(), self.key.clone());
        let rotated = self.rotated(2, sums, window);
        Ok(Box::new(Later(move || {
            let ring = &place.params.ring;
            Ok(rotated
                .into_iter()
                .map(|ct| key.trace.apply(ring, ct))
                .collect())
        })))
    }
}

/// A recipient whose detector uses another engine, and an equally exact one here.
struct Two {
    world: World,
    place: Place,
    away: Arc<InstantDetector>,
    here: Arc<InstantDetector>,
}

impl Two {
    fn new() -> Self {
        let world = World::new(71);
        let params = world.params().clone();
        let mut rng = ChaCha20Rng::seed_from_u64(72);
        let made = detection_key(&params, &world.secret, &mut rng).unwrap();
        let mut key = Vec::new();
        made.write(&params, &mut key).unwrap();
        let place = Place {
            params: params.clone(),
            key: key.clone(),
            asked: Arc::default(),
            good: Arc::new(AtomicUsize::new(usize::MAX)),
        };
        let read = || InstantKey::read(&params, &key[..]).unwrap();
        let engine = AwayEngine::new(&params, Arc::new(place.clone()));
        Self {
            away: Arc::new(engine.detector(read()).unwrap()),
            here: Arc::new(InstantDetector::exact(params.clone(), read())),
            world,
            place,
        }
    }

    fn session(&self, detector: &Arc<InstantDetector>) -> Session {
        let header = self.world.header(0, BOUND, true);
        Session::new(detector.clone(), header)
    }

    fn bytes(&self, session: &Session) -> Vec<u8> {
        session.to_file().to_bytes(self.world.params()).unwrap()
    }
}

/// A board that fails from a message on.
struct Fails<'a>(&'a mut dyn MessageSource, u64);

impl MessageSource for Fails<'_> {
    fn clue_bytes(&self) -> usize {
        self.0.clue_bytes()
    }

    fn clues(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        if range.end > self.1 {
            Err("the disk broke".into())
        } else {
            self.0.clues(range)
        }
    }

    fn payloads(
        &mut self,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        self.0.payloads(range)
    }
}

fn nothing(_: &Session) -> Result<(), DetectorError> {
    Ok(())
}

#[test]
fn lots_follow_each_other_with_a_first_layer_before_each_second_one() {
    use Asked::{Hits, Verdicts};
    let two = Two::new();
    let end = 3 * CHUNK + 10;
    let mut board = two.world.board(end, BOUND);
    let [mut away, mut here] = [&two.away, &two.here].map(|of| two.session(of));
    let mut kept = Vec::new();
    let keep = |session: &Session| {
        kept.push(session.next());
        Ok::<(), DetectorError>(())
    };
    away.advance(&mut board, end, &Quiet, keep).unwrap();
    assert_eq!(kept, [CHUNK, 2 * CHUNK, 3 * CHUNK, end]);
    let chunk = CHUNK as usize;
    let asked = two.place.asked.lock().unwrap().clone();
    let expected = [
        [Hits(chunk), Hits(chunk), Verdicts(chunk), Hits(chunk)],
        [Verdicts(chunk), Hits(10), Verdicts(chunk), Verdicts(10)],
    ];
    assert_eq!(asked, expected.as_flattened());
    advance(&mut here, &mut board, end);
    assert!(two.bytes(&here) == two.bytes(&away));
}

#[test]
fn wherever_it_fails_whole_chunks_are_kept_and_the_processor_goes_on() {
    let two = Two::new();
    let end = 2 * CHUNK + 10;
    let mut board = two.world.board(end, BOUND);
    let mut here = two.session(&two.here);
    advance(&mut here, &mut board, end);
    for (good, taken) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, CHUNK)] {
        two.place.good.store(good, Ordering::Relaxed);
        let mut away = two.session(&two.away);
        let error = away
            .advance_or_here(&mut board, end, &Quiet, true, |_| {})
            .unwrap_err();
        assert!(error.to_string().contains("a requested failure"), "{error}");
        assert_eq!(away.next(), taken, "after {good} layers");
        let mut failure = String::new();
        let gone_on = away.advance_or_here(&mut board, end, &Quiet, false, |error| {
            failure = error.to_string();
        });
        gone_on.unwrap();
        assert!(failure.contains("a requested failure"), "{failure}");
        assert!(two.bytes(&here) == two.bytes(&away), "after {good} layers");
    }
}

#[test]
fn a_board_that_breaks_leaves_what_was_read_before() {
    let two = Two::new();
    let end = 2 * CHUNK + 10;
    let mut board = two.world.board(end, BOUND);
    let mut away = two.session(&two.away);
    let mut broken = Fails(&mut board, 2 * CHUNK);
    let error = away.advance(&mut broken, end, &Quiet, nothing).unwrap_err();
    assert!(error.to_string().contains("the disk broke"), "{error}");
    assert_eq!(away.next(), 2 * CHUNK);
    let full = |session: &Session| match session.next() {
        end if end < 2 * CHUNK + 10 => Ok(()),
        _ => Err(DetectorError::Source("the disk is full".into())),
    };
    let error = away.advance(&mut board, end, &Quiet, full).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(away.next(), end);
    let mut here = two.session(&two.here);
    advance(&mut here, &mut board, end);
    assert!(two.bytes(&here) == two.bytes(&away));
}
