//! Every filter and direction of resizing against the digests of Pillow, in 8 bits and in its float mode.

use serde_json::Value;
use specimen_pixels::Image;
use specimen_pixels::resample::{Filter, PassOrder, pil_f32, pil_u8};

use crate::golden;

/// The picture of `make_pillow.py`.
fn picture(width: usize, height: usize) -> Image {
    let byte = |i: usize| (((i as u64).wrapping_mul(2_654_435_761) >> 13) & 255) as u8;
    Image::new(width, height, (0..width * height * 3).map(byte).collect())
}

/// Digests of a resize in 8 bits and in floats, by the names of the golden files.
fn digests(
    image: &Image,
    to: (usize, usize),
    filter: Filter,
    order: PassOrder,
) -> [(&'static str, String); 2] {
    let (width, height) = to;
    let floats = pil_f32::resize(image, width, height, filter, order);
    [
        ("u8", golden::sha256(pil_u8::resize(image, width, height, filter, order).rgb())),
        ("f32", golden::sha256_f32(floats.values())),
    ]
}

fn check_resized(cases: &Value, n_cases: usize, order: PassOrder) {
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), n_cases);
    for case in cases {
        let size = |name: &str| golden::length(&case[name]);
        let filter: Filter = serde_json::from_value(case["filter"].clone()).unwrap();
        let image = picture(size("width"), size("height"));
        let to = (size("to_width"), size("to_height"));
        for (kind, found) in digests(&image, to, filter, order) {
            let place = (size("width"), size("height"), to);
            assert_eq!(found, case[kind], "{kind} {filter:?} {place:?} {order:?}");
        }
    }
}

#[test]
fn every_filter_is_that_of_pillow_in_bytes_and_floats() {
    // Sizes at which no version runs the vertical pass first.
    for order in [PassOrder::Pillow12, PassOrder::Pillow13] {
        check_resized(&golden::json("pillow.json")["resized"], 36, order);
    }
}

#[test]
fn each_versions_order_of_passes_is_its_own() {
    let passes = golden::json("passes.json");
    check_resized(&passes["12.2.0"], 72, PassOrder::Pillow12);
    check_resized(&passes["13.0.0"], 72, PassOrder::Pillow13);
}

#[test]
fn the_orders_differ_at_the_sizes_of_the_golden_values() {
    let passes = golden::json("passes.json");
    let [old, new] = ["12.2.0", "13.0.0"].map(|version| passes[version].as_array().unwrap());
    let differ = |kind: &str| old.iter().zip(new).filter(|(old, new)| old[kind] != new[kind]).count();
    assert_eq!([differ("u8"), differ("f32")], [31, 31]);
}
