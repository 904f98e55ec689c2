//! How many depths of an unrolled head have a graph that is alive, and what a training makes of the gradients.

use std::cell::{Cell, RefCell};

use specimen_models::{
    heads::draft_head::{Head, Opened},
    llama::layer::{LayerShape, Rotary},
    seam::backbone::Backbone,
};
use specimen_train::head_loss::HeadLoss;
use tch::{Kind, Tensor};

use crate::support::{batch, eagle1_and_join};

/// A head that looks at every call which of the results that it gave can still be run backwards.
struct Watched<H> {
    head: H,
    /// A parameter behind all results.
    parameter: Tensor,
    /// What it gave with a graph: features, and logits.
    given: [RefCell<Vec<Tensor>>; 2],
    /// The most of each that were alive together.
    most: [Cell<usize>; 2],
}

impl<H> Watched<H> {
    fn new(head: H, parameter: Tensor) -> Self {
        Self { head, parameter, given: Default::default(), most: Default::default() }
    }

    fn watched(&self, which: usize, result: Tensor) -> Tensor {
        if result.requires_grad() {
            let mut given = self.given[which].borrow_mut();
            given.push(result.shallow_clone());
            let n_alive = given.iter().filter(|result| self.is_alive(result)).count();
            self.most[which].set(self.most[which].get().max(n_alive));
        }
        result
    }

    /// Whether what a backward reads is still kept: it is freed when the graph is run backwards.
    fn is_alive(&self, result: &Tensor) -> bool {
        let ends = [result.sum(Kind::Float)];
        Tensor::f_run_backward(&ends, &[&self.parameter], true, false).is_ok()
    }

    fn most(&self) -> [usize; 2] {
        [self.most[0].get(), self.most[1].get()]
    }
}

impl<H: Head> Head for Watched<H> {
    fn layer_shape(&self) -> LayerShape {
        self.head.layer_shape()
    }

    fn taps(&self) -> &[usize] {
        self.head.taps()
    }

    fn admit(&self, features: &Tensor) -> Tensor {
        self.head.admit(features)
    }

    fn open(&self, embeddings: &Tensor, features: &Tensor, rotary: &Rotary) -> Opened {
        self.head.open(embeddings, features, rotary)
    }

    fn close(&self, x: &Tensor, context: &Tensor) -> Tensor {
        self.watched(0, self.head.close(x, context))
    }

    fn logits(&self, target: &dyn Backbone, predicted: &Tensor) -> Tensor {
        self.watched(1, self.head.logits(target, predicted))
    }
}

#[test]
fn learning_keeps_the_graph_of_one_depth_however_many_there_are() {
    for depth in [1, 2, 7] {
        let loss = HeadLoss::soft(depth, 0.8, 3.0);
        let watch = |learn: &dyn Fn(&dyn Head)| {
            let (pair, join) = eagle1_and_join();
            let watched = Watched::new(pair.head, join);
            learn(&watched);
            watched.most()
        };
        let pair = eagle1_and_join().0;
        let lesson = pair.lesson(&batch());
        let learnt = watch(&|head| drop(loss.learn(head, &lesson)));
        assert_eq!(learnt, [1, 1], "depth {depth}");
        let whole = watch(&|head| loss.of(head, &lesson).0.backward());
        assert_eq!(whole, [depth, depth], "without checkpoints");
    }
}
