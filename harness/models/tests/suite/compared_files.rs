//! Weights of a run, compared with what is known of them before they are loaded.

use std::{fs, os::unix::fs::symlink, path::Path};

use specimen_catalog::{
    entry,
    entry::{Origin, PublishedFile, published},
    hub::Places,
};
use specimen_models::files::published_files::compared;

fn places(folder: &Path) -> Places {
    Places { own: vec![folder.join("data")], hub: Some(folder.join("hub")), ..Places::default() }
}

/// Puts `bytes` where the hub's tools put `file` of `snapshot`, under the name `blob`.
fn cached(folder: &Path, file: &PublishedFile, snapshot: &str, blob: &str, bytes: &[u8]) {
    let Origin::Hub { repo, .. } = &file.origin else { panic!("{} is no file of the hub", file.name) };
    let repo = folder.join(format!("hub/models--{}", repo.replace('/', "--")));
    let [blob, link] =
        [repo.join("blobs").join(blob), repo.join("snapshots").join(snapshot).join(&file.name)];
    for path in [&blob, &link] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    fs::write(&blob, bytes).unwrap();
    symlink(&blob, &link).unwrap();
}

#[test]
fn weights_under_another_contents_name_are_refused_those_of_heads_too() {
    let sha256_of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for (model, of) in [("anole-7b", "anole-7b"), ("anole-7b", "anole-7b-drafter")] {
        let unknown = |file: &&PublishedFile| file.n_bytes.get().is_none() && file.sha256.get().is_none();
        let file = entry(of).unwrap().files.iter().find(unknown).unwrap();
        let Origin::Hub { revision, .. } = &file.origin else {
            panic!("{} is no file of the hub", file.name)
        };
        for (bytes, is_sound) in [(&b""[..], true), (b"other bytes", false)] {
            let folder = tempfile::tempdir().unwrap();
            cached(folder.path(), file, revision, sha256_of_nothing, bytes);
            let said =
                compared(&places(folder.path()), entry(model).unwrap()).map_err(|error| error.to_string());
            match is_sound {
                true => assert_eq!(said, Ok(Vec::new()), "{of}"),
                false => {
                    let said = said.unwrap_err();
                    assert!(said.contains(&file.name) && said.contains(sha256_of_nothing), "{of}: {said}");
                }
            }
        }
    }
}

#[test]
fn every_size_and_digest_of_the_catalog_is_compared() {
    let mut n = 0;
    for model in published() {
        let known = |file: &&PublishedFile| file.n_bytes.get().is_some() || file.sha256.get().is_some();
        for file in model.files.iter().filter(known) {
            let folder = tempfile::tempdir().unwrap();
            let place = match &file.origin {
                Origin::Hub { repo, .. } => format!("data/weights/{repo}/{}", file.name),
                Origin::Url { .. } => format!("data/weights/{}", file.base_name()),
                Origin::ByHand { place, .. } => format!("data/{place}"),
            };
            let path = folder.path().join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            // A pickle is compared when it is converted.
            if file.converted.is_some() && !file.name.ends_with(".safetensors") {
                continue;
            }
            let said = compared(&places(folder.path()), model).unwrap_err().to_string();
            assert!(
                said.contains(file.base_name()) && said.contains("fetch it again"),
                "{}: {said}",
                model.name
            );
            n += 1;
        }
    }
    assert!(n >= 5, "{n} files of the catalog have a size or a digest");
}

#[test]
fn another_commit_than_the_catalogs_is_said() {
    let is_commit = |file: &&PublishedFile| {
        matches!(&file.origin, Origin::Hub { revision, .. } if revision.len() == 40)
            && file.converted.is_none()
    };
    let unknown = |file: &&PublishedFile| file.n_bytes.get().is_none() && file.sha256.get().is_none();
    let mut all = published().flat_map(|model| model.files.iter().map(move |file| (model, file)));
    let (model, file) = all.find(|(_, file)| is_commit(file) && unknown(file)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let other = "f".repeat(40);
    cached(folder.path(), file, &other, "a-name-that-is-no-digest", b"x");
    let said = compared(&places(folder.path()), model).unwrap();
    let command = format!("specimen data fetch {}", model.name);
    assert!(said.len() == 1 && said[0].contains(&other) && said[0].contains(&command), "{said:?}");
}
