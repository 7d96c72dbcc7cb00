//! Rates of a card alone: transforms of rows, multiply-adds.

use crate::measure::digest::timed;
use crate::measure::median;
use omr_cuda::{Arithmetic, Card, CudaRing, Kernel, Launch, Machine, MachineError};
use omr_ring::{Coeff, Poly, Ring, RowTransform};
use std::sync::Arc;

/// The number of rows in a batch of transforms.
const ROWS: usize = 256;
/// The number of batches of transforms that are timed together.
const BATCHES: usize = 8;

/// Returns the microseconds of transforming a row to the evaluation domain and back, in batches: medians.
pub(super) fn transforms(card: &Card, ring: &Ring) -> Result<[f64; 2], MachineError> {
    let basis = ring.everything();
    let polys: Vec<_> = (0..ROWS.div_ceil(basis.len()))
        .map(|_| Poly::<Coeff>::zero(ring, &basis))
        .collect();
    let backend = ring.backend().expect("a ring on a card");
    let rows: Vec<RowTransform> = polys
        .iter()
        .flat_map(|poly| {
            let ids = basis.ids().iter();
            ids.map(|&id| RowTransform::in_place(id, poly.at(id)))
        })
        .take(ROWS)
        .collect();
    let inverse: Vec<(RowTransform, u64)> = rows.iter().map(|&row| (row, 1)).collect();
    let each = |batch: &dyn Fn()| -> Result<f64, MachineError> {
        let mut times = Vec::new();
        for _ in 0..20 {
            card.wait()?;
            let (done, seconds) = timed(|| {
                (0..BATCHES).for_each(|_| batch());
                card.wait()
            });
            done?;
            times.push(seconds * 1e6 / (ROWS * BATCHES) as f64);
        }
        Ok(median(times))
    };
    Ok([
        each(&|| backend.forward(&rows))?,
        each(&|| backend.inverse(&inverse))?,
    ])
}

/// Returns these microseconds for the arithmetic that the card does not use by default.
pub(super) fn in_other_arithmetic(ring: &Ring, own: Arithmetic) -> Result<[f64; 2], MachineError> {
    let mut new_card = Card::new(0)?;
    new_card.set_arithmetic(match own {
        Arithmetic::Whole => Arithmetic::Floating,
        Arithmetic::Floating => Arithmetic::Whole,
    });
    let card = Arc::new(new_card);
    let backend = CudaRing::new(card.clone(), ring)?;
    transforms(&card, &ring.with_backend(Arc::new(backend)))
}

/// Returns the operations per second of each kind.
pub(super) fn rates(card: &Card) -> Result<[f64; 3], MachineError> {
    const BLOCKS: u32 = 2112;
    const THREADS: u32 = 256;
    const CHAINS: f64 = 8.0;
    const ROUNDS: u64 = 1 << 14;
    let words = (BLOCKS * THREADS) as usize;
    let to = card.allocate(words)?;
    let rate = |kernel| {
        let launch = || {
            let launch = Launch {
                kernel,
                blocks: BLOCKS,
                rows: 1,
                threads: THREADS,
                shared: 0,
            };
            card.launch(&[launch], &[ROUNDS, to])?;
            card.wait()
        };
        launch()?;
        let (done, seconds) = timed(launch);
        done?;
        Ok(words as f64 * CHAINS * ROUNDS as f64 / seconds)
    };
    let rates: Result<Vec<f64>, MachineError> =
        [Kernel::RateFloating, Kernel::RateWhole, Kernel::RateWide]
            .into_iter()
            .map(rate)
            .collect();
    card.release(to, words);
    Ok(rates?.try_into().expect("three rates"))
}
