//! Where weights are looked for, in which order, and what is said when they are not there or not usable.

use std::{fs, path::PathBuf};

use sha2::{Digest, Sha256};
use specimen_extract::{
    network::NetworkName,
    weights_lookup::{
        Found, LookupError, Places, Provenance, SOURCE_KEY, check_given, find, find_vocabulary,
    },
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
            clip: at("user/clip"),
            given: None,
        };
        Self { folder, places }
    }

    fn put(&self, part: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(part);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn find(&self, network: NetworkName) -> Result<Found, LookupError> {
        find(&self.places, network.entry())
    }

    fn refusal(&self, network: NetworkName) -> String {
        self.find(network).unwrap_err().to_string()
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
fn the_data_folder_comes_before_the_folder_of_caches() {
    let machine = Machine::new();
    for part in ["cache/weights", "data/weights"] {
        let path = machine.put(&format!("{part}/{FILE}"), &safetensors(""));
        let found = machine.find(INCEPTION).unwrap();
        assert_eq!((found.path, found.provenance), (path, Provenance::Unknown));
        assert_eq!(found.digest.len(), 64);
    }
}

#[test]
fn a_converted_file_must_name_the_published_source() {
    let machine = Machine::new();
    let note = |source: &str| safetensors(&format!(r#""__metadata__":{{"{SOURCE_KEY}":"{source}"}},"#));
    machine.put(&format!("data/weights/{FILE}"), &note("6726825dff"));
    let found = machine.find(INCEPTION).unwrap();
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
    let found = machine.find(NetworkName::Dinov2VitB14).unwrap();
    assert_eq!(found.provenance, Provenance::Claimed("dead".to_owned()));
    assert!(!found.provenance.is_published() && !Provenance::Unknown.is_published());
    // A file that is given by name, and one in the place of what a hub has in a form of its own, may be anybody's.
    let given = check_given(&path, INCEPTION.entry()).unwrap().provenance;
    assert_eq!(given, Provenance::Other("dead".to_owned()));
    assert!(given.to_string().contains("dead, which is not the published one") && !given.is_published());
    machine.put("data/weights/ViT-B-32.safetensors", &note);
    let found = machine.find(NetworkName::ClipVitB32).unwrap();
    assert_eq!(found.provenance, Provenance::Other("dead".to_owned()));
    let folder = path.parent().unwrap();
    assert!(check_given(folder, INCEPTION.entry()).unwrap_err().to_string().contains("it is a folder"));
    let plain = machine.put("plain.safetensors", &safetensors(""));
    assert_eq!(check_given(&plain, INCEPTION.entry()).unwrap().provenance, Provenance::Unknown);
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
    let found = machine.find(NetworkName::ClipVitB32).unwrap();
    assert_eq!((found.path, found.provenance), (path, Provenance::Hub(digest.clone())));
    let other = "0".repeat(64);
    link(&other);
    let message = machine.refusal(NetworkName::ClipVitB32);
    let expected = format!("expected SHA-256 {other}, found {digest}; it is truncated or damaged");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn the_weights_of_an_alternative_are_taken_where_those_of_the_network_are_absent() {
    let machine = Machine::new();
    let timm = machine.put(
        "hub/models--timm--vit_base_patch32_clip_224.openai/snapshots/abc/open_clip_model.safetensors",
        &safetensors(""),
    );
    machine.put("user/clip/ViT-B-32.pt", b"pickle");
    assert_eq!(machine.find(NetworkName::ClipVitB32).unwrap().path, timm);
    let own = machine.put("data/weights/ViT-B-32.safetensors", &safetensors(""));
    assert_eq!(machine.find(NetworkName::ClipVitB32).unwrap().path, own);
}

#[test]
fn a_snapshot_beside_that_of_main_is_taken_when_main_lacks_the_file() {
    let machine = Machine::new();
    let repo = "hub/models--facebook--dinov2-base";
    machine.put(&format!("{repo}/refs/main"), b"abc");
    let pickle = machine.put(&format!("{repo}/snapshots/abc/pytorch_model.bin"), b"pickle");
    let message = machine.refusal(NetworkName::Dinov2VitB14);
    let expected = format!("{}: whole (no digest is published), but a pickle", pickle.display());
    assert!(message.contains(&expected), "{message}");
    machine.put(&format!("{repo}/snapshots/def/model.safetensors"), &safetensors(""));
    let first = machine.put(&format!("{repo}/snapshots/bcd/model.safetensors"), &safetensors(""));
    let found = machine.find(NetworkName::Dinov2VitB14).unwrap();
    assert_eq!((found.path, found.provenance), (first, Provenance::Unknown));
    let main = machine.put(&format!("{repo}/snapshots/abc/model.safetensors"), &safetensors(""));
    assert_eq!(machine.find(NetworkName::Dinov2VitB14).unwrap().path, main);
}

#[test]
fn absent_weights_are_named_with_size_digest_places_and_command() {
    let machine = Machine::new();
    for network in NetworkName::ALL {
        let message = machine.refusal(network);
        assert!(message.starts_with(&format!("no weights of {network}: ")), "{message}");
        assert!(message.contains(&format!("`specimen data fetch {network}` fetches")), "{message}");
        for file in network.entry().weights() {
            let mut parts = vec![file.described()];
            parts.extend(file.n_bytes.get().map(|n| format!("({n} bytes, SHA-256 ")));
            parts.extend(file.sha256.get().cloned());
            for part in parts {
                assert!(message.contains(&part), "`{part}` is not in `{message}`");
            }
        }
        for place in ["data/weights", "cache/weights", "hub", "torch", "user/clip"] {
            let place = machine.folder.path().join(place).display().to_string();
            assert!(message.contains(&place), "`{place}` is not in `{message}`");
        }
    }
    let wanted = machine.folder.path().join("data/weights/ViT-B-32.safetensors");
    let command = format!(
        "if you have the file, `specimen convert 'ViT-B-32.pt' '{}'` puts its weights where",
        wanted.display()
    );
    let message = machine.refusal(NetworkName::ClipVitB32);
    assert!(message.contains(&command) && message.contains("`--weights`"), "{message}");
}

#[test]
fn a_pickle_is_checked_and_answered_with_what_converts_it() {
    let machine = Machine::new();
    let path = machine.put("torch/dinov2_vitb14_pretrain.pth", b"pickle");
    let message = machine.refusal(NetworkName::Dinov2VitB14);
    let wanted = machine.folder.path().join("data/weights/dinov2_vitb14_pretrain.safetensors");
    for part in [
        format!("{}: whole (no digest is published), but a pickle", path.display()),
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
    let message = find_vocabulary(&machine.places).unwrap_err().to_string();
    for part in [
        "bpe_simple_vocab_16e6.txt.gz of openai/CLIP (1,356,917 bytes, SHA-256 924691ac",
        "belongs at",
        "data/tokenizers/bpe",
    ] {
        assert!(message.contains(part), "`{part}` is not in `{message}`");
    }
    let clip = machine.put("user/clip/bpe_simple_vocab_16e6.txt.gz", b"");
    assert_eq!(find_vocabulary(&machine.places).unwrap(), clip);
    let hub = machine.put("hub/models--openai--clip-vit-base-patch32/snapshots/main/merges.txt", b"");
    assert_eq!(find_vocabulary(&machine.places).unwrap(), hub);
    let data = machine.put("data/tokenizers/bpe_simple_vocab_16e6.txt.gz", b"");
    assert_eq!(find_vocabulary(&machine.places).unwrap(), data);
}
