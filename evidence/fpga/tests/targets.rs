//! The model on published sets: its counts, the figures that a design has to reach, and errors.

use omr_fpga::FpgaError;
use omr_fpga::blocks::{Blocks, Source, Way};
use omr_fpga::circuit::Circuit;
use omr_fpga::cost::Lanes;
use omr_fpga::design::{Design, Diagonals};
use omr_fpga::device::Device;
use omr_fpga::explore::{Grid, explore};
use omr_fpga::predict::predict;
use omr_papers::clear::{Params, Spec};
use omr_protocol::ClueKind;

const DESIGN: Design = Design {
    cores: 3,
    butterflies: 64,
    conversion_lanes: 256,
    key_lanes: 64,
    sum_lanes: 256,
    block: 16,
    hoisted: 1,
    diagonals: Diagonals::Cached,
    summed: true,
};

fn circuit(clues: ClueKind) -> Circuit {
    let params = Params::named(Spec::SOPHOMR).expect("a set");
    Circuit::new(&params, clues).expect("a set that the RTL holds")
}

/// The counts of docs/design/affine.md: 64 + 30 rotations, 1,024 diagonals, 24 primes, two digits; 12 and 11
/// special primes.
#[test]
fn the_circuit_is_counted_from_the_set() {
    let plain = circuit(ClueKind::Plain);
    assert_eq!(plain.rotations(), [64, 30]);
    assert_eq!((plain.diagonals(), plain.plaintexts()), (1024, 1024));
    assert_eq!(
        (plain.step.digits.clone(), plain.step.special),
        (vec![12, 12], 12)
    );
    assert_eq!(
        (plain.giant.digits.clone(), plain.giant.special),
        (vec![12, 12], 11)
    );
    let transforms = [&plain.step, &plain.giant].map(|key| {
        [key.raising(), key.dividing()]
            .map(|conversions| (conversions.inverse, conversions.forward))
    });
    assert_eq!(transforms, [[(24, 48), (24, 48)], [(24, 46), (22, 48)]]);
    // 13 products with each of 24 other rows of both digits; 13 with each of 24 rows of both parts.
    let products = [
        plain.step.raising().products,
        plain.step.dividing().products,
    ];
    assert_eq!(products, [2 * 24 * 13, 2 * 24 * 13]);
    assert_eq!(plain.step.key_rows(), 144);
    let bound = circuit(ClueKind::Bound);
    assert_eq!((bound.limbs, bound.rotations()), (24, [64, 30]));
    assert_eq!(bound.plaintexts(), 1024 + 2 * 8);
    assert!(!plain.is_same_work(&bound));
}

/// The best design takes at most 200 ms for both coordinates, and another one at most 500 ms for a new board,
/// within the card's limits: docs/fpga.md has the figures.
#[test]
fn the_best_designs_are_as_fast_as_stated() {
    let circuit = circuit(ClueKind::Plain);
    let device = Device::U55C;
    let blocks = Blocks::of_repository().expect("hw/model/cycles.json");
    let found = explore(&circuit, &blocks, &device, &Grid::exact()).expect("designs that fit");
    let best = found.best().expect("a front");
    assert!(best.warm.ms <= 200.0, "{}", best.warm.ms);
    let new_board = Grid {
        new_board: true,
        ..Grid::exact()
    };
    let for_new = explore(&circuit, &blocks, &device, &new_board).expect("designs that fit");
    let other = for_new.best().expect("a front");
    assert!(other.cold.ms <= 500.0, "{}", other.cold.ms);
    assert!(other.cold.ms < best.cold.ms && best.warm.ms < other.warm.ms);
    for point in &found.front {
        let taken = point.warm.resources;
        assert!(taken.dsp <= 7219 && taken.bram36 <= 2016 && taken.uram <= 960);
        assert!(taken.lut <= 1_043_200 && taken.ff <= 2_085_600);
        assert!(taken.hbm_bytes <= 16e9);
        for stage in point.warm.stages.iter().chain(&point.cold.stages) {
            assert!(
                stage.hbm_share <= 1.0 && stage.pcie_share <= 1.0,
                "{stage:?}"
            );
        }
        let busy = point.warm.busy;
        assert!(
            busy.transforms <= 1.0
                && busy.conversions <= 1.0
                && busy.keys <= 1.0
                && busy.sums <= 1.0
        );
    }
    let worse = |pair: &[omr_fpga::explore::Point]| {
        pair[0].warm.resources.dsp < pair[1].warm.resources.dsp
            && pair[0].warm.cycles > pair[1].warm.cycles
    };
    assert!(found.front.windows(2).all(worse));
}

/// No schedule is shorter than the work of its transforms: 64 and 30 rotations, the next level and b on three
/// cores; a new board has 25 transforms more for each diagonal.
#[test]
fn a_prediction_has_room_for_all_transforms() {
    let (circuit, blocks) = (circuit(ClueKind::Plain), Blocks::formula());
    let [inverse, forward] = [Way::Inverse, Way::Forward]
        .map(|way| blocks.transform_cycles(circuit.n, DESIGN.butterflies, way));
    let rows = 65_536 / 128;
    assert_eq!(
        [inverse, forward],
        [(rows + 15) * 16 + rows, (rows + 15) * 16].map(f64::from)
    );
    let result = circuit.result_limbs;
    let counts = [
        64 * 48 + 30 * 46 + 4 * circuit.dropped,
        64 * 96 + 30 * 94 + 6 * result,
    ];
    let prediction = |cold| {
        predict(&circuit, &blocks, &DESIGN, &Device::U55C, cold).expect("a design that fits")
    };
    for (cold, plaintexts) in [(false, 0), (true, 1024)] {
        let prediction = prediction(cold);
        let least = ((counts[0] + plaintexts) as f64 * inverse
            + (counts[1] + 24 * plaintexts) as f64 * forward)
            / 3.0;
        assert!(
            prediction.cycles as f64 > least,
            "{} {least}",
            prediction.cycles
        );
        assert!(
            (prediction.cycles as f64) < 1.5 * least,
            "{} {least}",
            prediction.cycles
        );
        let stages: u64 = prediction.stages.iter().map(|stage| stage.cycles).sum();
        assert_eq!(stages, prediction.cycles);
        assert!((prediction.ms - prediction.cycles as f64 / 200e3).abs() < 1e-6);
    }
}

/// A slower block, or less memory bandwidth of the card, increases the time.
#[test]
fn blocks_and_bandwidth_change_the_time() {
    let (circuit, blocks) = (circuit(ClueKind::Plain), Blocks::formula());
    let cycles = |blocks: &Blocks, device: &Device| {
        predict(&circuit, blocks, &DESIGN, device, false)
            .expect("a design that fits")
            .cycles as f64
    };
    let usual = cycles(&blocks, &Device::U55C);
    let mut slow = blocks.clone();
    slow.ntt.cycles *= 2;
    assert!(cycles(&slow, &Device::U55C) > 1.5 * usual);
    let narrow = Device {
        hbm_bytes_per_s: 46e9,
        ..Device::U55C
    };
    assert!(cycles(&blocks, &narrow) > 3.0 * usual);
    let far = Device {
        pcie_bytes_per_s: 1.2e9,
        ..Device::U55C
    };
    assert!(cycles(&blocks, &far) > 1.3 * usual);
}

#[test]
fn designs_beyond_the_card_are_refused() {
    let (circuit, blocks) = (circuit(ClueKind::Plain), Blocks::formula());
    let refused = |design: Design, circuit: &Circuit| {
        let error = predict(circuit, &blocks, &design, &Device::U55C, false);
        error.expect_err("more than the card holds").to_string()
    };
    let big = Design {
        sum_lanes: 1024,
        ..DESIGN
    };
    let error = refused(big, &circuit);
    assert!(
        error.contains("DSP slices, expected at most 7219"),
        "{error}"
    );
    let little = Device {
        uram: 100,
        ..Device::U55C
    };
    let error = predict(&circuit, &blocks, &DESIGN, &little, false).expect_err("too little");
    assert!(
        error
            .to_string()
            .contains("128 UltraRAMs, expected at most 100"),
        "{error}"
    );
    let plain = Device {
        lut: 500_000,
        ..Device::U55C
    };
    let error = predict(&circuit, &blocks, &DESIGN, &plain, false)
        .expect_err("too little")
        .to_string();
    assert!(error.contains("LUTs, expected at most 500000"), "{error}");
    let hoisted = Design {
        hoisted: 64,
        ..DESIGN
    };
    assert!(
        refused(hoisted, &circuit).contains("16000000000"),
        "{}",
        refused(hoisted, &circuit)
    );
    assert!(refused(Design { cores: 0, ..DESIGN }, &circuit).contains("0 cores"));
    assert!(
        refused(
            Design {
                butterflies: 48,
                ..DESIGN
            },
            &circuit
        )
        .contains("48 butterflies")
    );
    let wide = Circuit {
        prime_bits: 60,
        ..circuit.clone()
    };
    assert!(refused(DESIGN, &wide).contains("at most 50 bits"));
    let large = Circuit {
        n: 1 << 17,
        ..circuit
    };
    assert!(refused(DESIGN, &large).contains("at most 65536 coefficients"));
}

/// The control costs what the measured engine has in excess of its units, and 16 measured lanes of sums replace
/// assumed ones.
#[test]
fn resources_are_those_of_measured_lanes() {
    let mut blocks = Blocks::of_repository().expect("hw/model/cycles.json");
    let [whole, ntt, row, weighing] = [
        blocks.rot.expect("a whole engine").lut,
        blocks.ntt.lut.expect("LUTs") as f64,
        blocks.pcmul.lut.expect("LUTs") as f64,
        blocks.bconv.lut.expect("LUTs") as f64,
    ];
    assert_eq!(blocks.leading().lut, whole - ntt - row - weighing);
    // One core of 64 butterflies, and as many lanes as were measured: the whole engine.
    let measured = Design {
        cores: 1,
        conversion_lanes: 128,
        key_lanes: 128,
        sum_lanes: 16,
        summed: false,
        ..DESIGN
    };
    let found = measured.fabric(&blocks).lut;
    assert!((found - whole - row / 8.0).abs() < 1.0, "{found} {whole}");
    let lanes = |dsp| Lanes {
        lanes: 16,
        dsp: Some(dsp),
        lut: Some(160.0),
        ff: Some(320.0),
    };
    (blocks.sum_lane, blocks.sum_lane_8) = (Some(lanes(104.0)), Some(lanes(112.0)));
    blocks.bconv_sums = None;
    let sums = |block| blocks.each_cost(true, block)[3];
    assert_eq!((sums(16).dsp, sums(8).dsp), (6.5, 7.0));
    assert_eq!((sums(16).lut, sums(16).ff), (10.0, 20.0));
    let conversion = blocks.each_cost(true, 16)[1].dsp;
    let weighs = blocks.bconv.dsp.expect("DSPs") as f64 / 128.0 / 12.0;
    assert!((conversion - 7.0 - weighs).abs() < 1e-9, "{conversion}");
}

/// A conversion takes the cycles of the RTL's counter, within one in a thousand. Rows wait for their weights if
/// there are no more targets than sources.
#[test]
fn a_conversion_takes_the_measured_cycles() {
    let blocks = Blocks::of_repository().expect("hw/model/cycles.json");
    let stored: serde_json::Value =
        serde_json::from_str(include_str!("../../../hw/model/cycles.json")).expect("JSON");
    for (name, targets) in [("bconv_sums", 24), ("bconv_half_sums", 12)] {
        let measured = stored[name]["cycles"].as_f64().expect("cycles");
        let found = blocks.conversion_cycles(1 << 16, [12, targets], 128, true);
        assert!((found / measured - 1.0).abs() < 1e-3, "{found} {measured}");
    }
}

#[test]
fn the_repositorys_blocks_are_read_and_damaged_ones_refused() {
    let stored = Blocks::of_repository().expect("hw/model/cycles.json");
    assert_eq!(stored.ntt.n, 1 << 16);
    let json = serde_json::to_string(&Blocks::formula()).expect("JSON");
    assert_eq!(
        Blocks::parse(&json).expect("what was written"),
        Blocks::formula()
    );
    assert!(matches!(Blocks::parse("{}"), Err(FpgaError::Cycles(_))));
    assert!(matches!(Blocks::parse("cycles"), Err(FpgaError::Cycles(_))));
    // A transform that is faster than its butterflies.
    let quick = json.replacen("8944", "8000", 1);
    let error = Blocks::parse(&quick).expect_err("too quick");
    assert!(
        error
            .to_string()
            .contains("block ntt: expected no fewer cycles"),
        "{error}"
    );
    // Files that state no source are of RTL.
    let measured = json.replacen("\"source\":\"formula\",", "", 1);
    assert_eq!(
        Blocks::parse(&measured).expect("the same").source,
        Source::Rtl
    );
}
