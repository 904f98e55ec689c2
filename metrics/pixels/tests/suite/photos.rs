//! Real photos decode to the bytes that Pillow gives.

use specimen_pixels::Source;

use crate::golden;

#[test]
fn every_photo_decodes_to_the_bytes_of_pillow() {
    let Some(folder) = specimen_testdata::find("every_photo_decodes_to_the_bytes_of_pillow", "photos") else {
        return;
    };
    let expected: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("expect.json")).unwrap()).unwrap();
    let expected = expected["images"].as_array().unwrap();
    let source = Source::open(&folder.join("coco_val2017")).unwrap();
    assert_eq!(source.keys().len(), expected.len());
    for loaded in source.images() {
        let photo = expected.iter().find(|photo| photo["file"] == loaded.key.as_str()).unwrap();
        let image = loaded.image.unwrap();
        let size = [image.width(), image.height()];
        assert_eq!(size, [golden::length(&photo["size"][0]), golden::length(&photo["size"][1])]);
        assert_eq!(golden::sha256(image.rgb()), photo["pil_rgb_sha256"], "{}", loaded.key);
    }
}
