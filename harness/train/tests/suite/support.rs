//! Small networks with random weights.

use specimen_datasets::scenes::CAPTION_LEN;
use specimen_models::{
    families::tiny::{TargetConfig, TinyBackbone},
    files::random_weights::RandomWeights,
    heads::{
        eagle::{EagleConfig, EagleHead, EaglePrefix},
        eagle3::{Eagle3Config, Eagle3Head},
    },
};
use specimen_train::pair::{HeadBatch, Pair};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

pub(crate) const N_VOCAB: i64 = 11;
pub(crate) const N_TOKENS: i64 = 16;

/// Random weights that collect gradients.
struct Trainable {
    weights: RandomWeights,
    /// The tensor that joins embedding and feature, once it was asked for.
    join: Option<Tensor>,
}

impl Trainable {
    fn new(seed: u64) -> Self {
        Self { weights: RandomWeights::new(seed), join: None }
    }
}

impl ParamSource for Trainable {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let tensor = self.weights.param(name, shape, init)?.set_requires_grad(true);
        if name == "fc.weight" {
            self.join = Some(tensor.shallow_clone());
        }
        Ok(tensor)
    }
}

pub(crate) fn target_config() -> TargetConfig {
    TargetConfig {
        d_model: 16,
        n_layers: 3,
        n_heads: 2,
        d_head: 8,
        d_ffn: 24,
        n_vocab: N_VOCAB,
        grid: 4,
        caption_len: CAPTION_LEN as i64,
        n_words: 41,
        rope_base: 100.0,
        norm_eps: 1e-5,
    }
}

pub(crate) fn target() -> TinyBackbone {
    let mut target = TinyBackbone::new(&mut RandomWeights::new(1), &target_config()).unwrap();
    target.prepare();
    target
}

pub(crate) fn eagle1() -> Pair<EagleHead> {
    eagle1_and_join().0
}

/// A head, and its tensor that joins embedding and feature.
pub(crate) fn eagle1_and_join() -> (Pair<EagleHead>, Tensor) {
    let mut weights = Trainable::new(2);
    let config = EagleConfig {
        bias: true,
        input_norm: true,
        output_norm: true,
        prefix: EaglePrefix::ImageOnly,
        n_heads: 2,
        n_kv_heads: None,
        d_head: 8,
        d_ffn: 24,
        norm_eps: 1e-5,
    };
    let head = EagleHead::new(&mut weights, &config, 16).unwrap();
    (Pair { head, target: target() }, weights.join.unwrap())
}

pub(crate) fn eagle3() -> Pair<Eagle3Head> {
    let config = Eagle3Config {
        taps: [0, 1, 2],
        prefix: EaglePrefix::ImageOnly,
        n_heads: 2,
        n_kv_heads: None,
        d_head: 8,
        d_ffn: 24,
        norm_eps: 1e-5,
    };
    let head = Eagle3Head::new(&mut Trainable::new(3), &config, 16, N_VOCAB).unwrap();
    Pair { head, target: target() }
}

/// `n` numbers below `limit` that look random.
fn numbers(n: i64, limit: i64, salt: i64) -> Tensor {
    let values: Vec<i64> = (0..n).map(|i| (i * i * 7 + i * 3 + salt * 5) % limit).collect();
    Tensor::from_slice(&values)
}

/// Two images, without noise.
pub(crate) fn batch() -> HeadBatch {
    let captions = numbers(2 * CAPTION_LEN as i64, 41, 2).view([2, -1]);
    HeadBatch { tokens: numbers(2 * N_TOKENS, N_VOCAB, 1).view([2, -1]), captions, noise: None }
}
