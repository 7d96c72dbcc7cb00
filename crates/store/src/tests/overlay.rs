//! The overlay against plain bytes.

use proptest::prelude::*;
use redb::StorageBackend;

use super::disk::Disk;
use crate::overlay::Overlay;

proptest! {
    #[test]
    fn behaves_as_plain_bytes(
        base in 0usize..20_000,
        steps in prop::collection::vec((any::<bool>(), 0usize..25_000, 0usize..9_000), 1..20),
    ) {
        let mut model: Vec<u8> = (0..base).map(|i| (i % 251) as u8 + 1).collect();
        let disk = Disk::from_bytes(model.clone());
        let overlay = Overlay::new(disk.attach()).unwrap();
        for (step, (resize, offset, len)) in steps.into_iter().enumerate() {
            if resize {
                model.resize(offset, 0);
                overlay.set_len(offset as u64).unwrap();
            } else {
                let data = vec![step as u8; len];
                let fits = offset + len <= model.len();
                prop_assert_eq!(overlay.write(offset as u64, &data).is_ok(), fits);
                if fits {
                    model[offset..offset + len].copy_from_slice(&data);
                }
            }
            let mut all = vec![0xEE; model.len()];
            overlay.read(0, &mut all).unwrap();
            prop_assert!(all == model);
        }
        prop_assert_eq!(disk.operations(), 0);
    }
}
