//! Which folders are looked into, and when a file is ready to be read.

use std::path::{Path, PathBuf};

use specimen_catalog::{
    entry,
    entry::PublishedFile,
    hub::{Found, Places},
    part::INDEX,
};

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
    let [own, hub, torch, clip] = ["specimen", "huggingface/hub", "torch/hub/checkpoints", "clip"]
        .map(|part| format!("h/.cache/{part}"));
    assert_eq!(home.clip, Some(clip.into()));
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
        ..Places::default()
    };
    let inception = &entry("inception-fid").unwrap().files[0];
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
    let places = Places {
        own: vec![folder.path().to_owned()],
        hub: Some(folder.path().join("hub")),
        ..Places::default()
    };
    let head = &entry("anole-7b-drafter").unwrap().files[1];
    let repo = folder.path().join("hub/models--jadohu--anole_drafter");
    let pickle = repo.join("snapshots/a/pytorch_model.bin");
    touch(&pickle);
    let to = folder.path().join("weights/anole-7b/drafter.safetensors");
    assert_eq!(places.find(head), Found::Unconverted { path: pickle, to });
    let safe = repo.join("snapshots/b/model.safetensors");
    touch(&safe);
    assert_eq!(places.find(head), Found::Ready(safe));
    assert_eq!(places.missing(entry("anole-7b-drafter").unwrap()), Vec::<&PublishedFile>::new());
}

#[test]
fn a_model_in_a_folder_of_its_own_or_in_another_layout_is_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { own: vec![folder.path().to_owned()], ..Places::default() };
    let write = |name: &str| {
        let path = folder.path().join("weights/anole-7b").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    };
    let anole = entry("anole-7b").unwrap();
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

#[test]
fn a_part_is_found_whole_in_one_snapshot_or_below_one_folder_of_this_program() {
    let folder = tempfile::tempdir().unwrap();
    let [data, cache, hub] = ["data", "cache", "hub"].map(|name| folder.path().join(name));
    let places =
        Places { own: vec![data.clone(), cache.clone()], hub: Some(hub.clone()), ..Places::default() };
    let part = &entry("flan-t5-xl").unwrap().parts[0];
    let shards = |folder: &Path| part.fetched.iter().map(|file| folder.join(file)).collect::<Vec<_>>();
    let snapshots = hub.join("models--google--flan-t5-xl/snapshots");
    for revision in ["abc", "def"] {
        touch(&shards(&snapshots.join(revision))[0]);
    }
    assert_eq!(places.part(part), None, "one of two shards is not a part");
    for revision in ["abc", "def"] {
        touch(&shards(&snapshots.join(revision))[1]);
    }
    assert_eq!(places.part(part), Some(shards(&snapshots.join("abc"))));
    std::fs::create_dir_all(hub.join("models--google--flan-t5-xl/refs")).unwrap();
    std::fs::write(hub.join("models--google--flan-t5-xl/refs/main"), "def\n").unwrap();
    assert_eq!(places.part(part), Some(shards(&snapshots.join("def"))));
    let pinned = snapshots.join(part.choices[0].revision.as_deref().unwrap());
    shards(&pinned).iter().for_each(|path| touch(path));
    assert_eq!(places.part(part), Some(shards(&pinned)), "the revision that the catalog names comes first");
    for own in [cache, data] {
        let own = own.join("weights/google/flan-t5-xl");
        shards(&own).iter().for_each(|path| touch(path));
        assert_eq!(places.part(part), Some(shards(&own)));
    }
}

#[test]
fn an_index_stands_for_the_shards_that_it_lists() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { own: vec![folder.path().to_owned()], ..Places::default() };
    let own = folder.path().join("weights/anole-7b");
    let files = ["config.json", INDEX, "a.safetensors", "b.safetensors"].map(|name| own.join(name));
    files.iter().for_each(|path| touch(path));
    let target = &entry("anole-7b").unwrap().parts[0];
    for (index, is_found) in [
        ("", false),
        (r#"{ "weight_map": {} }"#, false),
        (r#"{ "weight_map": { "x": "b.safetensors", "y": "a.safetensors", "z": "../c" } }"#, true),
        (r#"{ "weight_map": { "x": "b.safetensors", "y": "c.safetensors" } }"#, false),
    ] {
        std::fs::write(&files[1], index).unwrap();
        assert_eq!(places.part(target), is_found.then(|| files.to_vec()), "{index}");
    }
}

#[test]
fn files_that_are_there_and_not_together_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    let [data, cache] =
        ["data", "cache"].map(|name| folder.path().join(name).join("weights/google/flan-t5-xl"));
    let own = [&data, &cache].map(|path| path.ancestors().nth(3).unwrap().to_owned()).to_vec();
    let places = Places { own, ..Places::default() };
    let t5 = entry("flan-t5-xl").unwrap();
    let missing = || places.missing(t5).iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    touch(&data.join("tokenizer.json"));
    touch(&data.join(first));
    assert_eq!(missing(), [second]);
    touch(&cache.join(second));
    assert_eq!(missing(), [first, second]);
    touch(&data.join(second));
    assert_eq!(missing(), [""; 0]);
}

#[test]
fn weights_are_not_missed_where_an_alternative_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { hub: Some(folder.path().join("hub")), ..Places::default() };
    let clip = entry("clip-vit-b32").unwrap();
    let missing = || places.missing(clip).iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    assert_eq!(missing(), ["config.json", "model.safetensors", "merges.txt"]);
    let timm = folder.path().join("hub/models--timm--vit_base_patch32_clip_224.openai");
    let weights = timm.join("snapshots/a/open_clip_model.safetensors");
    touch(&weights);
    assert_eq!(missing(), ["config.json", "merges.txt"]);
    assert_eq!(places.weights(clip), Some((&clip.alternatives[1], Found::Ready(weights))));
}
