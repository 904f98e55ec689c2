//! Readers take untrusted files: whatever the bytes, they answer with a set or an error that names the
//! file, and never panic.
#![allow(clippy::unwrap_used)] // a test may panic

use specimen_datasets::catalog::{OpenOptions, open};
use specimen_datasets::mnist::Mnist;
use std::path::Path;

/// One well-formed file of each format.
const WHOLE: [(&str, &[u8]); 8] = [
    ("p.txt", "a dog\nun café\r\n42\n".as_bytes()),
    ("p.csv", b"id,prompt,image_id\n1,\"a, \"\"b\"\"\",5\r\n2,c,\n"),
    ("p.jsonl", "{\"prompt\":\"é\",\"id\":1}\n{\"text\":\"b\",\"id\":\"x\"}\n".as_bytes()),
    ("g.jsonl", b"{\"tag\":\"counting\",\"include\":[],\"prompt\":\"two clocks\"}\n"),
    ("d.csv", b"item_id,text,tuple,question_natural_language\ncups,\"a, b\",entity - whole (cups),Q?\r\n"),
    ("p.tsv", b"Prompt\tCategory\tChallenge\tNote\n\"a\" b\tArts\tBasic\t\n0\tArts\tBasic\tn\n"),
    ("p.json", b"{\"images\":[{\"id\":7}],\"annotations\":[{\"id\":1,\"image_id\":7,\"caption\":\"a\"}]}"),
    (
        "p.txt.gz",
        &[
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0x4b, 0xe4, 0x4a, 0xe2, 2, 0, 0x97, 0x2a, 0x57, 0x18, 4, 0,
            0, 0,
        ],
    ),
];

#[test]
fn a_file_of_more_lines_or_fields_than_any_dataset_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, what) in [
        ("p.txt", "a\n".repeat(10_000_001), "lines"),
        ("p.csv", format!("prompt\n{}", ",".repeat(10_000_001)), "fields"),
        ("p.tsv", "\t".repeat(10_000_001), "fields"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let message = open(path.to_str().unwrap(), &OpenOptions::default()).unwrap_err().to_string();
        assert!(message.contains(&format!("expected at most 10000000 {what}")), "{message}");
    }
}

/// Bytes that formats give a meaning to.
const SPECIAL: [u8; 14] = *b"\0\n\r\t\",{}:0\\\xff\xc3 ";

/// A deterministic sequence of draws below a bound.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn mutated(whole: &[u8], draws: &mut Draws) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..1 + draws.below(4) {
        let at = draws.below(bytes.len() + 1);
        let special = SPECIAL[draws.below(SPECIAL.len())];
        match draws.below(4) {
            0 => bytes.insert(at, special),
            1 => bytes.truncate(at),
            2 if at < bytes.len() => bytes[at] = special,
            _ if at < bytes.len() => drop(bytes.remove(at)),
            _ => bytes.push(special),
        }
    }
    bytes
}

fn check_opens_or_names_the_file(path: &Path) -> bool {
    match open(path.to_str().unwrap(), &OpenOptions::default()) {
        Ok(set) => {
            assert!(set.n_prompts() > 0 && set.prompts().iter().all(|p| !p.text.trim().is_empty()));
            true
        }
        Err(error) => {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(error.to_string().contains(name), "`{name}` is not in `{error}`");
            false
        }
    }
}

#[test]
fn a_damaged_prompt_file_is_read_or_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut draws = Draws(1);
    for (name, whole) in WHOLE {
        let path = folder.path().join(name);
        std::fs::write(&path, whole).unwrap();
        assert!(check_opens_or_names_the_file(&path), "{name} is well-formed");
        let mut n_refused = 0;
        for _ in 0..120 {
            std::fs::write(&path, mutated(whole, &mut draws)).unwrap();
            n_refused += usize::from(!check_opens_or_names_the_file(&path));
        }
        assert!(n_refused > 12, "{name}: only {n_refused} of 120 damaged files are refused");
    }
}

#[test]
fn a_damaged_mnist_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [pixels, labels] = ["pixels", "labels"].map(|name| folder.path().join(name));
    let header = [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28];
    let whole_pixels = [&header[..], &[9; 784]].concat();
    std::fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 1, 5]).unwrap();
    std::fs::write(&pixels, &whole_pixels).unwrap();
    assert_eq!(Mnist::read(&pixels, &labels).unwrap().labels(), [5]);
    let mut draws = Draws(2);
    for _ in 0..120 {
        let mut damaged = header.to_vec();
        damaged[draws.below(16)] ^= 1 << draws.below(8);
        std::fs::write(&pixels, [&damaged[..], &[9; 784]].concat()).unwrap();
        assert!(Mnist::read(&pixels, &labels).is_err(), "{damaged:?}");
    }
}
