//! Every filter and direction of resizing against the digests of Pillow, in 8 bits and in its float mode.

use specimen_pixels::Image;
use specimen_pixels::resample::{Filter, pil_f32, pil_u8};

use crate::golden;

/// The picture of `make_pillow.py`.
fn picture(width: usize, height: usize) -> Image {
    let byte = |i: usize| (((i as u64).wrapping_mul(2_654_435_761) >> 13) & 255) as u8;
    Image::new(width, height, (0..width * height * 3).map(byte).collect())
}

fn check_resized(check: impl Fn(&Image, usize, usize, Filter) -> String, digest: &str) {
    let cases = golden::json("pillow.json");
    let cases = cases["resized"].as_array().unwrap();
    assert_eq!(cases.len(), 36);
    for case in cases {
        let size = |name: &str| golden::length(&case[name]);
        let filter: Filter = serde_json::from_value(case["filter"].clone()).unwrap();
        let image = picture(size("width"), size("height"));
        let found = check(&image, size("to_width"), size("to_height"), filter);
        let place = (size("width"), size("height"), size("to_width"), size("to_height"));
        assert_eq!(found, case[digest], "{filter:?} {place:?}");
    }
}

#[test]
fn eight_bits_are_those_of_pillow_for_every_filter() {
    let u8_digest = |image: &Image, width, height, filter| {
        golden::sha256(pil_u8::resize(image, width, height, filter).rgb())
    };
    check_resized(u8_digest, "u8");
}

#[test]
fn floats_are_those_of_pillow_for_every_filter() {
    let f32_digest = |image: &Image, width, height, filter| {
        golden::sha256_f32(pil_f32::resize(image, width, height, filter).values())
    };
    check_resized(f32_digest, "f32");
}
