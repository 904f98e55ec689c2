//! A head of the embedded model with the target that it drafts for, and lessons on batches of its images, which all have
//! prompts of one length.

use specimen_datasets::scenes::NULL_ID;
use specimen_models::{
    families::tiny::TinyBackbone, heads::draft_head::Head, llama::layer::Rotary, seam::backbone::Backbone,
};
use tch::{Kind, Tensor};

use crate::{
    head_loss::{HeadLoss, Measured},
    lesson::Lesson,
};

/// A head with the frozen target it drafts for.
pub struct Pair<H> {
    /// The head that is trained.
    pub head: H,
    /// The target, which stays as it is.
    pub target: TinyBackbone,
}

/// Images of a step.
pub struct HeadBatch {
    /// `[b, 256]`, i64
    pub tokens: Tensor,
    /// `[b, 20]`, i64
    pub captions: Tensor,
    /// `[2 b, 256, w]`: noise for what the head reads of the target; absent: none.
    pub noise: Option<Tensor>,
}

impl<H: Head> Pair<H> {
    /// The target on a batch, with the captions and then with the null caption.
    pub fn lesson(&self, batch: &HeadBatch) -> Lesson<'_> {
        let _guard = tch::no_grad_guard();
        let null = Tensor::full_like(&batch.captions, i64::from(NULL_ID));
        let both = Tensor::cat(&[&batch.captions, &null], 0);
        let tapped = self.target.features_tapped(&both, &batch.tokens.repeat([2, 1]), self.head.taps());
        let read = match tapped.inner.as_slice() {
            [] => tapped.features.shallow_clone(),
            inner => Tensor::cat(inner, -1),
        };
        let n = batch.tokens.size()[1];
        let Rotary { cos, sin } = self.target.image_rotary(0, n);
        let first = self.target.config().caption_len;
        let device = batch.tokens.device();
        Lesson {
            target: &self.target as &dyn Backbone,
            tokens: batch.tokens.shallow_clone(),
            positions: Tensor::arange_start(first, first + n, (Kind::Int64, device)),
            features: tapped.features,
            read: match &batch.noise {
                Some(noise) => &read + noise,
                None => read,
            },
            front: None,
            rotary: Rotary { cos, sin },
            drawn: None,
        }
    }

    /// Learns from a batch, as [`HeadLoss::learn`].
    pub fn learn(&self, loss: &HeadLoss, batch: &HeadBatch) -> Vec<f64> {
        loss.learn(&self.head, &self.lesson(batch))
    }

    /// What the head does on images that are given as pairs of tokens and captions.
    pub fn measure(
        &self,
        loss: &HeadLoss,
        batches: impl Iterator<Item = (Tensor, Tensor)>,
    ) -> Vec<(String, f64)> {
        let mut measured = Measured::new(loss);
        for (tokens, captions) in batches {
            measured.add(&self.head, &self.lesson(&HeadBatch { tokens, captions, noise: None }));
        }
        measured.named()
    }
}
