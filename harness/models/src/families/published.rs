//! A published model as the catalog has it.

use serde::de::DeserializeOwned;
use specimen_catalog::{Entry, Part};

use crate::heads::head_sources::HeadSource;

/// The sizes of `model` as its family has them.
///
/// # Panics
/// If `model` has no sizes of the family, which the tests of the catalog's files exclude.
pub fn sizes_of<C: DeserializeOwned>(model: &Entry) -> C {
    let target = model.target.as_ref().expect("a model of a family draws images");
    target.sizes().unwrap_or_else(|error| panic!("{}: [target.sizes]: {error}", model.name))
}

/// A published model with sizes `C` of its transformer and images, and `V` of its picture decoder.
#[derive(Clone, Debug)]
pub struct Published<C, V> {
    /// Its name in specs.
    pub name: &'static str,
    /// Sizes of its transformer and images.
    pub config: C,
    /// Those of its picture decoder.
    pub vq: V,
    /// What it is read from, in the order of the catalog.
    pub parts: Vec<&'static Part>,
    /// The heads that draft for it.
    pub heads: Vec<HeadSource>,
}

impl<C: DeserializeOwned, V> Published<C, V> {
    /// The published model that is `model` in the catalog, whose pictures `vq` decodes.
    ///
    /// # Panics
    /// As [`sizes_of`].
    pub fn of(model: &'static Entry, vq: V) -> Self {
        let (config, parts, heads) = (sizes_of(model), model.all_parts(), HeadSource::all_of(model));
        Self { name: &model.name, config, vq, parts, heads }
    }
}
