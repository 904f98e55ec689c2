//! What is kept of an unrolled head between its depths, so that the graph of one depth is alive at a time: what every depth
//! reads, without the graph that made it, and the gradient that arrived there (Chen et al., arXiv 1604.06174).

use tch::{Kind, Tensor, no_grad};

use crate::unroll::{Drafted, Projected, Seen, Unroll};

/// What the depths read, as leaves that collect a gradient.
pub(crate) struct Kept {
    /// What the depth at hand reads.
    seen: Seen,
    /// The predictions that the depths before it read.
    inputs: Vec<Option<Tensor>>,
    /// What the depth at hand gave to deeper ones: its keys, its values and its predictions. Absent for the deepest.
    given: Option<(Projected, Tensor)>,
}

impl Kept {
    /// Runs all depths but the deepest, whose results nothing reads. `front`: of the pairs before the image.
    pub(crate) fn of(unroll: &Unroll<'_>, front: Option<&Projected>, depth: usize) -> Self {
        no_grad(|| {
            let mut seen = Seen::behind(front.map(Projected::leaves));
            let mut inputs = Vec::new();
            for _ in 1..depth {
                let drafted = unroll.next(&seen);
                inputs.push(seen.input.replace(leaf(&drafted.passed_on())));
                seen.projected.push(drafted.projected.leaves());
            }
            Self { seen, inputs, given: None }
        })
    }

    /// What 0-based depth `k` reads. Depths come in turn, the deepest first: what a deeper one read is forgotten.
    pub(crate) fn at(&mut self, k: usize) -> &Seen {
        self.given = None;
        if self.seen.projected.len() > k {
            let before = self.inputs.pop().expect("every depth but the deepest is kept");
            let input = std::mem::replace(&mut self.seen.input, before);
            self.given = self.seen.projected.pop().zip(input);
        }
        &self.seen
    }

    /// A scalar in f32 whose gradient in `drafted`, the depth at hand made again, is what arrived from deeper ones.
    pub(crate) fn arriving(&self, drafted: &Drafted) -> Option<Tensor> {
        let (projected, input) = self.given.as_ref()?;
        Some(drafted.projected.along(projected) + along(&drafted.passed_on(), input))
    }

    /// The same for the pairs before the image, which depth 0 reads.
    pub(crate) fn arriving_at_front(&self, front: &Projected) -> Option<Tensor> {
        Some(front.along(self.seen.front.as_ref()?))
    }
}

impl Projected {
    fn leaves(&self) -> Self {
        Self { key: leaf(&self.key), value: leaf(&self.value) }
    }

    fn along(&self, leaves: &Self) -> Tensor {
        along(&self.key, &leaves.key) + along(&self.value, &leaves.value)
    }
}

/// The same numbers without their graph.
fn leaf(tensor: &Tensor) -> Tensor {
    tensor.detach().set_requires_grad(true)
}

/// A scalar whose gradient in `made` is that of `leaf`.
fn along(made: &Tensor, leaf: &Tensor) -> Tensor {
    let gradient = leaf.grad();
    assert!(gradient.defined(), "a deeper draft reads what is kept");
    (made * gradient).sum(Kind::Float)
}
