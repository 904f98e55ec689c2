//! Networks that count the pictures that go through them, so that progress can tell what is computed from what was kept.

use std::{cell::Cell, rc::Rc};

use specimen_measure::{
    MeasureError,
    error::NetworkFault,
    network::{Batch, ImageNetwork, Networks, Provenance, TextNetwork},
    rules::{ClipScoreRule, NetworkRule},
};

/// How many pictures went through networks so far, the copies that fill a last pass included.
pub(crate) type Count = Rc<Cell<u64>>;

/// The same networks, counting.
pub(crate) struct Counted {
    networks: Box<dyn Networks>,
    count: Count,
}

impl Counted {
    /// Adds to `count` what goes through `networks`.
    pub(crate) fn new(networks: Box<dyn Networks>, count: Count) -> Self {
        Self { networks, count }
    }
}

impl Networks for Counted {
    fn images(&self, rule: &NetworkRule) -> Result<Box<dyn ImageNetwork>, MeasureError> {
        let network = self.networks.images(rule)?;
        Ok(Box::new(CountedImages { network, count: self.count.clone() }))
    }

    fn texts(&self, rule: &NetworkRule, texts: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        self.networks.texts(rule, texts)
    }
}

struct CountedImages {
    network: Box<dyn ImageNetwork>,
    count: Count,
}

impl ImageNetwork for CountedImages {
    fn identity(&self) -> String {
        self.network.identity()
    }

    fn n_dims(&self) -> usize {
        self.network.n_dims()
    }

    fn provenance(&self) -> Option<Provenance> {
        self.network.provenance()
    }

    fn forward(&self, batch: Batch) -> Result<Vec<f32>, NetworkFault> {
        let n = batch.n as u64;
        let rows = self.network.forward(batch)?;
        self.count.set(self.count.get() + n);
        Ok(rows)
    }
}
