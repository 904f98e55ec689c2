//! The files of datasets, from their publishers' addresses to their places below the data folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use specimen_catalog::hub::{
    HubError, Settings,
    digest::compared_with_first,
    fetch::fetch_address,
    unpack::{unpack_file, unpack_folder},
};
use specimen_datasets::{
    data_root::DataRoot,
    error::DatasetError,
    manifest::{DataItem, Expected, Holds, Status},
};
use specimen_foundation::{fail, failure, folders::DATA_VARIABLE};

use crate::{cmd::byte_progress::ByteProgress, console::Console};

/// The folder below the data folder for archives until they are unpacked.
const DOWNLOADS: &str = "downloads";

/// Brings `item` to this machine unless it is there as published; where it is, whether it was `here` or is `fetched`, and what
/// vouches for its content. `mirror` is an address in place of the publisher's scheme and host.
pub(super) fn brought(
    item: &DataItem,
    root: Option<&DataRoot>,
    mirror: Option<&str>,
    console: &Console,
) -> anyhow::Result<(PathBuf, &'static str, String)> {
    let root = root.ok_or_else(
        || failure!(Usage: "no data folder; set {DATA_VARIABLE} to a folder for {} and try again", item.key),
    )?;
    match item.verify(Some(root))? {
        Status::Present { path } => return Ok((path, "here", item.vouched().to_owned())),
        Status::Mismatch { path, expected, found, .. } => {
            let path = path.display();
            fail!(Missing: "{path}: expected {expected}, found {found}; move it away and fetch again");
        }
        Status::Absent { .. } => {}
    }
    let url = address(&item.url, mirror);
    let place = root.path().join(&item.places[0]);
    let name = url.rsplit('/').next().unwrap_or(&item.key);
    let download = root.path().join(DOWNLOADS).join(name);
    if !download.is_file() {
        console.say(format!("fetching {url} (licence: {})", item.licence));
        let settings = Settings::of_environment(|name| std::env::var_os(name));
        let mut reported = ByteProgress::new(console, format!("fetching {name}"));
        fetch_address(&url, &download, &settings, &mut |progress| {
            reported.reached(progress.n_done, progress.n_total)
        })?;
    }
    let remove = |path: &Path| {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.with_context(|| format!("{}: cannot remove it", path.display()))
    };
    // What came from an address is not to be read again every time when it is not what was published.
    let unpublished = |why: String, gone: &[&Path]| -> anyhow::Error {
        match gone.iter().filter(|path| path.exists()).try_for_each(|path| remove(path)) {
            Ok(()) => failure!(Missing: "{url}: not the published file: {why}; it was removed: fetch it \
                again, and report it if it stays so")
            .into(),
            Err(error) => error,
        }
    };
    let is_at = |path: &Path| match item.is_at(path) {
        Ok(true) => Ok(None),
        Ok(false) => Ok(Some(format!("{} has other content", path.display()))),
        Err(error @ DatasetError::Io { .. }) => Err(error),
        Err(error) => Ok(Some(error.to_string())),
    };
    let unpacked = match &item.holds {
        Holds::Itself => {
            if let Some(why) = is_at(&download)? {
                return Err(unpublished(why, &[&download]));
            }
            let folder = place.parent().expect("a place has a folder");
            let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(&download, &place));
            moved.with_context(|| format!("{}: cannot put the file there", place.display()))?;
            Ok(())
        }
        Holds::ZippedFile(entry) => unpack_file(&download, entry, &place),
        Holds::ZippedFolder(folder) => {
            console.say(format!("unpacking {} to {}", download.display(), place.display()));
            unpack_folder(&download, folder, &place, &mut |_, _| {}).map(drop)
        }
    };
    match unpacked {
        Err(error @ HubError::Archive { .. }) => return Err(unpublished(error.to_string(), &[&download])),
        unpacked => unpacked?,
    }
    let is_packed = download.is_file();
    if is_packed && let Some(why) = is_at(&place)? {
        return Err(unpublished(why, &[&place, &download]));
    }
    let fetched = if is_packed { &download } else { &place };
    let content = match item.expected {
        Expected::Content { .. } => item.vouched().to_owned(),
        Expected::Images { .. } | Expected::Counted { .. } => {
            match compared_with_first(fetched, &item.url, Some(root.path())) {
                Ok(vouched) => format!("{}, {name}: {vouched}", item.vouched()),
                Err(error @ HubError::Mismatch { .. }) => {
                    return Err(unpublished(error.to_string(), &[&place, &download]));
                }
                Err(error) => return Err(error.into()),
            }
        }
    };
    if is_packed {
        remove(&download)?;
    }
    Ok((place, "fetched", content))
}

/// The publisher's address, or the same path behind that of a mirror. A store of many publishers has the name of each in front
/// of its paths.
fn address(url: &str, mirror: Option<&str>) -> String {
    let below = url.strip_prefix("https://s3.amazonaws.com/").or(url.split_once("://").map(|(_, rest)| rest));
    let path = below.and_then(|below| below.split_once('/')).map_or("", |(_, path)| path);
    mirror.map_or_else(|| url.to_owned(), |mirror| format!("{}/{path}", mirror.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_keeps_the_path() {
        let url = "https://s3.amazonaws.com/images.cocodataset.org/zips/val2017.zip";
        assert_eq!(address(url, None), url);
        assert_eq!(
            address(url, Some("https://mirror.example/coco/")),
            "https://mirror.example/coco/zips/val2017.zip"
        );
        assert_eq!(address("https://a.example/b/c.tsv", Some("http://m")), "http://m/b/c.tsv");
    }
}
