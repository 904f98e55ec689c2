//! Captions in COCO's JSON, plain or gzipped, under every rule for several captions of one image; and files of instances.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_datasets::{CaptionPolicy, coco::CocoCaptions, coco_instances::Supercategories};
use specimen_fuzz::with_file;

fuzz_target!(|bytes: &[u8]| {
    with_file("instances.json", bytes, |path| {
        if let Ok(known) = Supercategories::read(path) {
            assert!(known.of_image("139").iter().all(|name| !name.trim().is_empty()), "a supercategory has a name");
        }
    });
    with_file("captions.json", bytes, |path| {
        let Ok(captions) = CocoCaptions::read(path) else { return };
        for (name, policy) in CaptionPolicy::ALL.map(|policy| (policy.name(), policy)) {
            if let Ok(set) = captions.prompts(name, policy) {
                assert!(set.prompts().len() <= captions.annotations().len(), "no caption is invented");
            }
        }
    });
});
