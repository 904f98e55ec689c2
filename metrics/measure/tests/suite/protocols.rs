//! The built-in protocols are complete, and their recipes do not change unseen.

use std::path::Path;

use specimen_measure::meter::Meter;
use specimen_measure::metrics::METRICS;
use specimen_measure::metrics::inception_score::inception_score;
use specimen_measure::network::Dtype;
use specimen_measure::pair_protocol::PairProtocol;
use specimen_measure::protocol::Protocol;
use specimen_pixels::resample::PassOrder;

/// What each protocol prints, metric by metric. A digest that changes is another recipe: say so in CHANGELOG.md.
const DIGESTS: [&str; 37] = [
    "aesthetic aesthetic-ava-logos@ad56c5dc3b49",
    "aesthetic aesthetic-ava-logos-relu@2bc4b0947adb",
    "aesthetic aesthetic-sac-logos-ava1@97e05c116158",
    "fid clean@56cb1d697a55",
    "kid clean@4ac310ca2629",
    "vendi clean@ea61dd1b3bcd",
    "fid clean-legacy-pytorch@bc418c42a027",
    "kid clean-legacy-pytorch@f2be2cac57ad",
    "fid clean-legacy-tf@23e17650a258",
    "kid clean-legacy-tf@cb329acf9b17",
    "clip-score clipscore@1f29c49debf3",
    "cmmd cmmd@43f3888765e6",
    "fid fd-dinov2@931593e46df2",
    "hpsv2.0 hpsv2.0@06ecc87fa0c7",
    "hpsv2.0 hpsv2.0-no-antialias@27adf3753d95",
    "hpsv2.1 hpsv2.1@c3bb645a1794",
    "hpsv2.1 hpsv2.1-no-antialias@e8bb6a103ed5",
    "imagereward imagereward@b0a11e5a2deb",
    "fid lantern@2d1dda2269e4",
    "clip-score lantern-clip@2ca693ec26b8",
    "prdc lantern-pr@255e36c2d68c",
    "pickscore pickscore@fc3597dee7a2",
    "prdc prdc@3380ee73a728",
    "fid pytorch-fid@3ccdd880c4f6",
    "kid pytorch-fid@2a2b8d9514cf",
    "vendi pytorch-fid@2ed87d994eb8",
    "fid sjd@3ccdd880c4f6",
    "clip-score sjd-clip@207f0c6d680e",
    "is sjd-is@61ab156ad843",
    "fid tf1@23e17650a258",
    "kid tf1@68abef03c9e4",
    "prdc tf1@800dfa18c26d",
    "is tf1@5b901d9e557c",
    "fid torchmetrics-1.8@1b8f13e8c4ed",
    "kid torchmetrics-1.8@6b0b120c31bb",
    "is torchmetrics-1.8@51287af1e175",
    "clip-score torchmetrics-clip@e788dacce38d",
];

/// What each protocol of pairs prints; as [`DIGESTS`].
const PAIR_DIGESTS: [&str; 6] = [
    "lpips lpips-alex@338f16421ea0",
    "lpips lpips-squeeze@5c5c6b193e43",
    "lpips lpips-vgg@c1db5a3e0672",
    "psnr skimage@e8584c24355b",
    "ssim skimage@99f20d9dca65",
    "ssim ssim-gaussian@629efd73bb2e",
];

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols")
}

#[test]
fn every_file_is_built_in_under_its_name() {
    assert_eq!(files_of(&folder()), sorted_files(Protocol::names()));
    assert_eq!(files_of(&folder().join("pairs")), sorted_files(PairProtocol::names()));
    for name in Protocol::names() {
        assert_eq!(Protocol::named(name).unwrap().name(), name);
    }
    for name in PairProtocol::names() {
        assert_eq!(PairProtocol::named(name).unwrap().name(), name);
        assert!(PairProtocol::is_meant(name) && Protocol::named(name).is_err(), "{name}");
    }
}

/// The protocols in `folder`, beside which their schema is.
fn files_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut files: Vec<String> = files.filter(|name| name.ends_with(".toml")).collect();
    files.sort();
    files
}

fn sorted_files(names: impl Iterator<Item = &'static str>) -> Vec<String> {
    let mut files: Vec<String> = names.map(|name| format!("{name}.toml")).collect();
    files.sort();
    files
}

#[test]
fn recipes_of_pairs_are_those_that_were_published() {
    let labels = |name: &'static str| {
        let protocol = PairProtocol::named(name).unwrap();
        let metrics = protocol.recipe().metrics();
        metrics.into_iter().map(move |metric| format!("{} {}", metric.name, protocol.label(metric.name)))
    };
    let printed: Vec<String> = PairProtocol::names().flat_map(labels).collect();
    assert_eq!(printed, PAIR_DIGESTS);
}

#[test]
fn a_protocol_of_pairs_that_cannot_be_used_says_why() {
    let refused = |body: &str, part: &str| {
        let text = format!("schema = 1\nname = \"mine\"\nabout = \"\"\nsource = \"\"\n{body}\n");
        let error = PairProtocol::parse("mine.toml", &text).unwrap_err().to_string();
        assert!(error.contains("mine.toml") && error.contains(part), "{error}");
    };
    refused("", "no metric of pairs has a table");
    refused("[psnr]\nchannels = \"yuv\"", "yuv");
    refused("[ssim]\nchannels = \"rgb\"\nwindow = { gaussian = -1.0 }", "[ssim] window of SSIM");
    refused("[lpips]\nnetwork = \"lpips-alex\"\ndtype = \"f16\"", "[lpips] dtype = \"f16\"");
    refused("[fid]\nddof = 1", "fid");
    let other = "schema = 2\nname = \"mine\"\nabout = \"\"\nsource = \"\"\n[psnr]\nchannels = \"rgb\"\n";
    assert!(PairProtocol::parse("mine.toml", other).unwrap_err().to_string().contains("schema 2"));
}

#[test]
fn recipes_are_those_that_were_published() {
    let labels = |name: &'static str| {
        let protocol = Protocol::named(name).unwrap();
        let metrics = protocol.recipe().metrics();
        metrics.into_iter().map(move |metric| format!("{} {}", metric.name, protocol.label(metric.table)))
    };
    let printed: Vec<String> = Protocol::names().flat_map(labels).collect();
    assert_eq!(printed, DIGESTS);
}

#[test]
fn a_tool_is_another_name_of_one_protocol_with_the_same_digest() {
    for (alias, name) in [
        ("torch-fidelity", "tf1"),
        ("clean-fid", "clean"),
        ("torchmetrics", "torchmetrics-1.8"),
        ("dgm-eval", "fd-dinov2"),
        ("cmmd-pytorch", "cmmd"),
        ("improved-aesthetic-predictor", "aesthetic-sac-logos-ava1"),
        ("image-reward", "imagereward"),
    ] {
        assert_eq!(Protocol::find(alias).unwrap(), Protocol::named(name).unwrap());
    }
    let named = |name: &'static str| Protocol::named(name).unwrap();
    let aliases: Vec<String> =
        Protocol::names().filter_map(|name| named(name).head().alias().map(str::to_owned)).collect();
    let unique: std::collections::BTreeSet<&String> = aliases.iter().collect();
    assert_eq!((aliases.len(), unique.len()), (7, 7));
    assert!(Protocol::names().all(|name| !aliases.iter().any(|alias| alias == name)));
    assert_eq!(Protocol::find("clean-fid+pillow-13").unwrap().name(), "clean+pillow-13");
}

#[test]
fn every_protocol_says_what_it_is_and_where_from() {
    for name in Protocol::names() {
        let protocol = Protocol::named(name).unwrap();
        assert!(protocol.head().about().len() > 40 && protocol.head().source().contains(" at "), "{name}");
        assert!(protocol.recipe().pixels.output_size().is_some(), "{name}");
        assert_eq!(protocol.known_pixels().map(str::len), Some(12), "{name}");
    }
}

#[test]
fn every_protocol_says_its_pillow_and_has_the_digest_that_it_has_without() {
    for name in Protocol::names() {
        let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
        let without = text.replace("pillow = \"12\"\n", "");
        assert_eq!(without.len() + 14, text.len(), "{name}");
        assert_eq!(Protocol::parse(name, &without).unwrap(), Protocol::named(name).unwrap());
    }
}

#[test]
fn the_order_of_passes_of_pillow_13_is_a_variant_with_its_own_name_and_digest() {
    let resize_with_pillow =
        |name: &&str| Protocol::named(name).unwrap().recipe().pixels.pass_orders().next().is_some();
    let (with, without): (Vec<&str>, Vec<&str>) = Protocol::names().partition(resize_with_pillow);
    assert_eq!((with.len(), without.len()), (15, 11));
    for name in with {
        let plain = Protocol::named(name).unwrap();
        let variant = Protocol::find(&format!("{name}+pillow-13")).unwrap();
        assert_eq!(variant.name(), format!("{name}+pillow-13"));
        assert_ne!(variant.digest(), plain.digest(), "{name}");
        assert!(variant.recipe().pixels.pass_orders().all(|order| order == PassOrder::Pillow13), "{name}");
    }
    for name in without {
        let refused = Protocol::named(&format!("{name}+pillow-13")).unwrap_err().to_string();
        assert!(refused.contains("none of its steps resizes with Pillow"), "{refused}");
    }
    let unknown = Protocol::named("lantern_pr+pillow-13").unwrap_err().to_string();
    assert!(unknown.contains("`lantern_pr`") && unknown.contains("torchmetrics-1.8"), "{unknown}");
}

#[test]
fn a_file_that_names_another_pillow_than_its_steps_is_refused() {
    let text = std::fs::read_to_string(folder().join("lantern-pr.toml")).unwrap();
    let parse = |text: &str| Protocol::parse("p.toml", text).map_err(|error| error.to_string());
    let new_steps = text.replace("filter = \"bilinear\"", "filter = \"bilinear\", passes = \"pillow-13\"");
    for refused in [text.replace("pillow = \"12\"", "pillow = \"13\""), new_steps.clone()] {
        assert!(parse(&refused).unwrap_err().contains("different versions of Pillow"));
    }
    let own = parse(&new_steps.replace("pillow = \"12\"", "pillow = \"13\"")).unwrap();
    assert_eq!(own.digest(), Protocol::named("lantern-pr+pillow-13").unwrap().digest());
    assert!(parse(&text.replace("pillow = \"12\"", "pillow = \"11\"")).unwrap_err().contains("11"));
}

#[test]
fn every_metric_has_a_protocol() {
    let protocols: Vec<Protocol> = Protocol::names().map(|name| Protocol::named(name).unwrap()).collect();
    for metric in METRICS {
        assert!(protocols.iter().any(|protocol| protocol.metric(metric.name).is_ok()), "{}", metric.name);
        assert!(specimen_catalog::metric(metric.name).unwrap().command.is_some(), "{}", metric.name);
    }
}

#[test]
fn a_protocol_of_ones_own_is_a_file() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("mine.toml");
    let text = std::fs::read_to_string(folder().join("sjd.toml")).unwrap();
    std::fs::write(&path, text.replace("name = \"sjd\"", "name = \"mine\"")).unwrap();
    let mine = Protocol::find(path.to_str().unwrap()).unwrap();
    let sjd = Protocol::named("sjd").unwrap();
    assert_eq!((mine.name(), mine.digest()), ("mine", sjd.digest()));
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let text = std::fs::read_to_string(folder().join("pytorch-fid.toml")).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Protocol::parse("p.toml", &text.replace(from, to)).unwrap_err().to_string()
    };
    for (from, to, part) in [
        ("schema = 1", "schema = 2", "schema 2, this program reads 1"),
        ("ddof = 1", "ddof = 0", "divided by n - 1"),
        ("dtype = \"f32\"", "dtype = \"f16\"", "write f32 or bf16"),
        ("ddof = 1", "ddof = 1\nmore = 2", "unknown key `more`"),
        ("ddof = 1", "ddof = \"one\"", "found the text \"one\", expected a whole number"),
        ("square = 299", "shortest-side = 299", "pictures of various sizes"),
        ("\"2048\"", "\"2048", "expected"),
        ("name = \"pytorch-fid\"", "name = \"a b\"", "no spaces"),
        ("estimator = \"all-pairs\"", "estimator = \"some-pairs\"", "there is no `some-pairs`; "),
    ] {
        let message = refused(from, to);
        assert!(message.starts_with("protocol p.toml:") && message.contains(part), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let names = Protocol::named("pytorch_fid").unwrap_err().to_string();
    assert!(names.contains("`pytorch_fid`") && names.contains("torchmetrics-1.8"), "{names}");
    let pairs = PairProtocol::find("elsewhere/skimages.toml").map(|_| ());
    let no_files = [Protocol::find("elsewhere/pytorch_fid.toml").map(|_| ()), pairs];
    for (no_file, name) in no_files.into_iter().zip(["pytorch-fid", "skimage"]) {
        let said = no_file.unwrap_err().to_string();
        let parts = ["elsewhere/", "there is no such file", &format!("did you mean `{name}`")];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
    // A file that is there keeps the system's reason.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml");
    std::fs::create_dir(&path).unwrap();
    let said = Protocol::find(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(said.contains("cannot read") && !said.contains("no such file"), "{said}");
}

#[test]
fn another_layer_or_type_is_another_recipe_with_another_name() {
    let protocol = || Protocol::named("pytorch-fid").unwrap();
    let other = protocol().with_layer("192", "fid").with_dtype(Dtype::Bf16);
    assert_eq!(other.name(), "pytorch-fid+192+bf16");
    assert_ne!(other.digest(), protocol().digest());
    assert_eq!(protocol().with_layer("2048", "fid").with_dtype(Dtype::F32), protocol());
}

#[test]
fn another_layer_is_that_of_the_metric_at_hand() {
    let tf1 = || Protocol::named("tf1").unwrap();
    let is = tf1().with_layer("logits", "is");
    assert_eq!((is.name(), is.recipe().network.layer.as_str()), ("tf1+logits", "2048"));
    assert_eq!(is.recipe().is.as_ref().unwrap().layer, "logits");
    assert_ne!(is.digest_of("is"), tf1().digest_of("is"));
    assert_eq!(is.digest_of("fid"), tf1().digest_of("fid"));
    assert_eq!(tf1().with_layer("logits-unbiased", "is"), tf1());
    // The layer of the features is another one than that of the logits.
    assert_eq!(tf1().with_layer("2048", "is").name(), "tf1+2048");
    let fid = tf1().with_layer("768", "fid");
    assert_eq!(fid.digest_of("is"), tf1().digest_of("is"));
    let networks = crate::stand_in::StandIns::default();
    let root = tempfile::tempdir().unwrap();
    let folder = crate::stand_in::folder_of(root.path(), "real", 20);
    let mut meter = Meter::new(is, &networks);
    let measured = inception_score(&mut meter, &folder).unwrap();
    assert!(measured.extractor.unwrap().starts_with("inception-fid-logits-f32@"));
    assert!(measured.protocol.starts_with("tf1+logits@"));
}

#[test]
fn one_recipe_of_a_metric_has_one_digest_whatever_else_a_protocol_says() {
    let digest = |name: &str, metric: &str| Protocol::named(name).unwrap().digest_of(metric);
    // One says more metrics than the other.
    assert_eq!(digest("sjd", "fid"), digest("pytorch-fid", "fid"));
    assert_ne!(digest("sjd", "fid"), digest("clean", "fid"));
    assert_ne!(digest("pytorch-fid", "fid"), digest("pytorch-fid", "kid"));
    assert_ne!(digest("pytorch-fid", "fid"), digest("pytorch-fid", "stats"));
}

#[test]
fn lanterns_way_through_floats_darkens_the_bytes_that_torch_darkens() {
    // torch 2.13: bytes x of 0 to 255 with ((x / 255 - 0.5) / 0.5 + 1) * 127.5 truncated below x: exactly 1 to 63.
    use specimen_pixels::{Image, Picture, Pipeline, Step};
    let steps = Protocol::named("lantern-clip").unwrap().recipe().pixels.steps().to_vec();
    let begin = steps.iter().position(|step| matches!(step, Step::Standardise { .. })).unwrap();
    let end = steps.iter().position(|step| matches!(step, Step::Quantise { .. })).unwrap();
    let ramp = Image::new(256, 1, (0..=255).flat_map(|x| [x; 3]).collect());
    let made = Pipeline::new(steps[begin..=end].to_vec()).unwrap().apply(ramp).unwrap();
    let Picture::Bytes(image) = made else { panic!("the way ends in bytes") };
    for (x, pixel) in image.rgb().chunks_exact(3).enumerate() {
        let expected = if (1..=63).contains(&x) { x - 1 } else { x };
        assert_eq!(usize::from(pixel[0]), expected, "{x}");
    }
}
