//! PSNR and SSIM against scikit-image, and what they refuse.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{golden, uniform};
use serde_json::Value;
use specimen_stats::psnr::{decibels, mean_squared_error, psnr};
use specimen_stats::ssim::{Pixels, SsimWindow, ssim};

const UNIFORM: SsimWindow = SsimWindow::Uniform { side: 7 };
const GAUSSIAN: SsimWindow = SsimWindow::Gaussian { deviation: 1.5 };

/// The pair of a case of the golden values, `[height, width, 3]` each.
fn pair(width: usize, height: usize, kind: &str) -> [Vec<u8>; 2] {
    let at = |at: usize| {
        let (x, y, c) = (at / 3 % width, at / 3 / width, at % 3);
        ((7 * x + 3 * y + 40 * c + x * y / 5) % 256) as u8
    };
    let n = width * height * 3;
    let a: Vec<u8> = (0..n).map(at).collect();
    let b = match kind {
        "flat" => return [vec![10; n], vec![200; n]],
        "negative" => a.iter().map(|byte| 255 - byte).collect(),
        "brighter" => a.iter().map(|byte| byte.saturating_add(30)).collect(),
        spread => {
            let spread: f64 = spread.parse().unwrap();
            let noise = uniform("noise", n).into_iter().map(|u| (u * spread).floor());
            a.iter()
                .zip(noise)
                .map(|(&byte, noise)| (f64::from(byte) + noise).clamp(0.0, 255.0) as u8)
                .collect()
        }
    };
    [a, b]
}

fn similarity([a, b]: [&[u8]; 2], [width, height]: [usize; 2], window: SsimWindow) -> f64 {
    let pixels = |rgb| Pixels { width, height, rgb };
    ssim(pixels(a), pixels(b), window).unwrap()
}

#[test]
fn values_are_those_of_scikit_image() {
    let expected: Value =
        serde_json::from_slice(&std::fs::read(golden("expected_pictures.json")).unwrap()).unwrap();
    let cases = expected["pairs"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    let mut n_compared = 0;
    for case in cases {
        let [width, height] = ["width", "height"].map(|key| case[key].as_u64().unwrap() as usize);
        let [a, b] = pair(width, height, case["kind"].as_str().unwrap());
        let (sides, size) = ([&*a, &*b], [width, height]);
        let found = [("mse", mean_squared_error(&a, &b).unwrap()), ("psnr", psnr(&a, &b).unwrap().unwrap())];
        for (name, found) in found {
            let expected = case[name].as_f64().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-13, "{case}: {name} {found}");
        }
        let windows =
            [("uniform", UNIFORM), ("uniform_9", SsimWindow::Uniform { side: 9 }), ("gaussian", GAUSSIAN)];
        for (name, window) in windows {
            let Some(expected) = case.get(name).and_then(Value::as_f64) else { continue };
            let found = similarity(sides, size, window);
            assert!((found - expected).abs() < 1e-12, "{case}: {name} {found}");
            n_compared += 1;
        }
    }
    assert_eq!(n_compared, 20);
}

#[test]
fn equal_pictures_have_similarity_one_and_no_finite_ratio() {
    let [a, b] = pair(20, 13, "12");
    for window in [UNIFORM, GAUSSIAN] {
        assert_eq!(similarity([&a, &a], [20, 13], window), 1.0);
        assert_eq!(similarity([&a, &b], [20, 13], window), similarity([&b, &a], [20, 13], window));
        assert!(similarity([&a, &b], [20, 13], window) < 1.0);
    }
    assert_eq!(psnr(&a, &a).unwrap(), None);
    assert_eq!(decibels(0.0), None);
    // One byte of 100 that differs by 255: 10 log10(100).
    let mut one = vec![0; 100];
    one[7] = 255;
    assert_eq!(psnr(&[0; 100], &one).unwrap(), Some(20.0));
}

#[test]
fn pictures_that_cannot_be_compared_are_named() {
    let [a, _] = pair(8, 9, "12");
    let [other, _] = pair(9, 8, "12");
    let pixels = |rgb, width, height| Pixels { width, height, rgb };
    let refused = |a: Pixels<'_>, b: Pixels<'_>, window| ssim(a, b, window).unwrap_err().to_string();
    let whole = pixels(&a, 8, 9);
    assert_eq!(refused(whole, pixels(&other, 9, 8), UNIFORM), "pixels in a row: expected 8, found 9");
    assert_eq!(refused(whole, pixels(&other, 8, 10), UNIFORM), "rows of pixels: expected 9, found 10");
    assert_eq!(refused(whole, pixels(&a[1..], 8, 9), UNIFORM), "bytes of a picture: expected 216, found 215");
    let small = refused(whole, whole, GAUSSIAN);
    assert_eq!(small, "SSIM: a window is 11x11 pixels, the pictures are 8x9");
    for window in [SsimWindow::Uniform { side: 4 }, SsimWindow::Gaussian { deviation: 0.0 }] {
        assert!(refused(whole, whole, window).starts_with("window of SSIM: "));
    }
    assert_eq!(psnr(&a, &a[3..]).unwrap_err().to_string(), "bytes of a picture: expected 216, found 213");
    assert!(mean_squared_error(&[], &[]).is_err());
}
