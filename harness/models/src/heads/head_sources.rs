//! Heads in files: those that the catalog names for a model, found where its files are, and those that a user names.

use std::path::PathBuf;

use specimen_catalog::{Entry, Part, entry, hub::Places};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use crate::{
    files::{
        placed::Placed, published_files::AbsentHead, random_weights::RandomWeights,
        several_files::SeveralFiles, sidecar::Sidecar,
    },
    heads::{
        described_head::{DescribeHead, HeadKind, NoHead, RepeatedTensor},
        drafters::{Heads, StartDraft},
        head_file::HeadFile,
        repeated::{Repeated, compare},
    },
    seam::loaded_model::WeightsId,
};

/// A head that the catalog names for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadSource {
    /// How it is built.
    pub kind: HeadKind,
    /// `weights` in specs.
    pub weights: &'static str,
    /// The entry of the catalog that says how to come by it.
    pub entry: &'static str,
    /// The ways it can be on a disk.
    pub part: &'static Part,
}

impl HeadSource {
    /// The heads of `model` that have files.
    ///
    /// # Panics
    /// If one of them has no entry or no kind, which the tests of the catalog's files exclude.
    pub fn all_of(model: &'static Entry) -> Vec<Self> {
        let source = |(proposer, weights, name): (&str, &'static str, &'static str)| {
            let kind = HeadKind::of(proposer).expect("heads are tested to be of a known kind");
            let part = &entry(name).expect("heads are tested to be entries").parts[0];
            Self { kind, weights, entry: name, part }
        };
        model.published_heads().into_iter().map(source).collect()
    }
}

/// The heads of a model, what they were read from, and what a user should know of it.
#[derive(Default)]
pub struct OpenedHeads {
    /// What drafts, and where the absent were looked for.
    pub heads: Heads,
    /// The files.
    pub weights: Vec<WeightsId>,
    /// A sentence each.
    pub warnings: Vec<String>,
}

impl OpenedHeads {
    /// The heads of `sources`, looked for in `places` and placed as `placed` says.
    pub fn open(
        sources: &[HeadSource],
        places: &Places,
        describe: &DescribeHead,
        placed: (Kind, Device),
    ) -> Result<Self, LoadError> {
        let mut all = Self::default();
        for &HeadSource { kind, weights, entry, part } in sources {
            let drafter = kind.drafter(Some(weights.to_owned()));
            let start = match places.part(part) {
                None => Err(AbsentHead { entry, part, places: places.clone() }),
                Some(paths) => Ok(all.read((kind, &part.role), &paths, describe, placed)?),
            };
            all.heads.add(drafter, start);
        }
        Ok(all)
    }

    /// Heads of every kind with weights that are made, the same every time, for a family that has all kinds.
    ///
    /// # Panics
    /// If the family has not all kinds.
    pub fn made(
        describe: &DescribeHead,
        is_toy: bool,
        first_seed: u64,
        (kind, device): (Kind, Device),
    ) -> Result<Self, LoadError> {
        let mut all = Self::default();
        for (seed, of_kind) in (first_seed..).zip(HeadKind::ALL) {
            // From a seed of its own: the other networks do not depend on which heads there are.
            let mut random = RandomWeights::of(is_toy, seed);
            let described =
                describe(of_kind, &mut HeadFile::tapping(None)).expect("its family has all kinds");
            let start = described.made(&mut Placed::new(&mut random, kind, device))?;
            all.heads.add(of_kind.drafter(None), Ok(start));
        }
        Ok(all)
    }

    /// Reads the head of a kind from `paths` as the part `role`.
    pub fn read(
        &mut self,
        (kind, role): (HeadKind, &str),
        paths: &[PathBuf],
        describe: &DescribeHead,
        (dtype, device): (Kind, Device),
    ) -> Result<StartDraft, LoadError> {
        let sidecar = Sidecar::beside(&paths[0])?;
        let unfit = |reason: String| LoadError::Config { path: paths[0].clone(), reason };
        let (start, ids) = SeveralFiles::read(paths, role, |files| {
            let mut file = HeadFile::read(files, sidecar.clone());
            let in_config = |reason: String| unfit(file.of_config(&reason));
            sidecar.check().map_err(in_config)?;
            let described = describe(kind, &mut file).map_err(|error| match error {
                NoHead::Unfit(reason) => unfit(reason),
                NoHead::File(error) => error,
            })?;
            sidecar.check_against(&described.config).map_err(|reason| unfit(file.of_config(&reason)))?;
            let mut asked = Asked { source: &mut Placed::new(files, dtype, device), names: Vec::new() };
            let head = (described.build)(&mut asked)?;
            let asked = asked.names;
            for repeated in described.repeated.iter().filter(|repeated| !asked.contains(&repeated.name)) {
                let found = compared(repeated, files, (dtype, device))?.map_err(unfit)?;
                self.warnings.extend(found.map(|warning| format!("{}: {warning}", paths[0].display())));
            }
            Ok(described.start(head))
        })?;
        self.weights.extend(ids);
        Ok(start)
    }
}

/// A source that writes down what it was asked for.
struct Asked<'a> {
    source: &'a mut dyn ParamSource,
    names: Vec<String>,
}

impl ParamSource for Asked<'_> {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        self.names.push(name.to_owned());
        self.source.param(name, shape, init)
    }
}

/// A warning where the file's copy of `repeated` differs from the target's by rounding, and what is wrong where it differs
/// by more.
fn compared(
    repeated: &RepeatedTensor,
    files: &mut SeveralFiles,
    (kind, device): (Kind, Device),
) -> Result<Result<Option<String>, String>, LoadError> {
    let RepeatedTensor { name, tensor, stored } = repeated;
    let stored_here = files.stored_kind(name).unwrap_or(kind);
    let copy = Placed::new(files, kind, device).param(name, &tensor.size(), Init::Constant(0.0))?;
    let kinds = format!("stored as {stored_here:?} here and as {stored:?} there");
    Ok(match compare(tensor, &copy, [*stored, stored_here]) {
        Repeated::Same => Ok(None),
        Repeated::Rounded(largest) => Ok(Some(format!(
            "tensor `{name}` is the target's embedding but for rounding ({kinds}): they differ by at most {largest:.1e}; \
             the target's is used"
        ))),
        Repeated::Other(largest) => Err(format!(
            "tensor `{name}` is not the target's embedding: they differ by up to {largest:.1e}, more than rounding \
             explains ({kinds}); is it the head of another model?"
        )),
    })
}
