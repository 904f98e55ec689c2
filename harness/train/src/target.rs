//! Stage 2, the target: next-token cross-entropy with caption dropout. Tokens whose patch touches an object
//! weigh more from the first step: the caption is worth a few hundredths of a nat a token on average, and
//! unweighted training learns which colour belongs to which shape last.

use specimen_datasets::scenes::{NULL_ID, TRAIN_SEED, VAL_SEED};
use specimen_models::{
    families::tiny::{TinyBackbone, Vq},
    seam::backbone::Backbone,
};
use tch::{Kind, Tensor};

use crate::{
    corpus::{N_TOKENS, StepDraws, TokenRows, epoch_batch},
    engine::{Engine, backward},
    spec::TrainSpec,
    stage::{Save, Stage, StageFiles},
};

struct Shard {
    /// `[b, 256]`, i64
    tokens: Tensor,
    /// `[b, 20]`, i64
    captions: Tensor,
    /// `[b, 256]`, f32
    weights: Tensor,
}

/// Trains the target on the tokens of `vq` and writes its weights.
pub fn train(spec: &TrainSpec, vq: &Vq, files: &StageFiles) -> anyhow::Result<()> {
    let stage = &spec.target;
    let mut engine = Engine::new(spec.seed + 1, spec.n_replicas, Kind::BFloat16, |source| {
        Ok(TinyBackbone::new(source, &stage.model)?)
    })?;
    let rows = TokenRows::encode(vq, TRAIN_SEED, spec.n_scenes)?;
    let mut run = Stage::resume(
        files,
        &mut engine,
        &["weighted_nats", "nats"],
        stage.schedule.n_steps,
        Save::TWO_MINUTES,
    )?;
    while engine.step < stage.schedule.n_steps {
        let shards = shards(spec, &rows, engine.step);
        let report = engine.train(&stage.schedule, shards, |model, shard| backward(loss(model, &shard)));
        run.after_step(&engine, &report)?;
    }
    run.finish(&engine, &stage.model)?;
    let held_out = TokenRows::encode(vq, VAL_SEED, spec.n_validation.min(256))?;
    let (captioned, unguided, entropy) = validate(engine.model(), &held_out);
    let bits = |nats: f64| nats / std::f64::consts::LN_2;
    run.journal().result(&[
        ("nats_caption", captioned),
        ("nats_null", unguided),
        ("bits_caption", bits(captioned)),
        ("entropy_bits", bits(entropy)),
        ("n_validation", held_out.tokens.size()[0] as f64),
    ])
}

fn shards(spec: &TrainSpec, rows: &TokenRows, step: u64) -> Vec<Shard> {
    let stage = &spec.target;
    let n = (stage.schedule.batch / spec.n_replicas as u64) as usize;
    let mut draws = StepDraws::new(spec.seed ^ 0x7A, step);
    epoch_batch(spec.seed ^ 0x7A, spec.n_scenes, step, stage.schedule.batch)
        .chunks(n)
        .map(|chunk| {
            let (tokens, captions, objects) = rows.rows(&Tensor::from_slice(chunk));
            let dropped: Vec<bool> = (0..n).map(|_| draws.uniform() < stage.caption_dropout).collect();
            let null = Tensor::full_like(&captions, i64::from(NULL_ID));
            let captions = null.where_self(&Tensor::from_slice(&dropped).unsqueeze(1), &captions);
            let weights = objects.to_kind(Kind::Float) * (stage.object_weight - 1.0) + 1.0;
            Shard { tokens, captions, weights }
        })
        .collect()
}

fn loss(model: &TinyBackbone, shard: &Shard) -> (Tensor, Vec<f64>) {
    let nats = token_nats(model, &shard.captions, &shard.tokens);
    let weighted = (&nats * &shard.weights).sum(Kind::Float) / shard.weights.sum(Kind::Float);
    let values = vec![weighted.double_value(&[]), nats.mean(Kind::Float).double_value(&[])];
    (weighted, values)
}

/// Cross-entropy of every token, `[b, 256]`, f32.
fn token_nats(model: &TinyBackbone, captions: &Tensor, tokens: &Tensor) -> Tensor {
    let logits = model.logits(&model.features(captions, tokens)).view([-1, model.config().n_vocab]);
    logits
        .cross_entropy_loss(&tokens.reshape([-1]), None::<&Tensor>, tch::Reduction::None, -100, 0.0)
        .view([-1, N_TOKENS])
}

/// Mean nats a token with the caption and with the null caption, and mean entropy with the caption.
fn validate(model: &TinyBackbone, rows: &TokenRows) -> (f64, f64, f64) {
    let _guard = tch::no_grad_guard();
    let n = rows.tokens.size()[0];
    let (mut captioned, mut unguided, mut entropy) = (0.0, 0.0, 0.0);
    for first in (0..n).step_by(16) {
        let index = Tensor::arange_start(first, (first + 16).min(n), (Kind::Int64, tch::Device::Cpu));
        let (tokens, captions, _) = rows.rows(&index);
        let share = index.size()[0] as f64 / n as f64;
        let null = Tensor::full_like(&captions, i64::from(NULL_ID));
        let mean = |nats: Tensor| nats.mean(Kind::Double).double_value(&[]) * share;
        captioned += mean(token_nats(model, &captions, &tokens));
        unguided += mean(token_nats(model, &null, &tokens));
        let log_p = model.logits(&model.features(&captions, &tokens)).log_softmax(-1, None::<Kind>);
        let nats = -(log_p.exp() * &log_p).sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>);
        entropy += mean(nats);
    }
    (captioned, unguided, entropy)
}
