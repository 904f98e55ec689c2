//! `convert` and `data fetch`: from published files to safetensors, against a server of this test's own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Output,
    thread,
};

use crate::support::{Desk, Ran, spec, workspace};

fn fixture(name: &str) -> String {
    workspace("harness/catalog/tests/fixtures").join(name).to_str().unwrap().to_owned()
}

/// Names and shapes in a safetensors file.
fn header(path: &Path) -> serde_json::Value {
    let bytes = std::fs::read(path).unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[8..8 + n]).unwrap()
}

/// A safetensors file of zeros with these names and shapes.
fn zeros(desk: &Desk, file: &str, tensors: &[(&str, &[u64])]) -> String {
    let (mut header, mut at) = (serde_json::Map::new(), 0);
    for (name, shape) in tensors {
        let end = at + 4 * shape.iter().product::<u64>();
        let entry = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [at, end]});
        header.insert((*name).to_owned(), entry);
        at = end;
    }
    let header = serde_json::Value::Object(header).to_string();
    let path = desk.path(file);
    let zeros = vec![0; at as usize];
    std::fs::write(&path, [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &zeros].concat())
        .unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_checkpoint_is_converted_and_reported() {
    let desk = Desk::new();
    let report = desk.json(&["convert", &fixture("wrapped_model.pt"), "out.safetensors"]);
    assert_eq!((&report["n_tensors"], &report["key"]), (&10.into(), &"model".into()), "{report}");
    assert_eq!(report["sources"][0]["file"], "wrapped_model.pt");
    let header = header(&desk.path("out.safetensors"));
    assert_eq!(header["conv.weight"]["shape"], serde_json::json!([2, 1, 3, 3]));
    assert_eq!(header["__metadata__"]["source_sha256"], report["sources"][0]["sha256"]);

    desk.fails(&["convert", &fixture("flat.pt"), "out.safetensors"], 2, &["is there already", "--force"]);
    let cast = ["convert", &fixture("flat.pt"), "out.safetensors", "--force", "--dtype", "bf16"];
    assert!(desk.succeeds(&cast).out.contains("out.safetensors: 11 tensors"));
    assert_eq!(self::header(&desk.path("out.safetensors"))["float64"]["dtype"], "BF16");
}

#[test]
fn what_cannot_be_converted_ends_with_the_code_of_its_cause_and_leaves_nothing() {
    let desk = Desk::new();
    let own = fixture("own_class.ckpt");
    desk.fails(
        &["convert", &own, "x.safetensors"],
        4,
        &["own_class.ckpt: byte", "`training.callbacks.Logger`"],
    );
    desk.fails(&["convert", "nowhere.pt", "x.safetensors"], 4, &["nowhere.pt: cannot read it"]);
    let page = desk.file("page.pt", "<html>");
    desk.fails(&["convert", &page, "x.safetensors"], 4, &["an error page"]);
    desk.fails(&["convert", &fixture("flat.pt"), "page.pt/x.safetensors"], 6, &["cannot write it"]);
    desk.fails(
        &["convert", &page, "x.safetensors", "--model", "gpt"],
        2,
        &["unknown model `gpt`, did you mean `igpt-mnist`"],
    );
    desk.fails(&["convert", &page, "x.safetensors", "--model", "vgg16"], 2, &["no table of names"]);
    assert!(!desk.path("x.safetensors").exists());
    let inert = ["convert", &own, "x.safetensors", "--inert", "training.callbacks.Logger"];
    assert!(desk.succeeds(&inert).out.contains("below `state_dict`"));
}

#[test]
fn the_tables_of_models_give_the_names_of_their_other_layout() {
    let desk = Desk::new();
    let llamagen: [(&str, &[u64]); 12] = [
        ("freqs_cis", &[2]),
        ("tok_embeddings.weight", &[4, 2]),
        ("cls_embedding.cap_proj.fc1.weight", &[2, 2]),
        ("layers.11.attention.wqkv.weight", &[6, 2]),
        ("layers.11.attention.wo.weight", &[2, 2]),
        ("layers.11.feed_forward.w1.weight", &[4, 2]),
        ("layers.11.feed_forward.w2.weight", &[2, 4]),
        ("layers.11.feed_forward.w3.weight", &[4, 2]),
        ("layers.11.attention_norm.weight", &[2]),
        ("layers.11.ffn_norm.weight", &[2]),
        ("norm.weight", &[2]),
        ("output.weight", &[4, 2]),
    ];
    let file = zeros(&desk, "llamagen.safetensors", &llamagen);
    let report = desk.json(&["convert", &file, "a.safetensors", "--model", "llamagen-t2i-xl-512"]);
    assert_eq!(report["dropped"], serde_json::json!(["freqs_cis"]));
    let header = header(&desk.path("a.safetensors"));
    for (name, shape) in [
        ("model.embed_tokens.weight", vec![4, 2]),
        ("model.layers.11.self_attn.v_proj.weight", vec![2, 2]),
        ("model.layers.11.mlp.up_proj.weight", vec![4, 2]),
        ("lm_head.weight", vec![4, 2]),
    ] {
        assert_eq!(header[name]["shape"], serde_json::json!(shape), "{name}");
    }
    let parts = ["the recipe anole-7b: tensor `cls_embedding.cap_proj.fc1.weight` is none of the model's"];
    desk.fails(&["convert", &file, "b.safetensors", "--model", "anole-7b"], 4, &parts);
    desk.fails(&["convert", &file, "b.safetensors", "--model", "nonsense"], 2, &["unknown model"]);
}

#[test]
fn checkpoints_of_hpsv2_are_converted_and_open_as_their_network() {
    let desk = Desk::new();
    let checkpoint = workspace("metrics/extract/tests/golden/clip_h/hps.pt");
    let checkpoint = checkpoint.to_str().unwrap();
    for model in ["hps-v2.0", "hps-v2.1"] {
        let report = desk.json(&["convert", checkpoint, "hps.safetensors", "--force", "--model", model]);
        assert_eq!((&report["n_tensors"], &report["key"]), (&38.into(), &"state_dict".into()), "{report}");
        assert_eq!(report["dropped"], serde_json::json!([]));
    }
    let header = header(&desk.path("hps.safetensors"));
    assert_eq!(header["visual.conv1.weight"]["dtype"], "F16");
    // Its pixels are those of HPSv2, its network is the one that the protocol names.
    let hps = workspace("metrics/protocols/hpsv2.1.toml");
    let text = std::fs::read_to_string(hps).unwrap();
    let (pixels, _) = text.split_once("[\"hpsv2.1\"]").unwrap();
    let protocol = desk.file("mine.toml", &format!("{pixels}[vendi]\nkernel = \"cosine\"\n"));
    for name in ["a/1.ppm", "a/2.ppm"] {
        std::fs::create_dir_all(desk.path("a")).unwrap();
        std::fs::write(desk.path(name), format!("P6 2 1 255\nabcde{}", &name[2..3])).unwrap();
    }
    let args = ["vendi", "a", "--protocol", &protocol, "--weights", "hps.safetensors", "--no-cache"];
    let measured = desk.json(&args);
    let extractor = measured["extractor"].as_str().unwrap();
    assert!(extractor.starts_with("hps-v2.1[80x1,h1,gelu,assumed]-embedding-f32@"), "{extractor}");
    // Tensors of another layout are no checkpoint of HPSv2.
    let other = zeros(&desk, "hf.safetensors", &[("vision_model.post_layernorm.weight", &[2])]);
    let parts = ["the recipe hps-v2.1: tensor `vision_model.post_layernorm.weight` is none of the model's"];
    desk.fails(&["convert", &other, "x.safetensors", "--model", "hps-v2.1"], 4, &parts);
}

/// Serves these files by path, under the rules of the hub; everything else is absent. Returns its address.
fn serve(files: BTreeMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&stream.unwrap(), &files);
        }
    });
    address
}

fn answer(mut stream: &TcpStream, files: &BTreeMap<String, Vec<u8>>) {
    let lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let lines: Vec<String> = lines.collect();
    let mut words = lines.first().map_or("", String::as_str).split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = files.get(path).map_or((404, &[][..]), |bytes| (200, bytes));
    let etag = name_of(body);
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\netag: \"{etag}\"\r\nx-repo-commit: {}\r\nconnection: close\r\n\r\n",
        body.len(),
        "0".repeat(40)
    );
    let sent = stream.write_all(head.as_bytes());
    if method == "GET" && sent.is_ok() {
        // Whoever hung up has heard enough.
        let _ = stream.write_all(body);
    }
}

fn sha256(bytes: &[u8]) -> String {
    specimen_foundation::digest::Digest::sha256_of(bytes).as_str().to_owned()
}

/// A name of content that is no digest of it, as a mirror may give.
fn name_of(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(7_u64, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("{sum:032x}")
}

/// Runs with the environment of the hub, and no other.
fn run_with(desk: &Desk, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = desk.command(args);
    for name in ["HF_TOKEN", "HF_HUB_OFFLINE", "HF_HUB_CACHE", "SPECIMEN_OFFLINE", "HF_ENDPOINT"] {
        command.env_remove(name);
    }
    command.env("HF_HOME", desk.path("hf")).env("TORCH_HOME", desk.path("torch"));
    command.envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

#[test]
fn a_model_is_fetched_converted_and_found_again_without_the_net() {
    let desk = Desk::as_data_folder();
    let path = |file: &str| format!("/jadohu/anole_drafter/resolve/main/{file}");
    let pickle = std::fs::read(fixture("state_dict.bin")).unwrap();
    let files = BTreeMap::from([(path("config.json"), b"{}".to_vec()), (path("pytorch_model.bin"), pickle)]);
    let address = serve(files);
    let fetch = ["data", "fetch", "anole-7b-drafter"];
    let ran = run_with(&desk, &fetch, &[("HF_ENDPOINT", &address)]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("EAGLE-1 head for Anole-7B (LANTERN) (licence: unknown)"), "{}", ran.err);
    let converted = desk.path("weights/anole-7b/drafter.safetensors");
    assert_eq!(header(&converted)["conv.bias"]["shape"], serde_json::json!([2]));

    let offline =
        run_with(&desk, &[&fetch[..], &["--format", "json"]].concat(), &[("SPECIMEN_OFFLINE", "1")]);
    assert_eq!((offline.code, offline.err.as_str()), (0, ""));
    let answer: serde_json::Value = serde_json::from_str(&offline.out).unwrap();
    let files = answer["models"][0]["files"].as_array().unwrap();
    assert!(files.iter().all(|file| file["status"] == "here"), "{answer}");
    assert_eq!(files[1]["path"], converted.canonicalize().unwrap().to_str().unwrap());

    assert!(files[0]["content"].as_str().unwrap().contains("the same as when it was first seen"), "{answer}");
    assert!(files[1]["content"].as_str().unwrap().starts_with("digest unknown; converted from "), "{answer}");

    let verify = ["data", "verify", "anole-7b-drafter"];
    let verified = run_with(&desk, &verify, &[]);
    assert_eq!(
        (verified.code, verified.out.matches("anole-7b-drafter       ok ").count()),
        (0, 2),
        "{}",
        verified.out
    );
    let config = files[0]["path"].as_str().unwrap();
    std::fs::write(config, "{ }").unwrap();
    let verified = run_with(&desk, &verify, &[]);
    assert_eq!(verified.code, 4, "{}", verified.out);
    assert!(
        verified.out.contains("mismatch") && verified.out.contains("when it was first seen here"),
        "{}",
        verified.out
    );

    let listed = run_with(&desk, &["data", "list"], &[]);
    let words = |line: &str| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    assert!(listed.out.lines().any(|line| words(line) == "anole-7b-drafter 2 of 2"), "{}", listed.out);
}

#[test]
fn a_file_that_is_no_weights_is_not_read_again_at_every_fetch() {
    let desk = Desk::as_data_folder();
    let path = |file: &str| format!("/jadohu/anole_drafter/resolve/main/{file}");
    let fetch = ["data", "fetch", "anole-7b-drafter"];
    let fetched = |weights: &[u8]| {
        let files = [("config.json", &b"{}"[..]), ("pytorch_model.bin", weights)];
        let files = files.map(|(name, bytes)| (path(name), bytes.to_vec()));
        run_with(&desk, &fetch, &[("HF_ENDPOINT", &serve(BTreeMap::from(files)))])
    };
    let ran = fetched(b"{\"error\": \"log in\"}");
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("it was removed"), "{}", ran.err);
    let ran = fetched(&std::fs::read(fixture("state_dict.bin")).unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn what_cannot_be_fetched_is_reported_with_what_to_do() {
    let desk = Desk::as_data_folder();
    let address = serve(BTreeMap::new());
    let refused = |args: &[&str], variables: &[(&str, &str)], code: i32, parts: &[&str]| {
        let ran = run_with(&desk, args, variables);
        assert_eq!(ran.code, code, "{}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "`{part}` is not in `{}`", ran.err);
        }
    };
    let fetch = ["data", "fetch", "dinov2-vit-b14"];
    refused(&fetch, &[("HF_ENDPOINT", &address)], 4, &["no such file (status 404)", "facebook/dinov2-base"]);
    refused(
        &fetch,
        &[("HF_HUB_OFFLINE", "1")],
        4,
        &["model.safetensors of facebook/dinov2-base", "unset HF_HUB_OFFLINE"],
    );
    refused(&fetch, &[("HF_ENDPOINT", "http://127.0.0.1:1")], 6, &["run the same command again"]);
    // Whoever has the file learns what to do with it, in the words of a metric that misses it.
    let to = desk
        .path("weights")
        .canonicalize()
        .unwrap_or_else(|_| desk.path(".").canonicalize().unwrap().join("weights"));
    let pth = "pt_inception-2015-12-05-6726825d";
    let copy = format!(
        "; if you have the file, `specimen convert '{pth}.pth' '{}'` puts its weights where they are looked for; anywhere \
         else, `--weights` of a metric and `weights` of a spec name what it makes",
        to.join(format!("{pth}.safetensors")).display()
    );
    refused(
        &["data", "fetch", "inception-fid"],
        &[("SPECIMEN_OFFLINE", "1")],
        4,
        &["unset SPECIMEN_OFFLINE", &copy],
    );
    let picture = desk.path("a/1.png");
    std::fs::create_dir_all(picture.parent().unwrap()).unwrap();
    image::RgbImage::new(8, 8).save(&picture).unwrap();
    refused(&["fid", "a", "a", "--protocol", "clean"], &[], 4, &[&copy]);
    let xl = ["data", "fetch", "llamagen-t2i-xl-521"];
    refused(&xl, &[], 2, &["no model or dataset `llamagen-t2i-xl-521`; did you mean `llamagen-t2i-xl-512`"]);
    refused(
        &["data", "fetch", "dall-e"],
        &[],
        2,
        &["no model or dataset `dall-e`; expected one of aesthetic-ava-logos, "],
    );
    let by_hand = ["data", "fetch", "chameleon-vqgan"];
    refused(&by_hand, &[], 4, &["facebookresearch/chameleon", "weights/chameleon/vqgan.ckpt"]);
}

#[test]
fn datasets_are_fetched_unpacked_and_checked() {
    let Some(real) = Desk::with_data("datasets_are_fetched", "parti/PartiPrompts.tsv") else { return };
    let prompts = std::fs::read(real.data("parti/PartiPrompts.tsv")).unwrap();
    let zipped = |files: &mut dyn Iterator<Item = (String, Vec<u8>)>| {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, bytes) in files {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    };
    let mut picture = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(8, 8).write_to(&mut picture, image::ImageFormat::Jpeg).unwrap();
    let picture = picture.into_inner();
    let mut named = (0..5000).map(|n| (format!("val2017/{n:012}.jpg"), picture.clone()));
    let photos = zipped(&mut named);
    let photos_sha256 = sha256(&photos);
    let texts = zipped(&mut (0..5000).map(|n| (format!("val2017/{n:012}.jpg"), b"a text".to_vec())));
    let captions =
        zipped(&mut [("annotations/captions_val2017.json".to_owned(), b"{}".to_vec())].into_iter());
    let address = serve(BTreeMap::from([
        (
            "/google-research/parti/5a657978134374ce28973948331b319adef164bd/PartiPrompts.tsv".to_owned(),
            prompts,
        ),
        ("/zips/val2017.zip".to_owned(), photos),
        ("/annotations/annotations_trainval2017.zip".to_owned(), captions),
    ]));

    let desk = Desk::as_data_folder();
    let fetched = desk.json(&["data", "fetch", "parti", "coco2017-val-photos", "--mirror", &address]);
    let status = |answer: &serde_json::Value| -> Vec<String> {
        let lines = answer["datasets"].as_array().unwrap();
        lines.iter().map(|line| format!("{} {}", line["key"], line["status"])).collect()
    };
    assert_eq!(status(&fetched), [r#""parti-prompts" "fetched""#, r#""coco2017-val-photos" "fetched""#]);
    assert_eq!(std::fs::read_dir(desk.path("coco/val2017")).unwrap().count(), 5000);
    assert_eq!(
        std::fs::read_dir(desk.path("downloads")).unwrap().count(),
        0,
        "archives go when they are unpacked"
    );
    let content = |answer: &serde_json::Value, at: usize| {
        answer["datasets"][at]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(content(&fetched, 0), "as published");
    let unknown = format!("val2017.zip: digest unknown; SHA-256 is {photos_sha256}");
    assert!(content(&fetched, 1).ends_with(&unknown), "{fetched}");
    // What nobody vouches for is compared with the first time.
    std::fs::remove_dir_all(desk.path("coco/val2017")).unwrap();
    let again = desk.json(&["data", "fetch", "coco2017-val-photos", "--mirror", &address]);
    assert!(content(&again, 0).contains("the same as when it was first seen"), "{again}");
    let lying = serve(BTreeMap::from([("/zips/val2017.zip".to_owned(), texts)]));
    let elsewhere = Desk::as_data_folder();
    let refused = ["expected a picture", "it was removed"];
    elsewhere.fails(&["data", "fetch", "coco2017-val-photos", "--mirror", &lying], 4, &refused);
    assert!(!elsewhere.path("coco/val2017").exists());
    // The prompts of a spec come with what else it needs.
    let of_spec = Desk::as_data_folder();
    let stub = std::fs::read_to_string(spec("ci/stub.toml")).unwrap();
    let mine = of_spec.file("mine.toml", &stub.replace("\"scenes-val\"", "\"parti-prompts\""));
    let prompts = of_spec.json(&["data", "fetch", "--for", &mine, "--mirror", &address]);
    assert_eq!(status(&prompts), [r#""parti-prompts" "fetched""#]);
    let again = desk.json(&["data", "fetch", "parti", "--mirror", "http://127.0.0.1:9"]);
    assert_eq!(status(&again), [r#""parti-prompts" "here""#]);

    // Another file under the publisher's name is not kept as data.
    let wrong = ["data", "fetch", "coco2017-captions", "--mirror", &address];
    desk.fails(&wrong, 4, &["captions_val2017.json has other content", "it was removed"]);
    assert_eq!(std::fs::read_dir(desk.path("downloads")).unwrap().count(), 0, "it is not read again");
    let page = serve(BTreeMap::from([
        ("/annotations/annotations_trainval2017.zip".to_owned(), b"{\"error\": \"log in\"}".to_vec()),
        (
            "/djghosh13/geneval/af4902f24d3ca90ebbb446dd9891a59e0f82725f/prompts/evaluation_metadata.jsonl"
                .to_owned(),
            b"<html>log in".to_vec(),
        ),
        (
            "/TencentQQGYLab/ELLA/3c228f1dc6c4d3cad0a47493816151a419f14db3/dpg_bench/dpg_bench.csv"
                .to_owned(),
            b"log in".to_vec(),
        ),
    ]));
    for name in ["coco2017-captions", "coco2017-instances", "geneval", "dpg-bench"] {
        desk.fails(&["data", "fetch", name, "--mirror", &page], 4, &["the published file", "it was removed"]);
        assert_eq!(std::fs::read_dir(desk.path("downloads")).unwrap().count(), 0, "{name}");
    }
    let elsewhere = Desk::new();
    elsewhere.fails(&["data", "fetch", "parti"], 2, &["no data folder; set SPECIMEN_DATA"]);
}

#[test]
fn what_a_spec_needs_is_fetched_and_what_no_program_may_fetch_is_named() {
    let desk = Desk::as_data_folder();
    let path = |file: &str| format!("/jadohu/anole_drafter/resolve/main/{file}");
    let pickle = std::fs::read(fixture("state_dict.bin")).unwrap();
    let files = BTreeMap::from([(path("config.json"), b"{}".to_vec()), (path("pytorch_model.bin"), pickle)]);
    let address = serve(files);
    for part in ["1-of-00003.safetensors", "2-of-00003.safetensors", "3-of-00003.safetensors"] {
        desk.file(&format!("weights/leloy/Anole-7b-v0.1-hf/model-0000{part}"), "");
    }
    for file in ["config.json", "tokenizer.json", "model.safetensors.index.json"] {
        desk.file(&format!("weights/leloy/Anole-7b-v0.1-hf/{file}"), "");
    }
    let text = std::fs::read_to_string(spec("ci/stub.toml")).unwrap();
    let file = desk.file("mine.toml", &text.replace("= \"stub\"\ndtype", "= \"anole-7b\"\ndtype"));
    let fetch = ["data", "fetch", "--for", &file, "--format", "json"];
    let ran = run_with(&desk, &fetch, &[("HF_ENDPOINT", &address)]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("weights/chameleon/vqgan.ckpt"), "{}", ran.err);
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let models: Vec<_> = answer["models"].as_array().unwrap().iter().map(|model| &model["model"]).collect();
    assert_eq!(models, ["anole-7b", "anole-7b-drafter"], "{answer}");
    assert_eq!(answer["failed"][0]["file"], "vqgan.ckpt", "{answer}");
    assert!(desk.path("weights/anole-7b/drafter.safetensors").is_file());
}
