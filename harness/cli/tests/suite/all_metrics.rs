//! Six images, as many as an interval needs, of the embedded model under the metrics that papers print, with networks whose
//! weights are by recipe. FD-DINOv2, whose network takes longer than all others, is measured next to its protocol.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use specimen_extract::lpips::{self, LpipsName};
use specimen_weights::write_safetensors;

use crate::{
    recipe_networks::golden,
    support::{Desk, metric, spec},
};

/// Metric, protocol, weights in the golden folder, whether it compares with real pictures, and what is fetched for it.
const UNDER_PROTOCOLS: [(&str, &str, &str, bool, &str); 16] = [
    ("fid", "pytorch-fid", "inception", true, "inception-fid"),
    ("kid", "pytorch-fid", "inception", true, "inception-fid"),
    ("vendi", "pytorch-fid", "inception", false, "inception-fid"),
    ("prdc", "tf1", "inception", true, "inception-fid"),
    ("cmmd", "cmmd", "clip-l14-at336", true, "clip-vit-l14-at336"),
    ("clip-score", "clipscore", "clip-b32", false, "clip-vit-b32"),
    ("aesthetic", "aesthetic-sac-logos-ava1", "aesthetic-sac-logos-ava1", false, "aesthetic-sac-logos-ava1"),
    ("pickscore", "pickscore", "pickscore", false, "pickscore-v1"),
    ("hpsv2.0", "hpsv2.0", "hps", false, "hps-v2.0"),
    ("hpsv2.1", "hpsv2.1", "hps", false, "hps-v2.1"),
    ("imagereward", "imagereward", "imagereward", false, "imagereward"),
    ("lpips", "lpips-alex", "lpips-alex", false, "lpips-alex"),
    ("lpips", "lpips-vgg", "lpips-vgg", false, "lpips-vgg"),
    ("lpips", "lpips-squeeze", "lpips-squeeze", false, "lpips-squeeze"),
    ("psnr", "skimage", "", false, ""),
    ("ssim", "skimage", "", false, ""),
];
/// Metrics of the embedded model's own, and that of tokens.
const OWN: [&str; 5] = ["token-match", "target-nll", "scene-clip", "attribute-accuracy", "fd-scenes"];
/// Those whose value is a mean over images; the others compare distributions, and no such distance has an interval of so few.
const MEANS: [&str; 14] = [
    "clip-score:clipscore",
    "aesthetic:aesthetic-sac-logos-ava1",
    "pickscore:pickscore",
    "hpsv2.0:hpsv2.0",
    "hpsv2.1:hpsv2.1",
    "imagereward:imagereward",
    "lpips:lpips-alex",
    "lpips:lpips-vgg",
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
    let few = |name: &str| if name.starts_with("fd-") { ", min_n = 6" } else { "" };
    let own = OWN.iter().map(|name| format!(r#"{{ name = "{name}"{} }}"#, few(name)));
    let rest = UNDER_PROTOCOLS.iter().map(|(name, protocol, weights, compares, _)| {
        let mut table = format!(r#"name = "{name}", protocol = "{protocol}""#);
        if *compares {
            table += &format!(r#", real = "{}", min_n = 6"#, desk.path("real").display());
        }
        if !weights.is_empty() && is_here {
            let weights = desk.path(&format!("golden/{weights}.safetensors"));
            table += &format!(r#", weights = "{}""#, weights.display());
        }
        format!("{{ {table} }}")
    });
    format!("metric=[{}]", own.chain(rest).collect::<Vec<_>>().join(", "))
}

/// Six pictures to compare with.
fn real(desk: &Desk) {
    fs::create_dir_all(desk.path("real")).unwrap();
    for picture in 0..6_u32 {
        let byte =
            |at: u32| ((at / 3 % 64) * (2 + picture) + (at / 192) * (7 - picture) + 80 * (at % 3)) as u8;
        let bytes = [&b"P6 64 64 255\n"[..], &(0..64 * 64 * 3).map(byte).collect::<Vec<u8>>()].concat();
        fs::write(desk.path(&format!("real/{picture}.ppm")), bytes).unwrap();
    }
}

#[test]
fn a_run_of_few_images_ends_in_a_table_of_all_metrics() {
    let name = "a_run_of_few_images_ends_in_a_table_of_all_metrics";
    let Some(desk) = Desk::with_data(name, "tokenizers/bpe_simple_vocab_16e6.txt.gz") else { return };
    golden(&desk);
    let vgg = lpips::recipe_tensors(LpipsName::Vgg);
    write_safetensors(&desk.path("golden/lpips-vgg.safetensors"), &vgg).unwrap();
    real(&desk);
    let cells = r#"cell=[{ name = "ar" }, { name = "sd-chain3", drafter = { proposer = "eagle1", shape = "chain", depth = 3 } }]"#;
    let smoke = spec("ci/smoke.toml");
    let run = ["run", &smoke, "--limit", "6", "--out", "run", "-q", "--set", cells, "--set"];
    // Without weights it is refused before an image is made, and the command is said: of each network.
    let empty = Desk::as_data_folder();
    real(&empty);
    let absent = metrics(&empty, false);
    empty.fails(&[&run[..], &[&absent]].concat(), 4, &["`specimen data fetch inception-fid`"]);
    for (name, protocol, _, compares, fetched) in UNDER_PROTOCOLS.iter().filter(|one| !one.4.is_empty()) {
        let real = empty.path("real");
        let real =
            if *compares { format!(r#", real = "{}", min_n = 6"#, real.display()) } else { String::new() };
        let alone = format!(r#"metric=[{{ name = "{name}", protocol = "{protocol}"{real} }}]"#);
        empty.fails(&[&run[..], &[&alone]].concat(), 4, &[&format!("`specimen data fetch {fetched}`")]);
    }
    assert!(!empty.path("run/shards").exists());

    let here = metrics(&desk, true);
    let ran = desk.succeeds(&[&run[..], &[&here]].concat());
    let summary = desk.document("run/merged/summary.json");
    let found = |name: &str| metric(&summary, "sd-chain3", name);
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
    // Three networks are numbers of their own.
    for (a, b) in [("lpips:lpips-alex", "lpips:lpips-vgg"), ("lpips:lpips-vgg", "lpips:lpips-squeeze")] {
        assert_ne!(found(a)["value"], found(b)["value"], "{a} and {b}");
    }
    // What people read: direction, unit and interval beside every value.
    for part in ["imagereward:imagereward ↑", "hpsv2.1:hpsv2.1 ↑", "lpips:lpips-alex ↓", " sd ", " dB"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}
