//! Which folders are looked into, and when a file is ready to be read.

use std::path::{Path, PathBuf};

use specimen_hub::{Found, Places, manifest};

fn touch(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "").unwrap();
}

fn of(pairs: &[(&str, &str)], data: Option<&str>) -> Places {
    Places::of_environment(data.map(Path::new), |name| {
        pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
    })
}

#[test]
fn folders_are_those_of_the_environment() {
    let home = of(&[("HOME", "h")], None);
    let [own, hub, torch] =
        ["h/.cache/specimen", "h/.cache/huggingface/hub", "h/.cache/torch/hub/checkpoints"];
    assert_eq!((home.own, home.hub, home.torch), (vec![own.into()], Some(hub.into()), Some(torch.into())));
    let set = of(&[("HOME", "h"), ("HF_HOME", "f"), ("TORCH_HOME", "t"), ("SPECIMEN_CACHE", "c")], Some("d"));
    assert_eq!(set.own, [PathBuf::from("d"), PathBuf::from("c")]);
    assert_eq!((set.hub, set.torch), (Some("f/hub".into()), Some("t/hub/checkpoints".into())));
    let set = of(&[("HF_HOME", "f"), ("HF_HUB_CACHE", "c"), ("XDG_CACHE_HOME", "")], None);
    assert_eq!((set.hub, set.own), (Some("c".into()), Vec::new()));
}

#[test]
fn a_pickle_is_unconverted_until_its_safetensors_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places {
        own: vec![folder.path().join("data")],
        hub: Some(folder.path().join("hub")),
        torch: Some(folder.path().join("torch")),
    };
    let inception = &manifest("inception-fid").unwrap().files[0];
    assert_eq!(places.find(inception), Found::Missing);
    let path = folder.path().join("torch").join(&inception.name);
    touch(&path);
    let to = folder.path().join("data/weights/pt_inception-2015-12-05-6726825d.safetensors");
    assert_eq!(places.find(inception), Found::Unconverted { path, to: to.clone() });
    touch(&to);
    assert_eq!(places.find(inception), Found::Ready(to));
}

#[test]
fn a_head_that_is_published_as_safetensors_needs_no_conversion() {
    let folder = tempfile::tempdir().unwrap();
    let places =
        Places { own: vec![folder.path().to_owned()], hub: Some(folder.path().join("hub")), torch: None };
    let head = &manifest("anole-7b-drafter").unwrap().files[1];
    let repo = folder.path().join("hub/models--jadohu--anole_drafter");
    let pickle = repo.join("snapshots/a/pytorch_model.bin");
    touch(&pickle);
    let to = folder.path().join("weights/anole-7b/drafter.safetensors");
    assert_eq!(places.find(head), Found::Unconverted { path: pickle, to });
    let safe = repo.join("snapshots/b/model.safetensors");
    touch(&safe);
    assert_eq!(places.find(head), Found::Ready(safe));
    assert_eq!(places.missing(manifest("anole-7b-drafter").unwrap()).len(), 1);
}

#[test]
fn a_model_in_a_folder_of_its_own_or_in_another_layout_is_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { own: vec![folder.path().to_owned()], hub: None, torch: None };
    let write = |name: &str| {
        let path = folder.path().join("weights/anole-7b").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    };
    let anole = manifest("anole-7b").unwrap();
    let missing =
        || -> Vec<&str> { places.missing(anole).into_iter().map(|file| file.name.as_str()).collect() };
    let all = missing();
    assert_eq!(all.len(), anole.files.len());
    write("config.json");
    write("model-00002-of-00003.safetensors");
    assert!(!missing().contains(&"config.json") && missing().contains(&"model-00001-of-00003.safetensors"));
    // Meta's layout is one file and has no config, and its tokenizer another name.
    std::fs::remove_dir_all(folder.path().join("weights")).unwrap();
    write("consolidated.safetensors");
    assert_eq!(missing(), ["tokenizer.json", "vqgan.ckpt"]);
    write("text_tokenizer.json");
    write("vqgan.safetensors");
    assert_eq!(missing(), [""; 0]);
    // A pickle that lies in the folder is not what can be read.
    std::fs::remove_file(folder.path().join("weights/anole-7b/vqgan.safetensors")).unwrap();
    write("vqgan.ckpt");
    assert_eq!(missing(), ["vqgan.ckpt"]);
}
