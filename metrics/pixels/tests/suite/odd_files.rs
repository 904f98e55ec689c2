//! Odd files, each with Pillow's outcome: the same bytes, or an error. Where we are stricter than Pillow stands in
//! tests of its own.

use specimen_pixels::{DecodeError, Source, decode};

use crate::golden;

#[test]
fn every_odd_file_has_the_outcome_of_pillow() {
    let test = "every_odd_file_has_the_outcome_of_pillow";
    let Some(folder) = specimen_testdata::find(test, "edge") else { return };
    let expected: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("expect.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for file in expected["images"].as_array().unwrap() {
        let name = file["file"].as_str().unwrap();
        let image = decode(&std::fs::read(folder.join(name)).unwrap());
        let found = match &image {
            Ok(image) => golden::sha256(image.rgb()),
            Err(error) => error.to_string(),
        };
        let is_right = match file["pil_rgb_sha256"].as_str() {
            Some(digest) => found == digest,
            None => image.is_err(),
        };
        if !is_right {
            wrong.push(format!("{name}: Pillow: {}, here: {found}", file["pil"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_folder_of_odd_files_gives_every_one_of_them_with_its_path() {
    let test = "a_folder_of_odd_files_gives_every_one_of_them_with_its_path";
    let Some(folder) = specimen_testdata::find(test, "edge") else { return };
    let source = Source::open(&folder).unwrap();
    let failures: Vec<String> = source
        .images()
        .filter_map(|loaded| Some((loaded.key, loaded.image.err()?.to_string())))
        .map(|(key, message)| {
            assert!(message.contains(&key), "{message}");
            key
        })
        .collect();
    assert_eq!((source.keys().len(), failures.len()), (64, 13), "{failures:?}");
}

#[test]
fn files_made_for_the_purpose_have_the_outcome_of_pillow() {
    for file in golden::json("pillow.json")["files"].as_array().unwrap() {
        let name = file["name"].as_str().unwrap();
        let bytes = bytes_of_hex(file["hex"].as_str().unwrap());
        match (decode(&bytes), file["sha256"].as_str()) {
            (Ok(image), Some(digest)) => assert_eq!(golden::sha256(image.rgb()), digest, "{name}"),
            (Err(error), Some(_)) => panic!("{name}: {error}"),
            (Ok(image), None) => {
                panic!("{name}: decoded to {}x{}, Pillow: {}", image.width(), image.height(), file["error"])
            }
            (Err(_), None) => {}
        }
    }
}

#[test]
fn image_data_that_a_png_does_not_have_are_an_error_where_pillow_reads_on() {
    let files = golden::json("pillow.json");
    let files = files["stricter"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    for file in files {
        assert!(file["sha256"].is_string(), "Pillow reads it");
        let error = decode(&bytes_of_hex(file["hex"].as_str().unwrap())).unwrap_err();
        assert!(error.to_string().contains("IDAT"), "{}: {error}", file["name"]);
    }
}

#[test]
fn an_end_marker_before_the_last_rows_is_an_error_where_pillow_fills_with_grey() {
    for name in ["coco_640x427_420.jpg", "odd_161x120_444.jpg", "gray_120x203.jpg", "cmyk_120x203.jpg"] {
        let bytes = std::fs::read(golden::path("prep").join(name)).unwrap();
        for part in [3, 4, 5, 6] {
            let cut = [&bytes[..bytes.len() * part / 9], &[0xff, 0xd9]].concat();
            let error = decode(&cut).unwrap_err();
            let is_known = error.to_string().contains("the end marker comes at row");
            assert!(is_known && matches!(error, DecodeError::Corrupt { .. }), "{name} {part}: {error}");
        }
        // A picture with something behind it, even another end marker, is whole.
        assert_eq!(decode(&[&bytes[..], b"\0\xff\xd9"].concat()), decode(&bytes), "{name}");
    }
}

#[test]
fn a_flat_picture_that_fits_into_a_few_bytes_is_whole() {
    for (width, height) in [(64, 8000), (8, 16_000), (1000, 1000)] {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 10);
        image::RgbImage::new(width, height).write_with_encoder(encoder).unwrap();
        let decoded = decode(&bytes.into_inner()).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (width as usize, height as usize));
    }
}

#[test]
fn a_file_that_ends_early_is_never_a_picture() {
    let folder = golden::path("prep");
    for name in ["odd_161x120_420.jpg", "prog_161x120_420.jpg", "gray_120x203.jpg", "cmyk_120x203.jpg"] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        for n_kept in
            (3..bytes.len()).rev().step_by(bytes.len() / 40).chain([bytes.len() - 1, bytes.len() - 2])
        {
            let error = decode(&bytes[..n_kept]).unwrap_err();
            assert!(matches!(error, DecodeError::Truncated { .. }), "{name} {n_kept}: {error}");
        }
    }
    for name in ["rgb_120x203.png", "palette_120x203.png", "gray16_120x203.png"] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        // Without the end chunk (12 bytes) all pixels are there, and Pillow gives them too.
        for n_kept in (8..bytes.len() - 16).rev().step_by(bytes.len() / 40) {
            assert!(decode(&bytes[..n_kept]).is_err(), "{name} {n_kept}");
        }
    }
}

#[test]
fn bytes_changed_at_random_never_panic() {
    for name in ["odd_161x120_420.jpg", "prog_161x120_420.jpg", "tiny_33x17.png", "palette_120x203.png"] {
        let bytes = std::fs::read(golden::path("prep").join(name)).unwrap();
        for round in 0..60_usize {
            let mut changed = bytes.clone();
            for k in 0..4 {
                let at = (round * 7919 + k * 104_729) % bytes.len();
                changed[at] = changed[at].wrapping_add((round + k + 1) as u8);
            }
            if let Ok(image) = decode(&changed) {
                assert_eq!(image.rgb().len(), image.width() * image.height() * 3);
            }
        }
    }
}

#[test]
fn a_bomb_is_refused_by_its_header() {
    let files = golden::json("pillow.json");
    let bomb = files["files"].as_array().unwrap().iter().find(|file| file["name"] == "a bomb").unwrap();
    let error = decode(&bytes_of_hex(bomb["hex"].as_str().unwrap())).unwrap_err();
    assert!(matches!(error, DecodeError::TooLarge { width: 20_000, height: 20_000, .. }), "{error}");
}

fn bytes_of_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
