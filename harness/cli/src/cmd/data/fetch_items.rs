//! The files of datasets, from their publishers' addresses to their places below the data folder.

use std::{fs, path::PathBuf};

use anyhow::Context;
use specimen_datasets::{
    data_root::DataRoot,
    manifest::{DataItem, Holds, Status},
};
use specimen_foundation::folders::DATA_VARIABLE;
use specimen_hub::{
    Settings,
    fetch::fetch_address,
    unpack::{unpack_file, unpack_folder},
};

use crate::{cmd::byte_progress::ByteProgress, console::Console, exit::CliError};

/// The folder below the data folder for archives until they are unpacked.
const DOWNLOADS: &str = "downloads";

/// Brings `item` to this machine unless it is there as published; where it is, and whether it was there before.
/// `mirror` is an address in place of the publisher's scheme and host.
///
/// # Errors
/// No data folder, something else at the item's place, whatever fetching and unpacking refuse, another content than
/// the published one.
pub(super) fn brought(
    item: &DataItem,
    root: Option<&DataRoot>,
    mirror: Option<&str>,
    console: &Console,
) -> anyhow::Result<(PathBuf, bool)> {
    let root = root.ok_or_else(|| {
        CliError::Usage(format!(
            "no data folder; set {DATA_VARIABLE} to a folder for {} and try again",
            item.key
        ))
    })?;
    match item.verify(Some(root))? {
        Status::Present { path } => return Ok((path, true)),
        Status::Mismatch { path, expected, found, .. } => {
            let path = path.display();
            return Err(CliError::Missing(format!(
                "{path}: expected {expected}, found {found}; move it away and fetch again"
            ))
            .into());
        }
        Status::Absent { .. } => {}
    }
    let url = address(item.source.url, mirror);
    let place = root.path().join(item.source.place);
    let name = url.rsplit('/').next().unwrap_or(item.key);
    let download = root.path().join(DOWNLOADS).join(name);
    if !download.is_file() {
        console.say(format!("fetching {url} (licence: {})", item.licence));
        let settings = Settings::of_environment(|name| std::env::var_os(name));
        let mut reported = ByteProgress::new(console, format!("fetching {name}"));
        fetch_address(&url, &download, &settings, &mut |progress| {
            reported.reached(progress.n_done, progress.n_total)
        })?;
    }
    match item.source.holds {
        Holds::Itself => {
            if !item.is_at(&download)? {
                fs::remove_file(&download)
                    .with_context(|| format!("{}: cannot remove it", download.display()))?;
                return Err(CliError::Missing(format!(
                    "{url}: not the published file; it was removed: fetch it again, and report it if it stays so"
                ))
                .into());
            }
            let folder = place.parent().expect("a place has a folder");
            let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(&download, &place));
            moved.with_context(|| format!("{}: cannot put the file there", place.display()))?;
        }
        Holds::ZippedFile(entry) => unpack_file(&download, entry, &place)?,
        Holds::ZippedFolder(folder) => {
            console.say(format!("unpacking {} to {}", download.display(), place.display()));
            unpack_folder(&download, folder, &place, &mut |_, _| {})?;
        }
    }
    if !item.is_at(&place)? {
        let place = place.display();
        return Err(
            CliError::Missing(format!("{place}: not what was published; remove it and report it")).into()
        );
    }
    if download.is_file() {
        fs::remove_file(&download).with_context(|| format!("{}: cannot remove it", download.display()))?;
    }
    Ok((place, false))
}

/// The publisher's address, or the same path behind that of a mirror.
fn address(url: &str, mirror: Option<&str>) -> String {
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    mirror.map_or_else(|| url.to_owned(), |mirror| format!("{}/{path}", mirror.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_keeps_the_path() {
        let url = "http://images.cocodataset.org/zips/val2017.zip";
        assert_eq!(address(url, None), url);
        assert_eq!(
            address(url, Some("https://mirror.example/coco/")),
            "https://mirror.example/coco/zips/val2017.zip"
        );
    }
}
