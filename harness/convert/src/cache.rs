//! What metrics keep in files of PyTorch: mean and covariance (`mu`, `sigma`, torch-fidelity's statistics) and rows of
//! features (one tensor, or one a layer). Arrays of NumPy and tensors are read alike; nothing is run.

use std::{collections::BTreeMap, path::Path};

use crate::{
    ConvertError, Element, Limits, Source,
    format::Opening,
    pickle::array::Array,
    tensor::{self, TensorView},
};

/// Names that are listed in a message, at most.
const MAX_LISTED: usize = 12;

/// A file with statistics or features, opened.
pub struct Cache {
    source: Source,
    /// The name, or the beginning of names, that was asked for.
    key: Option<String>,
}

/// A mean and a covariance.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// `[d]`
    pub mean: Vec<f64>,
    /// `[d, d]` by rows.
    pub covariance: Vec<f64>,
}

/// Rows of features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// The layer's name; empty where the file holds nothing else.
    pub name: String,
    /// F16, F32 or F64.
    pub element: Element,
    /// Rows.
    pub n: u64,
    /// Features of a row.
    pub d: u64,
    /// Little-endian, by rows.
    pub bytes: Vec<u8>,
}

/// A tensor or an array.
#[derive(Clone, Copy)]
enum Held<'c> {
    Tensor(&'c TensorView),
    Array(&'c Array),
}

impl Held<'_> {
    fn element(self) -> Element {
        match self {
            Self::Tensor(view) => view.element(),
            Self::Array(array) => array.element,
        }
    }

    fn shape(&self) -> &[u64] {
        match self {
            Self::Tensor(view) => view.shape(),
            Self::Array(array) => &array.shape,
        }
    }
}

impl Cache {
    /// Opens the file at `path`. `key` is the name of the layer, or of what holds `mu` and `sigma`, where the file has
    /// several.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open(
        path: &Path,
        key: Option<&str>,
        inert: &[String],
        limits: &Limits,
    ) -> Result<Self, ConvertError> {
        let source = Source::open_with(path, &Opening { key: None, inert, limits, with_arrays: true })?;
        let n_bytes = source.tensors().values().try_fold(0_u64, |sum, view| sum.checked_add(view.n_bytes()));
        if n_bytes.is_none_or(|n| n > source.n_bytes().saturating_mul(limits.expansion)) {
            return Err(ConvertError::NoTensors {
                path: path.to_owned(),
                found: format!("tensors of more than {} times the bytes of the file", limits.expansion),
                remedy: "their strides repeat a few numbers: do not trust the file".to_owned(),
            });
        }
        Ok(Self { source, key: key.map(str::to_owned) })
    }

    /// The file behind it.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Its mean and covariance.
    ///
    /// # Errors
    /// A file without `mu` and `sigma` of floats, `[d]` and `[d, d]`.
    pub fn statistics(&self) -> Result<Statistics, ConvertError> {
        let held = self.held();
        let (Some(&mean), Some(&covariance)) = (held.get("mu"), held.get("sigma")) else {
            let remedy = match self.features_of(&held) {
                Ok(_) => "these are features: write them as OUT.npy".to_owned(),
                Err(_) => "name what holds them with --key".to_owned(),
            };
            return Err(self.lacks("statistics (`mu` and `sigma`)", &held, remedy));
        };
        let d = mean.shape().first().copied().unwrap_or(0);
        for (name, held, shape) in [("mu", mean, vec![d]), ("sigma", covariance, vec![d, d])] {
            if held.shape() != shape
                || d == 0
                || !held.element().is_float()
                || held.element() == Element::Bf16
            {
                return Err(self.misfit(name, "floats, [d] for `mu` and [d, d] for `sigma`", held));
            }
        }
        Ok(Statistics { mean: self.doubles(mean), covariance: self.doubles(covariance) })
    }

    /// The rows of the one layer it holds, or of the one that was asked for, cast to `dtype` if that is given.
    ///
    /// # Errors
    /// A file of several layers, of none, and one of something else than rows of floats that NumPy has too.
    pub fn features(&self, dtype: Option<Element>) -> Result<Features, ConvertError> {
        let held = self.held();
        let (name, one) = self.features_of(&held)?;
        let &[n, d] = one.shape() else { unreachable!("features have two axes") };
        let element = dtype.unwrap_or(one.element());
        if !matches!(element, Element::F16 | Element::F32 | Element::F64) {
            return Err(ConvertError::Tensor {
                path: self.source.path().to_owned(),
                name: name.to_owned(),
                expected: "floats that NumPy has (F16, F32, F64)".to_owned(),
                found: element.to_string(),
                remedy: "cast them with --dtype f32, which loses nothing".to_owned(),
            });
        }
        let mut bytes = self.bytes(one);
        if element != one.element() {
            let from = std::mem::take(&mut bytes);
            tensor::cast(one.element(), element, &from, &mut bytes);
        }
        // The layer that was asked for has lost its name on the way.
        let name = if name.is_empty() { self.key.as_deref().unwrap_or_default() } else { name };
        Ok(Features { name: name.to_owned(), element, n, d, bytes })
    }

    /// What it holds by name, below the key.
    fn held(&self) -> BTreeMap<&str, Held<'_>> {
        let Some(key) = &self.key else { return self.all() };
        let below =
            self.all().into_iter().filter_map(|(name, held)| match name.strip_prefix(key.as_str())? {
                "" => Some(("", held)),
                rest => Some((rest.strip_prefix('.')?, held)),
            });
        below.collect()
    }

    fn all(&self) -> BTreeMap<&str, Held<'_>> {
        let tensors = self.source.tensors().iter().map(|(name, view)| (name.as_str(), Held::Tensor(view)));
        let arrays = self.source.arrays().iter().map(|(name, array)| (name.as_str(), Held::Array(array)));
        tensors.chain(arrays).collect()
    }

    fn features_of<'h>(
        &self,
        held: &BTreeMap<&'h str, Held<'h>>,
    ) -> Result<(&'h str, Held<'h>), ConvertError> {
        if held.contains_key("mu") && held.contains_key("sigma") {
            let remedy = "these are statistics: write them as OUT.npz".to_owned();
            return Err(self.lacks("rows of features", held, remedy));
        }
        let mut all = held.iter();
        let (Some((&name, &one)), None) = (all.next(), all.next()) else {
            let remedy = "name one of these with --key".to_owned();
            return Err(self.lacks("one layer of features", held, remedy));
        };
        if one.shape().len() != 2 || !one.element().is_float() {
            return Err(self.misfit(name, "rows of features: floats, [n, d]", one));
        }
        Ok((name, one))
    }

    /// That it does not hold `expected`, with what it holds; everything, where nothing is below the key.
    fn lacks(&self, expected: &str, held: &BTreeMap<&str, Held<'_>>, remedy: String) -> ConvertError {
        let shown = |(name, held): (&str, Held<'_>)| {
            let name = if name.is_empty() { "one array" } else { &format!("`{}`", name.escape_debug()) };
            format!("{name} {:?}", held.shape())
        };
        let all = self.all();
        let listed = if held.is_empty() { &all } else { held };
        let mut found: Vec<String> =
            listed.iter().take(MAX_LISTED).map(|(&name, &held)| shown((name, held))).collect();
        if listed.len() > MAX_LISTED {
            found.push(format!("and {} more", listed.len() - MAX_LISTED));
        }
        let mut found = found.join(", ");
        if let (Some(key), true) = (&self.key, held.is_empty()) {
            found = format!("nothing named `{}`, but {found}", key.escape_debug());
        }
        ConvertError::Lacks {
            path: self.source.path().to_owned(),
            expected: expected.to_owned(),
            found,
            remedy,
        }
    }

    fn misfit(&self, name: &str, expected: &str, held: Held<'_>) -> ConvertError {
        ConvertError::Tensor {
            path: self.source.path().to_owned(),
            name: name.to_owned(),
            expected: expected.to_owned(),
            found: format!("{} of shape {:?}", held.element(), held.shape()),
            remedy: "it is no cache of a metric".to_owned(),
        }
    }

    fn bytes(&self, held: Held<'_>) -> Vec<u8> {
        match held {
            Held::Array(array) => array.bytes.clone(),
            Held::Tensor(view) => {
                let mut bytes = Vec::new();
                let read = self.source.read(view, &mut |part| {
                    bytes.extend_from_slice(part);
                    Ok(())
                });
                read.expect("memory takes what it is given");
                bytes
            }
        }
    }

    /// Floats of any width, exactly.
    fn doubles(&self, held: Held<'_>) -> Vec<f64> {
        let mut wide = Vec::new();
        tensor::cast(held.element(), Element::F64, &self.bytes(held), &mut wide);
        let each = wide.chunks_exact(8);
        each.map(|bytes| f64::from_le_bytes(bytes.try_into().expect("chunks have eight bytes"))).collect()
    }
}
