//! How likely a model finds tokens that are already drawn: one teacher-forced pass instead of a step a token.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    generation::Generation,
};
use tch::{Kind, Tensor};

use crate::{
    llama::layer::causal_mask,
    seam::{
        backbone::Backbone,
        distributions::{DistributionRows, distributions, guided_logits},
        generation::ModelGeneration,
        kv::{KvCache, KvShape},
    },
};

/// `tokens`, which came from outside, as those of a whole image of `generation`.
pub fn image_tokens(generation: &dyn Generation, tokens: &[u32]) -> Result<Vec<TokenId>, String> {
    let (n_tokens, n_codes) = (generation.n_tokens(), generation.n_codes());
    if tokens.len() != n_tokens {
        return Err(format!("expected {n_tokens} tokens, found {}", tokens.len()));
    }
    let checked = |(position, &token): (usize, &u32)| {
        let expected = match generation.forced(position) {
            Some(forced) if forced.0 == token => return Ok(forced),
            Some(forced) => format!("the structural token {}", forced.0),
            None if (token as usize) < n_codes => return Ok(TokenId(token)),
            None => format!("a code below {n_codes}"),
        };
        Err(format!("position {position}, from 0: expected {expected}, found {token}"))
    };
    tokens.iter().enumerate().map(checked).collect()
}

/// Mean negative log2-probability of `tokens` under the target's own guided, tempered distribution before top-k and
/// top-p, in bits a token, from one teacher-forced pass. Forced positions are left out.
///
/// `generation` must be fresh: its prefix is used, its cache is not.
///
/// # Panics
/// If every position is forced.
pub fn nll_bits(generation: &ModelGeneration, tokens: &[TokenId]) -> f64 {
    let _guard = tch::no_grad_guard();
    let features = teacher_forced(generation, tokens);
    let logits = guided_logits(&generation.backbone().logits(&features), generation.sampling());
    let ids: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
    let ids = Tensor::from_slice(&ids).to_device(generation.device()).unsqueeze(1);
    let nats = -logits.to_kind(Kind::Double).log_softmax(-1, None::<Kind>).gather(1, &ids, false);
    let free: Vec<f64> = (0..tokens.len())
        .filter(|&position| generation.forced(position).is_none())
        .map(|position| nats.double_value(&[position as i64, 0]))
        .collect();
    assert!(!free.is_empty(), "an image has tokens that are not forced");
    free.iter().sum::<f64>() / free.len() as f64 / std::f64::consts::LN_2
}

/// The distribution that each of `tokens` is drawn from, given those before it, from one teacher-forced pass. A forced
/// position has its point mass. The tokens may be the beginning of an image.
///
/// `generation` must be fresh: its prefix is used, its cache is not.
pub fn conditional_distributions(generation: &ModelGeneration, tokens: &[TokenId]) -> Vec<Rc<Dist>> {
    let _guard = tch::no_grad_guard();
    let features = teacher_forced(generation, tokens);
    let rows =
        DistributionRows::new(distributions(&generation.backbone().logits(&features), generation.sampling()));
    let distribution = |(position, row)| match generation.forced(position) {
        Some(token) => Rc::new(Dist::one_hot(generation.n_vocab(), token)),
        None => row,
    };
    rows.all().into_iter().enumerate().map(distribution).collect()
}

/// The distribution that the last of `tokens` is drawn from, given those before it: one of [`conditional_distributions`].
///
/// `generation` must be fresh: its prefix is used, its cache is not.
pub fn last_distribution(generation: &ModelGeneration, tokens: &[TokenId]) -> Rc<Dist> {
    let _guard = tch::no_grad_guard();
    let features = teacher_forced(generation, tokens);
    let last = features.narrow(1, tokens.len() as i64 - 1, 1);
    DistributionRows::new(distributions(&generation.backbone().logits(&last), generation.sampling())).row(0)
}

/// Features that predict each of `tokens`, `[b, n_tokens, d]`, from one forward without earlier cache.
pub fn teacher_forced(generation: &ModelGeneration, tokens: &[TokenId]) -> Tensor {
    let backbone: &Rc<dyn Backbone> = generation.backbone();
    let shape = backbone.shape();
    let (n_prefix, device) = (generation.n_prefix(), generation.device());
    let n = tokens.len() as i64;
    let fed: Vec<i64> = tokens[..tokens.len() - 1].iter().map(|token| i64::from(token.0)).collect();
    let positions = Tensor::arange(n_prefix + n - 1, (Kind::Int64, device));
    let image = positions.narrow(0, n_prefix, n - 1);
    let x = backbone.embed(&Tensor::from_slice(&fed).to_device(device), &image).unsqueeze(0);
    let x = Tensor::cat(&[generation.prefix(), &x.expand([generation.n_rows(), -1, -1], false)], 1);
    let kv = KvShape {
        n_layers: shape.n_layers,
        n_rows: generation.n_rows(),
        n_heads: shape.n_heads,
        d_head: shape.d_head,
        capacity: n_prefix + n,
    };
    let mut cache = KvCache::new(kv, backbone.kind(), device);
    let mask = causal_mask(n_prefix + n - 1, cache.kind()).to_device(device);
    backbone.forward(&x, &positions, &mut cache, Some(&mask)).narrow(1, n_prefix - 1, n)
}
