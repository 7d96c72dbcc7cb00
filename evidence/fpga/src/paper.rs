//! The published accelerator: its blocks, its cost model and its exploration.
//!
//! Source: Bosworth, Lee, Kim, "Leveraging FPGAs for Homomorphic Matrix-Vector Multiplication in Oblivious
//! Message Retrieval", Tables I to IV and equations (3) to (7).

/// The number of baby steps of one product, b̃ (Table II).
pub const BABY_STEPS: u32 = 46;

/// The number of giant steps of one product, g̃ (Table II).
pub const GIANT_STEPS: u32 = 23;

/// The DSPs of the card. A design may use all of them (section IV-A).
pub const DSP_LIMIT: u32 = 9024;

/// The URAMs of the card (section IV-A).
pub const URAM_LIMIT: u32 = 960;

/// The milliseconds that the paper states for one product on a processor, or for both: see [`speedups`].
pub const PROCESSOR_MS: f64 = 29_800.0;

/// The parallelism of a design (Table I).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// The number of coefficients that a PCmul core processes in one cycle.
    pub pcmul_lanes: u32,
    /// The number of PCmul cores, PI.
    pub pcmul_cores: u32,
    /// The number of coefficients that the parts of Rot other than its transforms process in one cycle.
    pub rot_lanes: u32,
    /// The number of butterflies of a transform, PB.
    pub butterflies: u32,
}

impl Design {
    /// The best design of Table III.
    pub const BEST: Self = Self {
        pcmul_lanes: 16,
        pcmul_cores: 2,
        rot_lanes: 16,
        butterflies: 64,
    };

    /// Returns the latencies and DSPs of the design's blocks.
    #[must_use]
    pub fn blocks(self) -> Blocks {
        Blocks {
            add_ms: 0.80,
            multiply_ms: 0.80 * 16.0 / f64::from(self.pcmul_lanes),
            rotate_ms: rotate_ms(self.rot_lanes, self.butterflies),
            add_dsp: 1,
            multiply_dsp: 56 * self.pcmul_lanes + 1,
            rotate_dsp: 2 * 31 * self.butterflies + 72 * self.rot_lanes + 3,
        }
    }

    /// Returns the milliseconds of one product of the matrix with a ciphertext, equation (6).
    #[must_use]
    pub fn time_ms(self) -> f64 {
        let blocks = self.blocks();
        let steps = f64::from(BABY_STEPS - 1) * blocks.rotate_ms;
        steps + f64::from(GIANT_STEPS) * blocks.iteration_ms(self.pcmul_cores)
    }

    /// Returns the DSPs of the design, equation (7).
    #[must_use]
    pub fn dsp(self) -> u32 {
        let blocks = self.blocks();
        (self.pcmul_cores + 1) * blocks.add_dsp
            + self.pcmul_cores * blocks.multiply_dsp
            + blocks.rotate_dsp
    }

    /// Returns the URAMs of the design: 313 of Rot and 346 of buffers (Table IV), which grow in proportion to
    /// their lanes above 16.
    ///
    /// Section IV-B states only that they grow; the proportion is an assumption.
    #[must_use]
    pub fn uram(self) -> u32 {
        313 * self.rot_lanes.div_ceil(16) + 346 * self.pcmul_lanes.div_ceil(16)
    }
}

/// Latencies and DSPs of the three operators at a design's parallelism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// Milliseconds of CCadd, L'_A.
    pub add_ms: f64,
    /// Milliseconds of PCmul, L'_M.
    pub multiply_ms: f64,
    /// Milliseconds of Rot, L'_R.
    pub rotate_ms: f64,
    /// DSPs of CCadd.
    pub add_dsp: u32,
    /// DSPs of PCmul.
    pub multiply_dsp: u32,
    /// DSPs of Rot.
    pub rotate_dsp: u32,
}

impl Blocks {
    /// Returns the milliseconds of one giant step with `cores` PCmul cores, equation (5).
    #[must_use]
    pub fn iteration_ms(self, cores: u32) -> f64 {
        let products = f64::from(BABY_STEPS) / f64::from(cores) * self.multiply_ms + self.add_ms;
        products.max(self.rotate_ms) + self.add_ms
    }
}

/// Returns the milliseconds of Rot: 31.35 at 16 lanes and 64 butterflies (Table IV).
///
/// The paper has one figure; we split it. Of the 24.98 ms that the operations of a key switch take in sequence,
/// 4.89 are transforms, and both parts shrink with their own parallelism.
fn rotate_ms(lanes: u32, butterflies: u32) -> f64 {
    const TRANSFORMS: f64 = 4.89 / 24.98;
    31.35
        * (TRANSFORMS * 64.0 / f64::from(butterflies)
            + (1.0 - TRANSFORMS) * 16.0 / f64::from(lanes))
}

/// Returns all designs that fit the card and whose parallelism is a power of two. The fastest design is first;
/// of equally fast ones, that with fewer DSPs.
#[must_use]
pub fn explore() -> Vec<Design> {
    let powers = |most: u32| (0..=most).map(|exponent| 1u32 << exponent);
    let mut designs = Vec::new();
    for pcmul_lanes in powers(6) {
        for pcmul_cores in powers(6) {
            for rot_lanes in powers(6) {
                for butterflies in powers(8) {
                    designs.push(Design {
                        pcmul_lanes,
                        pcmul_cores,
                        rot_lanes,
                        butterflies,
                    });
                }
            }
        }
    }
    designs.retain(|design| design.dsp() <= DSP_LIMIT && design.uram() <= URAM_LIMIT);
    designs
        .sort_by(|a, b| (a.time_ms().total_cmp(&b.time_ms())).then_with(|| a.dsp().cmp(&b.dsp())));
    designs
}

/// One interpretation of the paper's 29.8 s of processor time, with the resulting speed-ups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// The number of matrix products that the 29.8 s include; the affine transform has two.
    pub products: u32,
    /// The ratio of the affine transform on the processor to two products on the card, one after the other.
    pub separate: f64,
    /// The ratio of the affine transform on the processor to two products on the card that share their baby
    /// steps.
    pub shared: f64,
}

/// Returns the milliseconds of the whole affine transform on the published accelerator: with separate baby
/// steps for each of its two products, and with shared baby steps.
#[must_use]
pub fn affine_ms() -> (f64, f64) {
    let (best, blocks) = (Design::BEST, Design::BEST.blocks());
    let product = best.time_ms();
    let giant_steps = f64::from(GIANT_STEPS) * blocks.iteration_ms(best.pcmul_cores);
    (2.0 * product, product + giant_steps)
}

/// Returns both interpretations of "MatMul CPU time ≈ 29.8 seconds": for one product, and for the two products
/// of an affine transform.
#[must_use]
pub fn speedups() -> [Speedup; 2] {
    let (separate_ms, shared_ms) = affine_ms();
    [1, 2].map(|products| {
        let processor_ms = PROCESSOR_MS * 2.0 / f64::from(products);
        Speedup {
            products,
            separate: processor_ms / separate_ms,
            shared: processor_ms / shared_ms,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equations (5) to (7) on the figures of Table IV yield its last row.
    #[test]
    fn the_model_reproduces_the_published_time_and_dsps() {
        let blocks = Design::BEST.blocks();
        assert_eq!((blocks.multiply_dsp, blocks.rotate_dsp), (897, 5123));
        assert!((blocks.rotate_ms - 31.35).abs() < 1e-9);
        assert!((blocks.iteration_ms(2) - 32.15).abs() < 1e-9);
        assert!((Design::BEST.time_ms() - 2150.2).abs() < 1e-6);
        assert_eq!(Design::BEST.dsp(), 6920);
        assert_eq!(Design::BEST.uram(), 659);
    }

    /// Table III: four designs in this order.
    #[test]
    fn the_exploration_reproduces_the_published_order() {
        let best: Vec<_> = explore().into_iter().take(5).collect();
        let columns: Vec<_> = best
            .iter()
            .map(|d| (d.pcmul_lanes, d.pcmul_cores, d.rot_lanes, d.butterflies))
            .collect();
        assert_eq!(
            columns[..4],
            [
                (16, 2, 16, 64),
                (8, 4, 16, 64),
                (4, 8, 16, 64),
                (2, 16, 16, 64)
            ]
        );
        let dsp: Vec<_> = best.iter().map(|d| d.dsp()).collect();
        assert_eq!(dsp, [6920, 6924, 6932, 6948, 6980]);
    }

    /// The ratio is 13.86 if 29.8 s is one product; 6.9 and 10.3 if it is both.
    #[test]
    fn both_readings_of_the_speed_up() {
        let [one, both] = speedups();
        let tenths = |x: f64| (x * 10.0).round() / 10.0;
        assert!((one.separate - 13.86).abs() < 0.005);
        assert_eq!(tenths(one.shared), 20.6);
        assert_eq!((tenths(both.separate), tenths(both.shared)), (6.9, 10.3));
        let (separate, shared) = affine_ms();
        assert!((separate - 4300.4).abs() < 1e-6 && (shared - 2889.65).abs() < 1e-6);
    }
}
