//! Test vectors of single operators, computed by the evaluator.

use crate::Outcome;
use crate::image::{Op, OpKind};
use crate::machine::Machine;
use omr_bgv::{Ciphertext, Evaluator, GaloisKey};
use omr_ring::{Basis, Coeff, Conversion, Eval, Poly, Ring};
use omr_rlwe::{KeyShape, Rlwe};
use rand_core::Rng;

/// A ring with its slots and levels, and the key that is number 0 in the machine.
pub(crate) struct Context<'a> {
    pub(crate) ev: Evaluator<'a>,
    pub(crate) key: &'a GaloisKey,
}

impl Context<'_> {
    fn basis(&self) -> &Basis {
        self.ev.chain.basis(0)
    }

    fn shape(&self) -> &KeyShape {
        self.key.switching_key().shape()
    }

    /// Returns the encoded slots as a plaintext of level 0.
    pub(crate) fn lift(&self, slots: &[u32]) -> Poly<Eval> {
        let p = self.ev.plain.p().value() as u32;
        let coeffs = self.ev.plain.encode(slots);
        self.ev.ring.lift_plain(&coeffs, p, self.basis())
    }
}

/// Returns random rows. Each begins with the least and the largest residue.
pub(crate) fn random_rows(ring: &Ring, basis: &Basis, rng: &mut impl Rng) -> Poly<Coeff> {
    let mut words = Vec::new();
    for &id in basis.ids() {
        let q = ring.modulus(id).value();
        words.extend((0..ring.n()).map(|i| match i {
            0 => 0,
            1 => q - 1,
            _ => rng.next_u64() % q,
        }));
    }
    Poly::from_rows(ring.n(), basis, words)
}

/// Adds both transforms modulo the first `count` primes of the key, in sequence.
pub(crate) fn transforms(cx: &Context, machine: &mut Machine, rows: &Poly<Coeff>, count: usize) {
    let at = machine.put(rows.rows());
    let n = cx.ev.ring.n();
    let forward = cx.ev.ring.forward(rows.clone());
    let inverse = cx.ev.ring.inverse(Poly::from_rows(
        n,
        rows.basis(),
        rows.rows().flatten().copied().collect(),
    ));
    let results: [(&'static str, OpKind, Vec<&[u64]>); 2] = [
        ("ntt", OpKind::Ntt, forward.rows().take(count).collect()),
        ("intt", OpKind::Intt, inverse.rows().take(count).collect()),
    ];
    for (name, kind, rows) in results {
        let to = machine.reserve(rows.len());
        let op = Op::new(kind).terms(count).a(at, 0).to(to);
        let expected = (to..).zip(rows).map(|(limb, row)| (limb, row.to_vec()));
        machine.test(name, vec![op], expected.collect());
    }
}

/// Adds the raising of digits and the conversion of the division, with the constants of the keys.
pub(crate) fn conversions(cx: &Context, machine: &mut Machine, rows: &Poly<Coeff>) {
    let ring = cx.ev.ring;
    let limbs = cx.basis().len();
    let special = cx.shape().special().clone();
    let all = cx.shape().extended();
    let at = machine.put(rows.rows());
    let config = |at: usize| {
        let found = machine.image.config.iter().find(|c| c.0 == at);
        found.expect("loaded with the key").1 as usize
    };
    let (division, raise) = (config(6), config(9));
    let weighted = |conversion: &Conversion, from: &Basis| -> Vec<Vec<u64>> {
        let ids = from.ids().iter();
        ids.map(|&id| {
            let (m, w) = (ring.modulus(id), conversion.weight(id));
            rows.row_of(id).iter().map(|&x| m.mul(x, w)).collect()
        })
        .collect()
    };
    let own = &cx.shape().digits()[0];
    let conversion = Conversion::raise(ring, own, &all.minus(own));
    let sources = weighted(&conversion, own);
    let raised_poly =
        conversion.apply(ring, &sources.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let raised: Vec<_> = raised_poly
        .basis()
        .ids()
        .iter()
        .zip(raised_poly.rows())
        .collect();
    // All targets, then as many as there are sources.
    for (name, count) in [("bconv", raised.len()), ("bconv_half", own.len())] {
        let to = machine.reserve(all.len());
        let op = Op::new(OpKind::Bconv)
            .terms(own.len())
            .targets(count, 0..own.len())
            .constants(raise)
            .a(at, 0)
            .to(to);
        let expected = raised[..count]
            .iter()
            .map(|&(&id, row)| (to + id, row.to_vec()))
            .collect();
        machine.test(name, vec![op], expected);
    }

    let empty = Basis::new([]);
    let conversion = Conversion::division(ring, &special, cx.basis(), &empty, cx.ev.plain.p());
    let sources = weighted(&conversion, &special);
    let delta = conversion.apply(ring, &sources.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let to = machine.reserve(limbs);
    let op = Op::new(OpKind::Bconv)
        .prime(limbs)
        .terms(special.len())
        .targets(limbs, limbs..limbs)
        .constants(division)
        .a(at + limbs, 0)
        .to(to);
    let expected = (to..)
        .zip(delta.rows())
        .map(|(limb, row)| (limb, row.to_vec()))
        .collect();
    machine.test("bconv", vec![op], expected);
}

/// Adds CCadd, PCmul, and a sum of two products.
pub(crate) fn sums_and_products(
    cx: &Context,
    machine: &mut Machine,
    inputs: &[Ciphertext; 2],
    slots: [&[u32]; 2],
) -> Outcome<()> {
    let ev = cx.ev;
    let limbs = cx.basis().len();
    let at = [
        machine.put_ciphertext(&inputs[0]),
        machine.put_ciphertext(&inputs[1]),
    ];
    let mut sum = inputs[0].clone();
    ev.add_assign(&mut sum, &inputs[1])?;
    let to = machine.reserve(2 * limbs);
    let ops = machine.each_limb(|prime, i| {
        let op = Op::new(OpKind::Add).prime(prime).terms(1);
        op.a(at[0] + i, 0).b(at[1] + i, 0).to(to + i)
    });
    machine.test("ccadd", ops, Machine::expect(to, &sum));

    let plains = slots.map(|slots| cx.lift(slots));
    let factors: Vec<usize> = plains
        .iter()
        .map(|plain| machine.put_factor(plain))
        .collect();
    for terms in [1, 2] {
        let mut product = inputs[0].clone();
        ev.mul_plain_assign(&mut product, &plains[0]);
        if terms == 2 {
            ev.mul_plain_add(&mut product, &inputs[1], &plains[1])?;
        }
        let to = machine.reserve(2 * limbs);
        let ops = machine.each_limb(|prime, i| {
            let op = Op::new(OpKind::Dot).prime(prime).terms(terms);
            op.a(at[0] + i, at[1] - at[0])
                .b(factors[0] + prime, factors[1] - factors[0])
                .to(to + i)
        });
        let name = if terms == 1 { "pcmul" } else { "dot" };
        machine.test(name, ops, Machine::expect(to, &product));
    }
    Ok(())
}

/// Adds the automorphism of the key, without a key switch.
pub(crate) fn automorphism(cx: &Context, machine: &mut Machine, input: &Ciphertext) {
    let (ring, limbs) = (cx.ev.ring, cx.basis().len());
    let at = machine.put_ciphertext(input);
    let parts = input.parts().iter();
    let images: Vec<_> = parts
        .map(|p| cx.key.automorphism().apply(ring, p))
        .collect();
    let to = machine.reserve(2 * limbs);
    let ops = machine.each_limb(|prime, i| {
        let op = Op::new(OpKind::Copy).prime(prime).terms(1).permute();
        op.a(at + i, 0).to(to + i)
    });
    let rows = images.iter().flat_map(Poly::rows).enumerate();
    let expected = rows.map(|(i, row)| (to + i, row.to_vec())).collect();
    machine.test("automorphism", ops, expected);
}

/// Adds the key switch without an automorphism.
pub(crate) fn key_switch(cx: &Context, machine: &mut Machine, input: &Ciphertext) {
    let at = machine.put_ciphertext(input);
    let pair = Rlwe {
        c0: input.parts()[0].clone(),
        c1: input.parts()[1].clone(),
    };
    let key = cx.key.switching_key();
    let switched = key.switch(cx.ev.ring, &pair, cx.ev.plain.p());
    let to = machine.reserve(2 * cx.basis().len());
    let op = Op::new(OpKind::Switch).a(at, 0).to(to);
    let rows = switched.c0.rows().chain(switched.c1.rows()).enumerate();
    let expected = rows.map(|(i, row)| (to + i, row.to_vec())).collect();
    machine.test("keyswitch", vec![op], expected);
}

/// Adds the rotation by the key, with `turned` as the expected image of `input`.
pub(crate) fn rotation(machine: &mut Machine, input: &Ciphertext, turned: &Ciphertext) {
    let at = machine.put_ciphertext(input);
    let to = machine.reserve(2 * machine.basis.len());
    let op = Machine::rotation(0, at, to);
    machine.test("rot", vec![op], Machine::expect(to, turned));
}
