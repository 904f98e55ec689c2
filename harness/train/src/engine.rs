//! Data-parallel training on CPU threads: one f32 master, one bf16 replica a thread.
//!
//! Two single-thread replicas use two cores better than one network on two OpenMP threads. Gradients are
//! added in replica order, so the result does not depend on which thread finishes first.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use specimen_weights::{Checkpoint, Init, LoadError, ParamSource, use_threads, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::{
    adam::Adam,
    spec::Schedule,
    stored_words::{check_words, tensor_of},
};

/// A source that makes parameters from the torch generator, which must have been seeded.
struct Fresh {
    kind: Kind,
    device: Device,
    trainable: bool,
    made: Vec<(String, Tensor)>,
}

impl ParamSource for Fresh {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let options = (Kind::Float, Device::Cpu);
        let value = match init {
            Init::Normal(std) => Tensor::randn(shape, options) * std,
            Init::Uniform(bound) => Tensor::rand(shape, options) * (2.0 * bound) - bound,
            Init::Constant(value) => Tensor::full(shape, value, options),
        };
        let leaf =
            value.to_kind(self.kind).to_device(self.device).detach().copy().set_requires_grad(self.trainable);
        self.made.push((name.into(), leaf.shallow_clone()));
        Ok(leaf)
    }
}

/// Name of the tensor of a state that says in UTF-8 which training it is of.
const IDENTITY: &str = "training";

struct Replica<M> {
    model: M,
    leaves: Vec<Tensor>,
}

/// Where a parameter is in the flat vector.
struct Slot {
    name: String,
    shape: Vec<i64>,
    from: i64,
    numel: i64,
}

/// A network under training.
pub struct Engine<M> {
    slots: Vec<Slot>,
    /// `[n_params]`, f32.
    params: Tensor,
    adam: Adam,
    replicas: Vec<Replica<M>>,
    /// What decides the weights that come out, in words; a state of another training is refused. Absent: nothing was said.
    identity: Option<String>,
    /// Number of optimiser steps made.
    pub step: u64,
}

/// What a step reports, averaged over the batch.
pub struct StepReport {
    /// The quantities that the loss function returned beside the loss, in its order.
    pub values: Vec<f64>,
    /// Length of the gradient before clipping.
    pub grad_norm: f64,
}

impl<M> Engine<M> {
    /// Makes the network `n_replicas` times through `build`, which must ask for its parameters in the same
    /// order each time.
    pub fn new(
        seed: u64,
        n_replicas: usize,
        kind: Kind,
        build: impl Fn(&mut dyn ParamSource) -> anyhow::Result<M>,
    ) -> anyhow::Result<Self> {
        Self::on(Device::Cpu, seed, n_replicas, kind, build)
    }

    /// The same with master and replicas on `device`; what parameters start as does not depend on it.
    pub fn on(
        device: Device,
        seed: u64,
        n_replicas: usize,
        kind: Kind,
        build: impl Fn(&mut dyn ParamSource) -> anyhow::Result<M>,
    ) -> anyhow::Result<Self> {
        tch::manual_seed(seed as i64);
        let mut master = Fresh { kind: Kind::Float, device, trainable: false, made: Vec::new() };
        build(&mut master)?;
        let mut slots = Vec::new();
        let mut from = 0;
        for (name, tensor) in &master.made {
            let numel = tensor.numel() as i64;
            slots.push(Slot { name: name.clone(), shape: tensor.size(), from, numel });
            from += numel;
        }
        let flat: Vec<Tensor> = master.made.iter().map(|(_, t)| t.reshape([-1])).collect();
        let params = Tensor::cat(&flat, 0);
        let decayed: Vec<Tensor> = slots
            .iter()
            .map(|slot| {
                let is_norm = slot.name.contains("_norm.");
                let matrix = slot.shape.len() >= 2 && !slot.name.starts_with("slots") && !is_norm;
                Tensor::full([slot.numel], f64::from(u8::from(matrix)), (Kind::Float, device))
            })
            .collect();
        let mut replicas = Vec::new();
        for _ in 0..n_replicas {
            let mut source = Fresh { kind, device, trainable: true, made: Vec::new() };
            let model = build(&mut source)?;
            replicas.push(Replica { model, leaves: source.made.into_iter().map(|(_, t)| t).collect() });
        }
        let mut engine = Self {
            slots,
            params,
            adam: Adam::new(Tensor::cat(&decayed, 0)),
            replicas,
            identity: None,
            step: 0,
        };
        engine.spread();
        Ok(engine)
    }

    /// Starts from the weights of an earlier training instead of fresh ones.
    pub fn start_from(&mut self, weights: &mut dyn ParamSource) -> anyhow::Result<()> {
        for slot in &self.slots {
            let value = weights.param(&slot.name, &slot.shape, Init::Constant(0.0))?;
            self.params.narrow(0, slot.from, slot.numel).copy_(&value.reshape([-1]));
        }
        self.spread();
        Ok(())
    }

    /// One step over `items` one after the other on the first replica: `learn` sees it and an item, adds the gradient of a
    /// loss to that of the parameters, and returns what to report. Gradients are added in f32, in the order of the items; one
    /// beside their sum is alive at a time.
    ///
    /// # Panics
    /// If there is no item.
    pub fn train_alone<B>(
        &mut self,
        schedule: &Schedule,
        items: impl IntoIterator<Item = B>,
        learn: impl Fn(&M, B) -> anyhow::Result<Vec<f64>>,
    ) -> anyhow::Result<StepReport> {
        let mut sum = GradientSum::default();
        for item in items {
            let replica = &mut self.replicas[0];
            let values = learn(&replica.model, item);
            let gradient = taken(&mut replica.leaves);
            sum.add(gradient, values?);
        }
        Ok(self.update(schedule, sum))
    }

    /// Moves the parameters by the mean of gradients, and reports the means.
    fn update(&mut self, schedule: &Schedule, sum: GradientSum) -> StepReport {
        let _guard = tch::no_grad_guard();
        let n = sum.values.len() as f64;
        let gradient = sum.gradient.expect("a step has an item");
        let (gradient, grad_norm) = schedule.clip.clipped(gradient / n);
        let rate = schedule.rate(self.step);
        self.adam.step(&mut self.params, &gradient, self.step, rate, schedule.weight_decay);
        self.step += 1;
        self.spread();
        let n_values = sum.values[0].len();
        let mean = |i: usize| sum.values.iter().map(|values| values[i]).sum::<f64>() / n;
        StepReport { values: (0..n_values).map(mean).collect(), grad_norm }
    }

    /// The first replica's network, for evaluation.
    pub fn model(&self) -> &M {
        &self.replicas[0].model
    }

    /// The master copy of the parameter `name`, a view that may be written; call [`Engine::spread`] after.
    pub fn master(&self, name: &str) -> Tensor {
        let slot = self.slots.iter().find(|slot| slot.name == name).expect("the parameter exists");
        self.params.narrow(0, slot.from, slot.numel).view(slot.shape.as_slice())
    }

    /// Copies the master into every replica.
    pub fn spread(&mut self) {
        let _guard = tch::no_grad_guard();
        for replica in &mut self.replicas {
            for (slot, leaf) in self.slots.iter().zip(&mut replica.leaves) {
                leaf.copy_(&self.params.narrow(0, slot.from, slot.numel).view(slot.shape.as_slice()));
            }
        }
    }

    /// The parameters by name, in `kind`.
    pub fn weights(&self, kind: Kind) -> BTreeMap<String, Tensor> {
        let tensor = |slot: &Slot| {
            self.params.narrow(0, slot.from, slot.numel).view(slot.shape.as_slice()).to_kind(kind).copy()
        };
        self.slots.iter().map(|slot| (slot.name.clone(), tensor(slot))).collect()
    }

    /// Says what decides the weights that come out, in words: a state is only taken up again under the same.
    pub fn identify(&mut self, identity: String) {
        self.identity = Some(identity);
    }

    /// Writes everything that a resumed run needs to `path`, whole or not at all.
    pub fn save_state(&self, path: &Path) -> anyhow::Result<()> {
        let mut state = BTreeMap::from([
            ("params".to_owned(), self.params.shallow_clone()),
            ("mean".to_owned(), self.adam.mean.shallow_clone()),
            ("square".to_owned(), self.adam.square.shallow_clone()),
            ("step".to_owned(), Tensor::from_slice(&[self.step as i64])),
        ]);
        if let Some(identity) = &self.identity {
            state.insert(IDENTITY.to_owned(), tensor_of(identity));
        }
        write_safetensors(path, &state)
            .with_context(|| format!("{}: cannot write the training state", path.display()))
    }

    /// Continues from a state written by [`Engine::save_state`].
    pub fn load_state(&mut self, path: &Path) -> anyhow::Result<()> {
        let n = self.params.numel() as i64;
        let mut state = Checkpoint::open(path, None, Device::Cpu)?;
        if let Some(expected) = &self.identity {
            check_words(&mut state, IDENTITY, expected)?;
        }
        let mut take = |name: &str| state.param(name, &[n], Init::Constant(0.0));
        self.params.copy_(&take("params")?);
        self.adam.mean.copy_(&take("mean")?);
        self.adam.square.copy_(&take("square")?);
        self.step = state.take("step", &[1])?.int64_value(&[0]) as u64;
        state.finish()?;
        self.spread();
        Ok(())
    }
}

impl<M: Send> Engine<M> {
    /// One step: `learn` sees a replica and its shard, adds the gradient of a loss (mean over its shard) to that of the
    /// replica's parameters, and returns what to report.
    pub fn train<B: Send>(
        &mut self,
        schedule: &Schedule,
        shards: Vec<B>,
        learn: impl Fn(&M, B) -> Vec<f64> + Sync,
    ) -> StepReport {
        assert_eq!(shards.len(), self.replicas.len(), "one shard a replica");
        let learn = &learn;
        let mut sum = GradientSum::default();
        std::thread::scope(|scope| {
            let workers: Vec<_> = self
                .replicas
                .iter_mut()
                .zip(shards)
                .map(|(replica, shard)| {
                    scope.spawn(move || {
                        use_threads(1);
                        let values = learn(&replica.model, shard);
                        (taken(&mut replica.leaves), values)
                    })
                })
                .collect();
            for worker in workers {
                let (gradient, values) = worker.join().expect("a replica does not panic");
                sum.add(gradient, values);
            }
        });
        self.update(schedule, sum)
    }
}

/// Gradients added in order, each one flat f32 vector, and what was reported with each.
#[derive(Default)]
struct GradientSum {
    /// `[n_params]`
    gradient: Option<Tensor>,
    values: Vec<Vec<f64>>,
}

impl GradientSum {
    fn add(&mut self, gradient: Tensor, values: Vec<f64>) {
        self.values.push(values);
        match &mut self.gradient {
            Some(sum) => *sum += gradient,
            None => self.gradient = Some(gradient),
        }
    }
}

/// The gradient of a loss with its graph is added to that of its parameters; what was reported of it comes back.
pub(crate) fn backward((loss, values): (Tensor, Vec<f64>)) -> Vec<f64> {
    loss.backward();
    values
}

/// The gradient in the `leaves` as one flat f32 vector; the leaves forget theirs.
fn taken(leaves: &mut [Tensor]) -> Tensor {
    let _guard = tch::no_grad_guard();
    let gradients: Vec<Tensor> = leaves
        .iter_mut()
        .map(|leaf| {
            let gradient = leaf.grad();
            let flat = if gradient.defined() {
                gradient.to_kind(Kind::Float).reshape([-1])
            } else {
                leaf.zeros_like().to_kind(Kind::Float).reshape([-1])
            };
            let flat = flat.copy();
            leaf.zero_grad();
            flat
        })
        .collect();
    Tensor::cat(&gradients, 0)
}
