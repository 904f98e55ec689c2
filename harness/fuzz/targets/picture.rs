//! Pictures of every format that is read, and a resize of what came out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_pixels::{Picture, Pipeline};

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = specimen_pixels::decode(bytes) else { return };
    let (width, height) = (image.width(), image.height());
    assert_eq!(image.rgb().len(), width * height * 3, "three bytes a pixel");
    if width * height > 1 << 16 {
        return;
    }
    let step = r#"[{"step": "resize", "to": {"square": 9}, "by": {"engine": "pil-u8", "filter": "bicubic"}}]"#;
    let pipeline: Pipeline = serde_json::from_str(step).expect("a step as protocols write it");
    let small: Picture = pipeline.apply(image).expect("any picture can be made smaller");
    assert_eq!(small.size(), (9, 9));
});
