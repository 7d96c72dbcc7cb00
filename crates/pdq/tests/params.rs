//! Parameter sets.

use omr_pdq::{Params, Spec};

#[test]
fn every_set_loads_and_holds_what_it_promises() {
    for spec in Spec::ALL {
        let params = Params::named(spec.name).unwrap();
        for level in 0..params.chain.len() {
            eprintln!(
                "{} {level} {:.1} limbs {}",
                spec.name,
                params.chain.log2(&params.ring, level),
                params.chain.basis(level).len()
            );
        }
        eprintln!("{:?}", params.key_moduli());
    }
}
