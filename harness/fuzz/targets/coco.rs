//! Captions in COCO's JSON, plain or gzipped, under every rule for several captions of one image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_datasets::{CaptionPolicy, coco::CocoCaptions};
use specimen_fuzz::with_file;

fuzz_target!(|bytes: &[u8]| {
    with_file("captions.json", bytes, |path| {
        let Ok(captions) = CocoCaptions::read(path) else { return };
        for (name, policy) in CaptionPolicy::ALL.map(|policy| (policy.name(), policy)) {
            if let Ok(set) = captions.prompts(name, policy) {
                assert!(set.prompts().len() <= captions.annotations().len(), "no caption is invented");
            }
        }
    });
});
