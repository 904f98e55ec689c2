//! Eight images of the embedded model under every metric that papers print, with networks whose weights are by recipe.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::Value;

use crate::{
    recipe_networks::golden,
    support::{Desk, spec},
};

/// Metric, protocol, weights in the golden folder, and whether it compares with real pictures.
const UNDER_PROTOCOLS: [(&str, &str, &str, bool); 15] = [
    ("fid", "pytorch-fid", "inception", true),
    ("kid", "pytorch-fid", "inception", true),
    ("vendi", "pytorch-fid", "inception", false),
    ("prdc", "tf1", "inception", true),
    ("cmmd", "cmmd", "clip-l14-at336", true),
    ("clip-score", "clipscore", "clip-b32", false),
    ("aesthetic", "aesthetic-sac-logos-ava1", "aesthetic-sac-logos-ava1", false),
    ("pickscore", "pickscore", "pickscore", false),
    ("hpsv2.0", "hpsv2.0", "hps", false),
    ("hpsv2.1", "hpsv2.1", "hps", false),
    ("imagereward", "imagereward", "imagereward", false),
    ("lpips", "lpips-alex", "lpips-alex", false),
    ("lpips", "lpips-squeeze", "lpips-squeeze", false),
    ("psnr", "skimage", "", false),
    ("ssim", "skimage", "", false),
];
/// Metrics of the embedded model's own, and that of tokens.
const OWN: [&str; 5] = ["token-match", "target-nll", "scene-clip", "attribute-accuracy", "fd-scenes"];
/// Those whose value is a mean over images; the others compare distributions, and eight images are too few for an interval.
const MEANS: [&str; 13] = [
    "clip-score:clipscore",
    "aesthetic:aesthetic-sac-logos-ava1",
    "pickscore:pickscore",
    "hpsv2.0:hpsv2.0",
    "hpsv2.1:hpsv2.1",
    "imagereward:imagereward",
    "lpips:lpips-alex",
    "lpips:lpips-squeeze",
    "psnr:skimage",
    "ssim:skimage",
    "token-match",
    "scene-clip",
    "attribute-accuracy",
];

/// The metrics of a spec, with weights in the golden folder where `is_here`.
fn metrics(desk: &Desk, is_here: bool) -> String {
    // Left out for few images, unless a spec says from how many on.
    let few = |name: &str| if name.starts_with("fd-") { ", min_n = 8" } else { "" };
    let own = OWN.iter().map(|name| format!(r#"{{ name = "{name}"{} }}"#, few(name)));
    let rest = UNDER_PROTOCOLS.iter().map(|(name, protocol, weights, compares)| {
        let mut table = format!(r#"name = "{name}", protocol = "{protocol}""#);
        if *compares {
            table += &format!(r#", real = "{}", min_n = 8"#, desk.path("real").display());
        }
        if !weights.is_empty() && is_here {
            let weights = desk.path(&format!("golden/{weights}.safetensors"));
            table += &format!(r#", weights = "{}""#, weights.display());
        }
        format!("{{ {table} }}")
    });
    format!("metric=[{}]", own.chain(rest).collect::<Vec<_>>().join(", "))
}

/// Eight pictures to compare with.
fn real(desk: &Desk) {
    fs::create_dir_all(desk.path("real")).unwrap();
    for picture in 0..8_u32 {
        let byte =
            |at: u32| ((at / 3 % 64) * (2 + picture) + (at / 192) * (7 - picture) + 80 * (at % 3)) as u8;
        let bytes = [&b"P6 64 64 255\n"[..], &(0..64 * 64 * 3).map(byte).collect::<Vec<u8>>()].concat();
        fs::write(desk.path(&format!("real/{picture}.ppm")), bytes).unwrap();
    }
}

#[test]
fn a_run_of_eight_images_ends_in_a_table_of_all_metrics() {
    let name = "a_run_of_eight_images_ends_in_a_table_of_all_metrics";
    let Some(desk) = Desk::with_data(name, "tokenizers/bpe_simple_vocab_16e6.txt.gz") else { return };
    golden(&desk);
    real(&desk);
    let cells = r#"cell=[{ name = "ar" }, { name = "sd-chain3", drafter = { proposer = "eagle1", shape = "chain", depth = 3 } }]"#;
    let smoke = spec("ci/smoke.toml");
    let run = ["run", &smoke, "--limit", "8", "--out", "run", "-q", "--set", cells, "--set"];
    // Without weights it is refused before an image is made, and the command is said.
    let empty = Desk::as_data_folder();
    real(&empty);
    let absent = metrics(&empty, false);
    let without = [&run[..], &[&absent]].concat();
    empty.fails(&without, 4, &["`specimen data fetch inception-fid`"]);
    assert!(!empty.path("run/shards").exists());

    let here = metrics(&desk, true);
    let ran = desk.succeeds(&[&run[..], &[&here]].concat());
    let summary = fs::read(desk.path("run/merged/summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    let cells = summary["cells"].as_array().unwrap();
    let chain = cells.iter().find(|cell| cell["id"] == "sd-chain3").unwrap();
    let found = |metric: &str| {
        let metrics = chain["metrics"].as_array().unwrap();
        metrics.iter().find(|one| one["metric"] == metric).unwrap_or_else(|| panic!("{metric}: {chain:#}"))
    };
    for metric in MEANS {
        let found = found(metric);
        let (value, ends) = (found["value"].as_f64(), &found["ci95"]);
        let [low, high] = [0, 1].map(|end| ends[end].as_f64().unwrap_or(f64::NAN));
        assert!(value.is_some_and(|value| low <= value && value <= high), "{metric}: {found:#}");
    }
    for metric in
        ["fid:pytorch-fid", "kid:pytorch-fid", "vendi:pytorch-fid", "precision:tf1", "cmmd:cmmd", "fd-scenes"]
    {
        assert!(found(metric)["value"].is_number() && found(metric)["ci95"].is_null(), "{:#}", found(metric));
    }
    assert_eq!(
        (&found("imagereward:imagereward")["unit"], &found("psnr:skimage")["unit"]),
        (&"sd".into(), &"dB".into())
    );
    assert_eq!(found("lpips:lpips-alex")["higher_is_better"], false);
    // What people read: direction, unit and interval beside every value.
    for part in ["imagereward:imagereward ↑", "hpsv2.1:hpsv2.1 ↑", "lpips:lpips-alex ↓", " sd ", " dB"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}
