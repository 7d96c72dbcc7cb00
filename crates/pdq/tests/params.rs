//! Parameter sets.

use omr_pdq::{Params, Spec};

#[test]
fn every_set_loads_and_holds_what_it_promises() {
    for spec in Spec::ALL {
        let params = Params::named(spec.name).unwrap();
        let levels = params.chain.len();
        assert_eq!(
            levels,
            spec.depth + 2,
            "{}: one level for selections, one a product",
            spec.name
        );
        for (n, bits) in params.key_moduli() {
            let secure = bits <= omr_protocol::params::largest_log_pq(n, None);
            assert!(
                secure || spec.insecure,
                "{}: {bits} bits in dimension {n}",
                spec.name
            );
            eprintln!("{} {n} {bits:.1}", spec.name);
        }
    }
}
