//! Where weights are looked for, in which order, and what is said when they are not there or not usable.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use specimen_extract::{
    network::NetworkName,
    weights_lookup::{Places, Provenance, SOURCE_KEY, check_given, published},
};
use tempfile::TempDir;

const INCEPTION: NetworkName = NetworkName::InceptionFid;
const FILE: &str = "pt_inception-2015-12-05-6726825d.safetensors";

/// A folder with one place of each kind.
struct Machine {
    folder: TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |part: &str| Some(folder.path().join(part));
        let places = Places {
            own: [at("data"), at("cache")].into_iter().flatten().collect(),
            hub: at("hub"),
            torch: at("torch"),
            user: at("user"),
        };
        Self { folder, places }
    }

    fn put(&self, part: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(part);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn refusal(&self, network: NetworkName) -> String {
        self.places.find(network).unwrap_err().to_string()
    }
}

/// A safetensors file with one byte, and `notes` in its header.
fn safetensors(notes: &str) -> Vec<u8> {
    let header = format!(r#"{{{notes}"w":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.push(7);
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn places_are_those_of_the_environment() {
    let places = |variables: &[(&str, &str)]| {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        Places::of_environment(|name| variables.get(name).map(PathBuf::from))
    };
    let path = |text: &str| Some(PathBuf::from(text));
    let home = places(&[("HOME", "home")]);
    assert_eq!(home.own, [PathBuf::from("home/.cache/specimen")]);
    assert_eq!(
        (home.hub, home.torch),
        (path("home/.cache/huggingface/hub"), path("home/.cache/torch/hub/checkpoints"))
    );
    let set = places(&[
        ("HOME", "home"),
        ("XDG_CACHE_HOME", "/xdg"),
        ("HF_HOME", "hf"),
        ("TORCH_HOME", "torch"),
        ("SPECIMEN_DATA", "data"),
        ("SPECIMEN_CACHE", ""),
    ]);
    assert_eq!(set.own, [PathBuf::from("data"), PathBuf::from("/xdg/specimen")]);
    assert_eq!((set.hub, set.torch), (path("hf/hub"), path("torch/hub/checkpoints")));
    assert_eq!(places(&[("HF_HOME", "hf"), ("HF_HUB_CACHE", "hub")]).hub, path("hub"));
    assert_eq!(places(&[]), Places::default());
}

#[test]
fn own_folders_come_before_the_caches_of_others() {
    let machine = Machine::new();
    for part in ["torch", "cache/weights", "data/weights"] {
        let path = machine.put(&format!("{part}/{FILE}"), &safetensors(""));
        let found = machine.places.find(INCEPTION).unwrap();
        assert_eq!((found.path, found.provenance), (path, Provenance::Unknown));
        assert_eq!(found.digest.len(), 64);
    }
}

#[test]
fn a_converted_file_must_name_the_published_source() {
    let machine = Machine::new();
    let note = |source: &str| safetensors(&format!(r#""__metadata__":{{"{SOURCE_KEY}":"{source}"}},"#));
    machine.put(&format!("data/weights/{FILE}"), &note("6726825dff"));
    let found = machine.places.find(INCEPTION).unwrap();
    assert_eq!(found.provenance, Provenance::Converted("6726825dff".to_owned()));
    machine.put(&format!("data/weights/{FILE}"), &note("dead"));
    let message = machine.refusal(INCEPTION);
    assert!(
        message
            .contains("expected weights made from a file with SHA-256 6726825d, found such made from dead"),
        "{message}"
    );
}

#[test]
fn a_source_that_no_published_digest_vouches_for_is_only_claimed() {
    let machine = Machine::new();
    let note = safetensors(&format!(r#""__metadata__":{{"{SOURCE_KEY}":"dead"}},"#));
    let path = machine.put("data/weights/dinov2_vitb14_pretrain.safetensors", &note);
    let found = machine.places.find(NetworkName::Dinov2VitB14).unwrap();
    assert_eq!(found.provenance, Provenance::Claimed("dead".to_owned()));
    assert!(!found.provenance.is_published() && !Provenance::Unknown.is_published());
    // A file that is given by name, and one in the place of what a hub has in a form of its own, may be anybody's.
    let given = check_given(&path, INCEPTION).unwrap().provenance;
    assert_eq!(given, Provenance::Other("dead".to_owned()));
    assert!(given.to_string().contains("dead, which is not the published one") && !given.is_published());
    machine.put("data/weights/ViT-B-32.safetensors", &note);
    let found = machine.places.find(NetworkName::ClipVitB32).unwrap();
    assert_eq!(found.provenance, Provenance::Other("dead".to_owned()));
    let folder = path.parent().unwrap();
    assert!(check_given(folder, INCEPTION).unwrap_err().to_string().contains("it is a folder"));
    let plain = machine.put("plain.safetensors", &safetensors(""));
    assert_eq!(check_given(&plain, INCEPTION).unwrap().provenance, Provenance::Unknown);
}

#[cfg(unix)]
#[test]
fn a_file_of_the_hub_must_have_the_digest_it_is_stored_under() {
    let machine = Machine::new();
    let bytes = safetensors("");
    let repo = "hub/models--openai--clip-vit-base-patch32";
    let link = |blob: &str| {
        machine.put(&format!("{repo}/refs/main"), b"abc\n");
        let stored = machine.put(&format!("{repo}/blobs/{blob}"), &bytes);
        let link = machine.folder.path().join(repo).join("snapshots/abc/model.safetensors");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(stored, &link).unwrap();
        link
    };
    let digest = sha256(&bytes);
    let path = link(&digest);
    let found = machine.places.find(NetworkName::ClipVitB32).unwrap();
    assert_eq!((found.path, found.provenance), (path, Provenance::Hub(digest.clone())));
    let other = "0".repeat(64);
    link(&other);
    let message = machine.refusal(NetworkName::ClipVitB32);
    let expected = format!("expected SHA-256 {other}, found SHA-256 {digest}; it is truncated or damaged");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_snapshot_beside_that_of_main_is_taken_when_main_lacks_the_file() {
    let machine = Machine::new();
    let repo = "hub/models--facebook--dinov2-base";
    machine.put(&format!("{repo}/refs/main"), b"abc");
    let pickle = machine.put(&format!("{repo}/snapshots/abc/pytorch_model.bin"), b"pickle");
    let message = machine.refusal(NetworkName::Dinov2VitB14);
    let expected = format!("{}: whole (the hub names no digest), but a pickle", pickle.display());
    assert!(message.contains(&expected), "{message}");
    machine.put(&format!("{repo}/snapshots/def/model.safetensors"), &safetensors(""));
    let first = machine.put(&format!("{repo}/snapshots/bcd/model.safetensors"), &safetensors(""));
    let found = machine.places.find(NetworkName::Dinov2VitB14).unwrap();
    assert_eq!((found.path, found.provenance), (first, Provenance::Unknown));
    let main = machine.put(&format!("{repo}/snapshots/abc/model.safetensors"), &safetensors(""));
    assert_eq!(machine.places.find(NetworkName::Dinov2VitB14).unwrap().path, main);
}

#[test]
fn a_reference_without_end_is_not_read_and_a_snapshot_is_found_without_it() {
    let machine = Machine::new();
    let repo = "hub/models--facebook--dinov2-base";
    let reference = machine.put(&format!("{repo}/refs/main"), b"");
    fs::remove_file(&reference).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &reference).unwrap();
    let weights = machine.put(&format!("{repo}/snapshots/abc/model.safetensors"), &safetensors(""));
    assert_eq!(machine.places.find(NetworkName::Dinov2VitB14).unwrap().path, weights);
}

#[test]
fn absent_weights_are_named_with_size_digest_place_and_command() {
    let machine = Machine::new();
    for network in NetworkName::ALL {
        let message = machine.refusal(network);
        let known = published(network);
        let wanted = machine
            .folder
            .path()
            .join("data/weights")
            .join(Path::new(known.file).with_extension("safetensors"));
        let parts = [
            format!("no weights of {network}: {}", known.file),
            known.n_bytes.map_or(String::new(), |n| format!("{n} bytes")),
            known.sha256.to_owned(),
            known.source.to_owned(),
            "tools usually put it below ~/.cache/".to_owned(),
            wanted.display().to_string(),
            format!("specimen convert '{}' '{}'", known.file, wanted.display()),
        ];
        for part in parts {
            assert!(message.contains(&part), "`{part}` is not in `{message}`");
        }
    }
}

#[test]
fn a_pickle_is_checked_and_answered_with_what_converts_it() {
    let machine = Machine::new();
    let path = machine.put("torch/dinov2_vitb14_pretrain.pth", b"pickle");
    let message = machine.refusal(NetworkName::Dinov2VitB14);
    let wanted = machine.folder.path().join("data/weights/dinov2_vitb14_pretrain.safetensors");
    for part in [
        format!("{}: whole (6 bytes; its authors publish no digest), but a pickle", path.display()),
        format!("specimen convert '{}' '{}'", path.display(), wanted.display()),
    ] {
        assert!(message.contains(&part), "`{part}` is not in `{message}`");
    }
    machine.put("user/clip/ViT-B-32.pt", b"cut");
    let message = machine.refusal(NetworkName::ClipVitB32);
    assert!(message.contains("expected 353976522 bytes, found 3; it is truncated or damaged"), "{message}");
}

#[test]
fn the_truncated_official_file_is_told_from_a_whole_one() {
    let test = "the_truncated_official_file_is_told_from_a_whole_one";
    let file = "weights/pt_inception-2015-12-05-6726825d.TRUNCATED.pth";
    let Some(path) = specimen_testdata::find(test, file) else { return };
    let machine = Machine::new();
    machine.put("torch/pt_inception-2015-12-05-6726825d.pth", &fs::read(path).unwrap());
    let message = machine.refusal(INCEPTION);
    assert!(
        message.contains("expected 95628359 bytes, found 818371; it is truncated or damaged"),
        "{message}"
    );
}

#[test]
fn a_vocabulary_is_taken_from_data_or_from_the_hub() {
    let machine = Machine::new();
    let message = machine.places.find_vocabulary().unwrap_err().to_string();
    for part in [
        "bpe_simple_vocab_16e6.txt.gz of openai/CLIP (1,356,917 bytes, SHA-256 924691ac",
        "data/tokenizers/bpe",
    ] {
        assert!(message.contains(part), "`{part}` is not in `{message}`");
    }
    let hub = machine.put("hub/models--openai--clip-vit-base-patch32/snapshots/main/merges.txt", b"");
    assert_eq!(machine.places.find_vocabulary().unwrap(), hub);
    let data = machine.put("data/tokenizers/bpe_simple_vocab_16e6.txt.gz", b"");
    assert_eq!(machine.places.find_vocabulary().unwrap(), data);
}
