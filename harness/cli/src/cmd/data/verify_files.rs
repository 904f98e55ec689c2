//! The files of published models on this machine, and what vouches for the content of each.

use std::path::Path;

use specimen_catalog::{
    Entry,
    entry::{Origin, PublishedFile},
    hub::{
        Found, HubError, Places,
        digest::{Vouched, check_source, vouched},
    },
};

use crate::{cmd::data::ItemLine, requirements};

/// Every file of `model` and of what it needs, read and compared with what is known of it.
pub(super) fn verified(model: &'static Entry) -> anyhow::Result<Vec<ItemLine>> {
    let places = requirements::places();
    let of = model.with_needs().into_iter().flat_map(|part| part.files.iter().map(move |file| (part, file)));
    of.map(|(part, file)| {
        let line = |status, detail| ItemLine {
            key: &part.name,
            status,
            detail: format!("{}: {detail}", file.name),
            licence: part.licence.get().map_or("unknown", String::as_str),
        };
        let (Found::Ready(path) | Found::Unconverted { path, .. }) = places.find(file) else {
            return Ok(line("absent", format!("run `specimen data fetch {}`", part.name)));
        };
        match content(file, &path, &places) {
            Ok(content) => Ok(line("ok", format!("{} ({content})", path.display()))),
            Err(error @ HubError::Mismatch { .. }) => Ok(line("mismatch", error.to_string())),
            Err(error) => Err(error.into()),
        }
    })
    .collect()
}

/// What vouches for the content of `path`, which is `file` or was converted from it.
pub(super) fn content(file: &PublishedFile, path: &Path, places: &Places) -> Result<String, HubError> {
    let is_converted = file.converted.as_ref().is_some_and(|converted| path.ends_with(converted));
    if !is_converted {
        let snapshot = places.other_snapshot(file, path);
        let by = vouched(path, file, snapshot.as_deref(), places)?;
        return Ok(described(file, &by, snapshot.as_deref()));
    }
    check_source(path, file)
}

/// Who vouches for `file`, and from which snapshot it is where the catalog names another.
pub(super) fn described(file: &PublishedFile, by: &Vouched, snapshot: Option<&str>) -> String {
    match (&file.origin, snapshot.filter(|_| *by != Vouched::Published)) {
        (Origin::Hub { revision, .. }, Some(found)) => {
            format!("{by}; of commit {found}, the catalog names {revision}")
        }
        _ => by.to_string(),
    }
}
