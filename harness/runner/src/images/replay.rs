//! Records made again: the same item, generated anew in this process, must give the same tokens and pixels.

use std::collections::BTreeMap;

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::Spec;
use specimen_foundation::failure;
use specimen_models::seam::clock::DeviceClock;
use specimen_record::{
    Digest, Item, ItemKey, Manifest, PlanFile, Record, RunDir, Status, read_document, read_rows,
};

use crate::{
    error::RunError,
    images::{
        generate::{BatchRequest, Request, generate, generate_together},
        load::{Models, check_weights, device_of},
        out_of_memory::within_memory,
    },
    plan::{batches::batches, stored_plan::spec_of},
};

/// What came of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Key of the item.
    pub key: ItemKey,
    /// Position of the first token that differs; `None` when all are equal.
    pub first_different_token: Option<usize>,
    /// Whether the pixels are equal.
    pub same_pixels: bool,
    /// What stopped the item from being made now, or from being compared.
    pub err: Option<String>,
}

impl Replayed {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.err.is_none() && self.first_different_token.is_none() && self.same_pixels
    }
}

/// A run whose records can be made again.
pub struct Replay<'a> {
    run: &'a RunDir,
    manifest: Manifest,
    spec: Spec,
    items: BTreeMap<ItemKey, Item>,
    /// Lanes of the images that were decoded together with others.
    lanes: BTreeMap<ItemKey, usize>,
    models: Models,
}

impl<'a> Replay<'a> {
    /// Reads what the run was asked for.
    pub fn open(run: &'a RunDir, data_root: Option<DataRoot>) -> Result<Self, RunError> {
        let manifest: Manifest = read_document(&run.manifest())?;
        let spec = spec_of(run, &manifest)?;
        let plan: PlanFile = read_document(&run.plan())?;
        let n_lanes = |name: &str| {
            let cell = spec.cells.iter().find(|cell| cell.name == name);
            cell.map_or(1, |cell| cell.model.n_together())
        };
        let of_block = |block| batches(block, n_lanes, |key| Some(key.clone()));
        let shared = plan.blocks.iter().flat_map(of_block).filter(|batch| batch.n_lanes > 1);
        let lanes = shared.flat_map(|batch| batch.images).map(|(lane, key)| (key, lane)).collect();
        let items = plan.items.into_iter().map(|item| (item.key.clone(), item)).collect();
        let models = Models::of(&spec, data_root);
        Ok(Self { run, manifest, spec, items, lanes, models })
    }

    /// The merged records that hold an image, in plan order.
    pub fn records(&self) -> Result<Vec<Record>, RunError> {
        let rows = read_rows::<Record>(&self.run.merged_records())?.rows;
        Ok(rows.into_iter().filter(|record| record.status == Status::Ok).collect())
    }

    /// Whether this program made the record's image, so that it can be made again.
    pub fn is_made_here(&self, record: &Record) -> bool {
        self.spec.cells.iter().any(|cell| cell.name == record.cell && !cell.is_of_another_program())
    }

    /// Makes one record's item again.
    pub fn again(&mut self, record: &Record) -> Result<Replayed, RunError> {
        let unknown = || failure!(Spec: "{}: there is no item {}", self.run.plan().display(), record.key);
        let item = self.items.get(&record.key).ok_or_else(unknown)?;
        let cell = self.spec.cells.iter().find(|cell| cell.name == record.cell).ok_or_else(unknown)?;
        let model = self.models.get(&cell.model)?;
        check_weights(&self.run.manifest(), &self.manifest, &cell.model.name, &model.weights)?;
        let clock = DeviceClock::new(device_of(&cell.model.device)?);
        let key = record.key.clone();
        let (method, sampling, prompt, seed) = (&cell.method, cell.sampling, &*item.prompt, item.seed.0);
        let make = || match self.lanes.get(&key) {
            None => generate(&Request { model: &model, method, sampling, prompt, seed }, &clock),
            // Its neighbours change nothing, its lane does.
            Some(&lane) => {
                let mut images = vec![None; cell.model.n_together()];
                images[lane] = Some((prompt, seed));
                let request = BatchRequest { model: &model, method, sampling, images };
                generate_together(&request, &clock).remove(lane).expect("the lane holds an image")
            }
        };
        let made = within_memory(&cell.model, Some(&cell.method), make);
        let generated = match made {
            Ok(generated) => generated,
            Err(e) => {
                let err = Some(e.to_string());
                return Ok(Replayed { key, first_different_token: None, same_pixels: false, err });
            }
        };
        let tokens: Vec<u32> = generated.decoded.tokens.iter().map(|token| token.0).collect();
        let differs = tokens.iter().zip(&record.tokens).position(|(now, then)| now != then);
        let end = (tokens.len() != record.tokens.len()).then(|| tokens.len().min(record.tokens.len()));
        let pixels = Digest::of(&generated.picture.rgb);
        let same_pixels = record.image_digest.as_ref() == Some(&pixels);
        Ok(Replayed { key, first_different_token: differs.or(end), same_pixels, err: None })
    }
}
