//! What a head is taught with: one batch of whole images with everything of the frozen target that a loss reads.
//! [`Lesson::of_image`] makes it for one image of any model, `drafter.rs` for a batch of the embedded one.
//! [`ImageFeatures`] is the part that takes a forward of the target, and that can be exported.

use specimen_models::{
    heads::{described_head::DescribedHead, draft_head::Head},
    llama::layer::{Rotary, causal_mask},
    seam::{
        backbone::Backbone,
        kv::{KvCache, KvShape},
        loaded_model::Prefix,
    },
};
use tch::{Kind, Tensor};

/// Whole images, and the target on them. Rows are those with the caption and, under guidance, as many without.
pub struct Lesson<'a> {
    /// The frozen target.
    pub target: &'a dyn Backbone,
    /// `[b, n]`, i64.
    pub tokens: Tensor,
    /// Positions of the tokens, `[n]`, i64.
    pub positions: Tensor,
    /// After the final norm, `[r, n, d]`, `r` being `b` or `2 b`; row `j` predicts token `j`.
    pub features: Tensor,
    /// What the head reads of the target, `[r, n, w]`, noise included.
    pub read: Tensor,
    /// What stands before the image, where the head sees it.
    pub front: Option<FrontLesson>,
    /// Rotary rows of the front and of the image, `[f + n, d_head]`.
    pub rotary: Rotary,
    /// 1 where a token is drawn and 0 where it is forced, `[n]`, f32; absent where all are drawn.
    pub drawn: Option<Tensor>,
}

/// The pairs before the image.
pub struct FrontLesson {
    /// Input vectors, `[r, f, d]`.
    pub embeddings: Tensor,
    /// What the head reads of the target, `[r, f, w]`, noise included.
    pub read: Tensor,
    /// Additive mask of the pairs that are hidden, `[r, 1, 1, f]`; absent where none is.
    pub hidden: Option<Tensor>,
}

/// What the frozen target gives on one image behind its prompt, at all slots but that of the last token: `m` of them, rows
/// as in [`Lesson`].
pub struct ImageFeatures {
    /// After the final norm, `[r, m, d]`.
    pub features: Tensor,
    /// What a head reads, `[r, m, w]`: the inner layers that it taps side by side, or the same tensor.
    pub read: Tensor,
}

impl ImageFeatures {
    /// By one forward of the target. `taps`: layers that the head reads; `tokens`: `[n]`, i64.
    pub fn of(prefix: &Prefix, of_head: &DescribedHead, taps: &[usize], tokens: &Tensor) -> Self {
        let _guard = tch::no_grad_guard();
        let Prefix { backbone, slots } = prefix;
        let (n_rows, n_prefix, _) = slots.size3().expect("a prefix has three axes");
        let n = Self::n_slots(prefix, tokens.size()[0]);
        let shape = backbone.shape();
        let kv = KvShape {
            n_layers: shape.n_layers,
            n_rows,
            n_heads: shape.n_heads,
            d_head: shape.d_head,
            capacity: (n + 7) / 8 * 8,
        };
        backbone.set_pad_view(of_head.pad_view);
        let mut cache = KvCache::new(kv, backbone.kind(), slots.device());
        let positions = Tensor::arange(n, (Kind::Int64, slots.device()));
        let fed = tokens.narrow(0, 0, n - n_prefix).to_device(slots.device());
        let image = backbone.embed(&fed, &positions.narrow(0, n_prefix, n - n_prefix));
        let image = image.unsqueeze(0).expand([n_rows, -1, -1], false);
        let x = Tensor::cat(&[slots, &image], 1);
        let mask = causal_mask(n, cache.kind()).to_device(slots.device());
        let tapped = backbone.forward_tapped(&x, &positions, &mut cache, Some(&mask), taps);
        let read = match tapped.inner.as_slice() {
            [] => tapped.features.shallow_clone(),
            inner => Tensor::cat(inner, -1),
        };
        Self { features: tapped.features, read }
    }

    /// Slots of an image of `n_tokens` behind `prefix`.
    pub fn n_slots(prefix: &Prefix, n_tokens: i64) -> i64 {
        prefix.slots.size()[1] + n_tokens - 1
    }
}

impl<'a> Lesson<'a> {
    /// One image behind `prefix` for a head that `of_head` describes. `tokens`: `[n]`, i64; `given`: what the target gives on
    /// them; `forced`: its structural tokens, one entry a position or none at all; `noise`: makes the noise of features of a
    /// shape, in f32.
    pub fn of_image(
        prefix: &'a Prefix,
        of_head: &DescribedHead,
        head: &dyn Head,
        (tokens, given): (&Tensor, ImageFeatures),
        is_forced: &[bool],
        noise: &mut dyn FnMut(&[i64]) -> Option<Tensor>,
    ) -> Self {
        let _guard = tch::no_grad_guard();
        let target = &*prefix.backbone;
        let (n_rows, n_prefix, _) = prefix.slots.size3().expect("a prefix has three axes");
        let (n, device) = (tokens.size()[0], prefix.slots.device());
        let tokens = tokens.to_device(device);
        let at = |from: i64, to: i64| Tensor::arange_start(from, to, (Kind::Int64, device));
        let ImageFeatures { features, read: whole } = given;
        // Row n_prefix - 1 + j predicts token j.
        let of_image = |x: &Tensor| x.narrow(1, n_prefix - 1, n);
        let noisy = match noise(&whole.size()) {
            None => whole,
            Some(noise) => &whole + noise.to_device(device).to_kind(whole.kind()),
        };
        let front = of_head.front.embeddings(head, target, &prefix.slots).map(|embeddings| FrontLesson {
            read: noisy.narrow(1, 0, embeddings.size()[1]),
            hidden: hidden(&of_head.front.hidden_pads(target), &embeddings),
            embeddings,
        });
        let n_front = front.as_ref().map_or(0, |front| front.embeddings.size()[1]);
        let turns = target.turns().expect("a head shares its target's rotary positions");
        // A pair stands where its token stands.
        let rotary = turns.rotary(&at(n_prefix - n_front, n_prefix + n), target.kind());
        let drawn = is_forced.iter().any(|&forced| forced).then(|| {
            let free: Vec<f32> = is_forced.iter().map(|&forced| f32::from(u8::from(!forced))).collect();
            Tensor::from_slice(&free).to_device(device)
        });
        assert_eq!(n_rows, features.size()[0], "a row of the prefix is a row of features");
        Self {
            target,
            tokens: tokens.unsqueeze(0),
            positions: at(n_prefix, n_prefix + n),
            features: of_image(&features),
            read: of_image(&noisy),
            front,
            rotary,
            drawn,
        }
    }

    /// Images.
    pub fn n_images(&self) -> i64 {
        self.tokens.size()[0]
    }

    /// Logits of both rows to guided logits, `null + s (caption - null)`; without a second row they stay as they are.
    /// `[r, n, v]` to `[b, n, v]`.
    pub fn guided(&self, logits: &Tensor, scale: f64) -> Tensor {
        if logits.size()[0] == self.n_images() {
            return logits.shallow_clone();
        }
        guided(logits, scale)
    }

    /// Cosines of neighbouring features with the caption, `[b, n - 1]`, f32.
    pub fn neighbour_cosines(&self) -> Tensor {
        let captioned = self.features.narrow(0, 0, self.n_images()).to_kind(Kind::Float);
        let n = captioned.size()[1] - 1;
        Tensor::cosine_similarity(&captioned.narrow(1, 0, n), &captioned.narrow(1, 1, n), -1, 1e-8)
    }
}

/// Logits of both rows to guided logits: `null + s (caption - null)`. `[2 b, n, v]` to `[b, n, v]`.
pub(crate) fn guided(logits: &Tensor, scale: f64) -> Tensor {
    let rows = logits.chunk(2, 0);
    &rows[1] + (&rows[0] - &rows[1]) * scale
}

/// The mask that hides the first `n_pads[row]` pairs of each row, `[r, 1, 1, f]`; `like`: `[r, f, d]`.
fn hidden(n_pads: &[i64], like: &Tensor) -> Option<Tensor> {
    if n_pads.iter().all(|&n| n == 0) {
        return None;
    }
    let (n_rows, n_front, _) = like.size3().expect("input vectors have three axes");
    let mask = Tensor::zeros([n_rows, 1, 1, n_front], (like.kind(), like.device()));
    for (row, &n) in (0..).zip(n_pads) {
        let _ = mask.get(row).narrow(2, 0, n.min(n_front)).fill_(f64::NEG_INFINITY);
    }
    Some(mask)
}
