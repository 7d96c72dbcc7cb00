//! The first round.

use super::messages::{Of, Read};
use crate::progress::check_stopped;
use crate::rounds::RoundsDetector;
use crate::runs::runs;
use crate::{DetectorError, MessageSource, Progress, Stages};
use omr_opening::{BLOCKS_TOGETHER, BlockOfClues, ModuleCipher, PackingKey, pack};
use omr_protocol::clue::{FingerprintKey, Hashed, OFFSET_LEN};
use omr_protocol::rounds::{RoundsHeader, RoundsPlan, Scanned, SectionGroups, page_seeds};
use omr_protocol::{ClueKind, SEED_BYTES, Sealing};
use omr_rounds::scan::{COORDINATES, Packed, ScanPart, share};
use rayon::prelude::*;
use std::ops::Range;

/// The messages of a scan.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The range of messages.
    pub range: Range<u64>,
    /// The length of payloads in bytes.
    pub payload_bytes: usize,
    /// The board.
    pub board_id: [u8; 16],
    /// The sealing of payloads.
    pub sealing: Sealing,
    /// The secret of the pages' seeds ([`page_seeds`]): random, drawn after the messages were posted or known to nobody
    /// else, and never published.
    pub secret: [u8; SEED_BYTES],
}

/// A scan with statistics.
pub struct ScanOutput {
    /// The scan.
    pub scanned: Scanned,
    /// Seconds of each stage, of all recipients of the run.
    pub stages: Stages,
    /// Number of clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

/// Scans a range for several recipients, in their order. One run scans for those whose keys
/// [share masks](RoundsDetector::is_served_with) and does the work that does not depend on the recipient once.
///
/// Errors: those of the source; `Plan`; `ClueKind`; `Stopped`.
pub fn scan(
    detectors: &[&RoundsDetector],
    source: &mut dyn MessageSource,
    request: &ScanRequest,
    progress: &dyn Progress,
) -> Result<Vec<ScanOutput>, DetectorError> {
    let mut outputs: Vec<Option<ScanOutput>> = detectors.iter().map(|_| None).collect();
    for places in runs(detectors, |first, other| first.is_served_with(other)) {
        let served: Vec<&RoundsDetector> = places.iter().map(|&i| detectors[i]).collect();
        let run = Run::new(served, request)?;
        for (i, output) in places.into_iter().zip(run.scan(source, progress)?) {
            outputs[i] = Some(output);
        }
    }
    Ok(outputs.into_iter().flatten().collect())
}

/// A scan for recipients whose keys share masks.
struct Run<'a> {
    detectors: Vec<&'a RoundsDetector>,
    request: &'a ScanRequest,
    clues: ClueKind,
    plan: RoundsPlan,
    /// The seed of each page of the range.
    seeds: Vec<[u8; SEED_BYTES]>,
    /// The key of fingerprints of each page, if the scan contains all payloads.
    fingerprints: Vec<FingerprintKey>,
    stages: Stages,
    unusable: usize,
}

impl<'a> Run<'a> {
    fn new(
        detectors: Vec<&'a RoundsDetector>,
        request: &'a ScanRequest,
    ) -> Result<Self, DetectorError> {
        let (params, clues) = (detectors[0].params(), detectors[0].key().clues);
        let (range, bytes) = (request.range.clone(), request.payload_bytes);
        let plan = RoundsPlan::new(params, range, bytes, clues)?;
        let seeds = page_seeds(&request.secret, &plan);
        let shown = seeds.iter().filter(|_| plan.sends_all());
        Ok(Self {
            fingerprints: shown.map(FingerprintKey::new).collect(),
            plan,
            seeds,
            detectors,
            request,
            clues,
            stages: Stages::default(),
            unusable: 0,
        })
    }

    fn of(&self) -> Of<'a> {
        Of {
            params: self.detectors[0].params(),
            board_id: &self.request.board_id,
            clues: self.clues,
            payload_bytes: self.request.payload_bytes,
        }
    }

    fn scan(
        mut self,
        source: &mut dyn MessageSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ScanOutput>, DetectorError> {
        let sections = self.plan.sections().to_vec();
        progress.stage("scan", sections.len() as u64);
        // By recipient and section.
        let mut parts: Vec<Vec<Vec<ScanPart>>> =
            self.detectors.iter().map(|_| Vec::new()).collect();
        let (mut payloads, mut fingerprints) = (Vec::new(), Vec::new());
        for section in &sections {
            check_stopped(progress)?;
            let (blocks, read, marks) = self.packed(source, section, progress)?;
            if self.plan.sends_all() {
                payloads.extend(read.payloads);
                if self.clues == ClueKind::Bound {
                    fingerprints.extend(marks);
                }
            }
            for (recipient, detector) in self.detectors.iter().enumerate() {
                let (params, key) = (detector.params(), &detector.key().scan);
                let shared = || share(&params.scan, key, recipient, &blocks);
                parts[recipient].push(self.stages.time("sharing", shared));
            }
            progress.advance(1);
        }
        let output = |(detector, sections): (&&RoundsDetector, Vec<Vec<ScanPart>>)| ScanOutput {
            scanned: Scanned {
                header: RoundsHeader {
                    key_id: detector.key().id,
                    board_id: self.request.board_id,
                    range: self.request.range.clone(),
                    payload_bytes: self.request.payload_bytes,
                    sealing: self.request.sealing,
                    clues: self.clues,
                    seeds: self.seeds.clone(),
                },
                sections,
                payloads: payloads.clone(),
                fingerprints: fingerprints.clone(),
            },
            stages: self.stages.clone(),
            unusable_clues: self.unusable,
        };
        Ok(self.detectors.iter().zip(parts).map(output).collect())
    }

    /// Reads the messages of a section and packs their clues; also returns the fingerprints of bound clues if the scan
    /// contains all payloads.
    fn packed(
        &mut self,
        source: &mut dyn MessageSource,
        section: &SectionGroups,
        progress: &dyn Progress,
    ) -> Result<(Vec<Packed>, Read, Vec<u32>), DetectorError> {
        let of = self.of();
        let scan = &of.params.scan;
        let first = section.section * scan.section() as u64;
        let range = self.plan.range();
        let (start, end) = (
            range.start.max(first),
            range.end.min(first + scan.section() as u64),
        );
        let with_payloads = self.plan.sends_all();
        let read = || Read::new(of, source, start..end, with_payloads);
        let read = self.stages.time("read", read)?;
        let keys: Vec<&PackingKey> = self
            .detectors
            .iter()
            .map(|detector| &detector.key().scan.packing)
            .collect();
        let block_size = scan.block() as u64;
        let block_at = |number: usize| {
            let at = first + number as u64 * block_size;
            let (from, to) = (start.max(at), end.min(at + block_size));
            let mut clues = unusable_clues(of);
            let mut block = Block {
                number,
                fingerprints: Vec::new(),
                unusable: 0,
                packed: Vec::new(),
            };
            let parser = Read::parser(of);
            let mut residues = vec![0; parser.residues()];
            for index in from..to {
                let (message, coefficient) = ((index - start) as usize, (index - at) as usize);
                let mut fingerprint = 0;
                if parser.parse_into(read.clue(message), &mut residues).is_ok() {
                    let hashed = read.hashed(of, message);
                    set_clue(of, &mut clues, coefficient, &residues, hashed.as_ref());
                    let key = self.fingerprints.get(self.plan.row_of(index));
                    fingerprint = hashed
                        .zip(key)
                        .map_or(0, |(hashed, key)| hashed.fingerprint(key));
                } else {
                    block.unusable += 1;
                }
                block.fingerprints.push(fingerprint);
            }
            (block, clues)
        };
        let numbers: Vec<usize> = ((start - first) / block_size
            ..(end - first).div_ceil(block_size))
            .map(|number| number as usize)
            .collect();
        let pack_all = || -> Result<Vec<Vec<Block>>, DetectorError> {
            numbers
                .par_chunks(BLOCKS_TOGETHER)
                .with_max_len(1)
                .map(|together| {
                    check_stopped(progress)?;
                    let read = together.iter().copied().map(block_at);
                    let (mut blocks, clues): (Vec<Block>, Vec<BlockOfClues>) = read.unzip();
                    let packed = pack(scan.opening(), &keys, &clues);
                    for (block, own) in blocks.iter_mut().zip(packed) {
                        block.packed = own;
                    }
                    Ok(blocks)
                })
                .collect()
        };
        let blocks = self.stages.time("packing", pack_all)?;
        let mut fingerprints = Vec::with_capacity(read.messages());
        let mut packed: Vec<Packed> = (0..scan.blocks()).map(|_| None).collect();
        for block in blocks.into_iter().flatten() {
            self.unusable += block.unusable;
            fingerprints.extend(block.fingerprints);
            packed[block.number] = Some(block.packed);
        }
        Ok((packed, read, fingerprints))
    }
}

/// A block of messages.
struct Block {
    /// The number in the section.
    number: usize,
    fingerprints: Vec<u32>,
    unusable: usize,
    packed: Vec<ModuleCipher>,
}

/// Returns a block without a usable clue. A message without one has `a = 0` and a b far from the window, so it is
/// impertinent.
fn unusable_clues(of: Of<'_>) -> BlockOfClues {
    let (messages, width) = (of.params.scan.block(), of.params.clue.spec().n);
    let with_rows = match of.clues {
        ClueKind::Plain => 0,
        ClueKind::Bound => COORDINATES,
    };
    BlockOfClues {
        a: vec![0; messages * width],
        b: vec![vec![of.params.nobody(); messages]; COORDINATES],
        extra: vec![vec![0; messages * OFFSET_LEN]; with_rows],
    }
}

/// Sets the clue of a coefficient: its residues a and b, and the rows of a bound clue.
fn set_clue(
    of: Of<'_>,
    clues: &mut BlockOfClues,
    coefficient: usize,
    residues: &[u32],
    hashed: Option<&Hashed<'_>>,
) {
    let width = of.params.clue.spec().n;
    let (a, b) = residues.split_at(width);
    clues.a[coefficient * width..][..width].copy_from_slice(a);
    for (to, &own) in clues.b.iter_mut().zip(b) {
        to[coefficient] = own;
    }
    if let Some(hashed) = hashed {
        let mut rows = [[0; OFFSET_LEN]; COORDINATES];
        hashed.rows_into(&of.params.clue, &mut rows);
        for (to, row) in clues.extra.iter_mut().zip(&rows) {
            to[coefficient * OFFSET_LEN..][..OFFSET_LEN].copy_from_slice(row);
        }
    }
}
