//! Networks that count the pictures that go through them, so that progress can tell what is computed from what was kept.

use std::{cell::Cell, rc::Rc};

use specimen_measure::{
    MeasureError,
    error::NetworkFault,
    network::{Batch, ImageNetwork, Networks, Provenance, TextNetwork},
    rules::{ClipScoreRule, NetworkRule},
};

/// How many pictures went through networks so far. The copies that fill up a last pass do not count.
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

    fn n_dims(&self, rule: &NetworkRule) -> Option<usize> {
        self.networks.n_dims(rule)
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
        let n = n_pictures(&batch);
        let rows = self.network.forward(batch)?;
        self.count.set(self.count.get() + n);
        Ok(rows)
    }
}

/// Pictures of a pass, those at its end that are the same as the one before counted as one: a pass is filled up so.
fn n_pictures(batch: &Batch) -> u64 {
    let pictures: Vec<&[f32]> =
        batch.values.chunks_exact((batch.values.len() / batch.n.max(1)).max(1)).collect();
    let n_copies = pictures.windows(2).rev().take_while(|pair| pair[0] == pair[1]).count();
    (pictures.len() - n_copies) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_up_a_pass_is_not_counted() {
        let batch = |values: &[f32]| Batch { n: values.len(), height: 1, width: 1, values: values.to_vec() };
        for (values, n) in
            [(&[1.0, 2.0, 3.0][..], 3), (&[1.0, 2.0, 2.0, 2.0], 2), (&[5.0, 5.0], 1), (&[1.0, 1.0, 2.0], 3)]
        {
            assert_eq!(n_pictures(&batch(values)), n, "{values:?}");
        }
    }
}
