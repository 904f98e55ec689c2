//! Stage 3, the EAGLE-1 drafter: feature regression and soft cross-entropy, unrolled a few drafts deep on
//! its own predictions (HASS, Zhang et al., arXiv 2408.15766; EAGLE-3's training-time test).
//!
//! Every image is run with its caption and with the null caption, and beside the captioned law the *guided*
//! law is matched: that is what verification compares, and guidance amplifies the drafter's errors.

use specimen_datasets::scenes::{NULL_ID, TRAIN_SEED, VAL_SEED};
use specimen_models::{
    backbone::Backbone,
    eagle::EagleHead,
    llama::{Rotary, causal_mask},
    tiny::{TinyBackbone, Vq},
};
use tch::{Device, Kind, Tensor};

use crate::{
    corpus::{StepDraws, TokenRows, epoch_batch},
    engine::Engine,
    spec::{DrafterStage, TrainSpec},
    stage::{Stage, StageFiles},
};

/// A head with the frozen target it drafts for.
pub struct Pair {
    head: EagleHead,
    target: TinyBackbone,
}

struct Shard {
    /// `[b, 256]`, i64
    tokens: Tensor,
    /// `[b, 20]`, i64
    captions: Tensor,
    /// `[2 b, 256, d]`: uniform noise for true features
    noise: Tensor,
}

/// Trains the head for the target that `open_target` opens, and writes its weights.
///
/// # Errors
/// Unwritable files, a damaged state to resume from, divergence.
pub fn train(
    spec: &TrainSpec,
    vq: &Vq,
    open_target: &dyn Fn() -> anyhow::Result<TinyBackbone>,
    files: &StageFiles,
) -> anyhow::Result<()> {
    let stage = &spec.drafter;
    let d_model = spec.target.model.d_model;
    let mut engine = Engine::new(spec.seed + 2, spec.n_replicas, Kind::BFloat16, |source| {
        Ok(Pair { head: EagleHead::new(source, &stage.model, d_model)?, target: open_target()? })
    })?;
    let names = ["loss", "feature", "overlap1", "overlap2", "overlap3"];
    let rows = TokenRows::encode(vq, TRAIN_SEED, spec.n_scenes)?;
    let mut run =
        Stage::resume(files, &mut engine, &names[..2 + stage.depth.min(3)], stage.schedule.n_steps)?;
    while engine.step < stage.schedule.n_steps {
        let shards = shards(spec, &rows, engine.step);
        let report = engine.train(&stage.schedule, shards, |pair, shard| loss(pair, &shard, stage));
        run.after_step(&engine, &report.values)?;
    }
    run.finish(&engine, &stage.model)?;
    let held_out = TokenRows::encode(vq, VAL_SEED, spec.n_validation.min(64))?;
    let results = validate(engine.model(), &held_out, stage);
    let named: Vec<(String, f64)> = results;
    let borrowed: Vec<(&str, f64)> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    run.journal().result(&borrowed)
}

fn shards(spec: &TrainSpec, rows: &TokenRows, step: u64) -> Vec<Shard> {
    let stage = &spec.drafter;
    let n = (stage.schedule.batch / spec.n_replicas as u64) as usize;
    tch::manual_seed(StepDraws::new(spec.seed ^ 0xD7, step).bits() as i64);
    // From the other end of the epoch than the target's first steps.
    epoch_batch(spec.seed ^ 0xD7, spec.n_scenes, step, stage.schedule.batch)
        .chunks(n)
        .map(|chunk| {
            let (tokens, captions, _) = rows.rows(&Tensor::from_slice(chunk));
            let size = [2 * n as i64, tokens.size()[1], spec.target.model.d_model];
            let uniform = Tensor::rand(size, (Kind::Float, Device::Cpu)) * 2.0 - 1.0;
            Shard { tokens, captions, noise: (uniform * stage.feature_noise).to_kind(Kind::BFloat16) }
        })
        .collect()
}

/// One unrolled pass: predicted features and logits of every depth.
struct Unrolled {
    /// Per depth `[2 b, n - depth, d]`: prediction of the feature that follows the slot.
    features: Vec<Tensor>,
}

/// Runs the head over whole images, depth by depth. Slot `j` of depth `k` consumes token `j` and, in place
/// of the true feature, what depth `k - 1` predicted for it; it attends to true slots `..= j - k` (0-based
/// depth) and to its own chain of drafted slots.
fn unroll(pair: &Pair, tokens: &Tensor, features: &Tensor, depth: usize) -> Unrolled {
    let (rows, n, _) = features.size3().expect("features have three axes");
    let embeddings = pair.target.embed_batch(tokens).repeat([rows / tokens.size()[0], 1, 1]);
    let kind = embeddings.kind();
    let whole_mask = causal_mask(n, kind);
    let rotary = pair.target.image_rotary(0, n);
    let mut input = features.shallow_clone();
    let mut predicted: Vec<Tensor> = Vec::new();
    let mut keys: Vec<Tensor> = Vec::new();
    let mut values: Vec<Tensor> = Vec::new();
    for k in 0..depth as i64 {
        let m = n - k;
        let x = pair.head.join(&embeddings.narrow(1, k, m), &input);
        let rotary = Rotary { cos: rotary.cos.narrow(0, k, m), sin: rotary.sin.narrow(0, k, m) };
        let (q, key, value) = pair.head.layer.project(&x, &rotary);
        let heads_first = |x: &Tensor| x.transpose(1, 2);
        let (q, key, value) = (heads_first(&q), heads_first(&key), heads_first(&value));
        let scale = (q.size()[3] as f64).powf(-0.5);
        keys.push(key);
        values.push(value);
        // Row r of depth k is slot r + k; it sees true slots 0 ..= r.
        let mut scores = vec![
            q.matmul(&keys[0].transpose(2, 3)).narrow(3, 0, m) * scale
                + whole_mask.narrow(0, 0, m).narrow(1, 0, m),
        ];
        for chain in 1..=k {
            // The drafted slot of depth `chain` on the same chain: row r of that depth.
            let along = keys[chain as usize].narrow(2, 0, m);
            scores.push((&q * along).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>) * scale);
        }
        let weights = Tensor::cat(&scores, 3).softmax(-1, None::<Kind>);
        let mut context = weights.narrow(3, 0, m).matmul(&values[0].narrow(2, 0, m));
        for chain in 1..=k {
            context += weights.narrow(3, m + chain - 1, 1) * values[chain as usize].narrow(2, 0, m);
        }
        let context = context.transpose(1, 2).reshape([rows, m, -1]);
        let out = pair.head.finish(&pair.head.layer.finish(&x, &context));
        // The prediction at slot j is the feature of slot j + 1.
        input = out.narrow(1, 0, m - 1);
        predicted.push(out);
    }
    Unrolled { features: predicted }
}

/// True features with the caption, then with the null caption: `[2 b, 256, d]`.
fn true_features(target: &TinyBackbone, captions: &Tensor, tokens: &Tensor) -> Tensor {
    let _guard = tch::no_grad_guard();
    let null = Tensor::full_like(captions, i64::from(NULL_ID));
    let both = Tensor::cat(&[captions, &null], 0);
    target.features(&both, &tokens.repeat([2, 1]))
}

/// Logits of both rows to guided logits: `null + s (caption - null)`. `[2 b, n, v]` to `[b, n, v]`.
fn guided(logits: &Tensor, scale: f64) -> Tensor {
    let rows = logits.chunk(2, 0);
    &rows[1] + (&rows[0] - &rows[1]) * scale
}

fn overlap(a: &Tensor, b: &Tensor) -> Tensor {
    a.minimum(b).sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>).mean(Kind::Float)
}

fn loss(pair: &Pair, shard: &Shard, stage: &DrafterStage) -> (Tensor, Vec<f64>) {
    let truth = true_features(&pair.target, &shard.captions, &shard.tokens);
    let unrolled = unroll(pair, &shard.tokens, &(&truth + &shard.noise), stage.depth);
    let n = truth.size()[1];
    let (laws, guided_laws) = tch::no_grad(|| {
        let logits = pair.target.logits(&truth);
        (logits.softmax(-1, None::<Kind>), guided(&logits, stage.guidance).softmax(-1, None::<Kind>))
    });
    let mut total = Tensor::zeros([], (Kind::Float, Device::Cpu));
    let mut values = vec![0.0, 0.0];
    for (k, features) in unrolled.features.iter().enumerate() {
        let k = k as i64;
        // Row r of depth k predicts the feature of slot r + k + 1.
        let m = n - k - 1;
        let features = features.narrow(1, 0, m);
        let aim = |x: &Tensor| x.narrow(1, k + 1, m);
        let regression = features.to_kind(Kind::Float).smooth_l1_loss(
            &aim(&truth).to_kind(Kind::Float),
            tch::Reduction::Mean,
            1.0,
        );
        let logits = pair.target.logits(&features);
        let soft = |laws: &Tensor, logits: &Tensor| {
            let nats = -(aim(laws) * logits.log_softmax(-1, None::<Kind>));
            nats.sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>).mean(Kind::Float)
        };
        let guided_logits = guided(&logits, stage.guidance);
        let cross = soft(&laws, &logits) * 0.5 + soft(&guided_laws, &guided_logits);
        let weight = stage.depth_decay.powi(k as i32);
        values[1] += regression.double_value(&[]) / stage.depth as f64;
        if k < 3 {
            let p = tch::no_grad(|| guided_logits.softmax(-1, None::<Kind>));
            values.push(overlap(&p, &aim(&guided_laws)).double_value(&[]));
        }
        total += (regression * stage.feature_weight + cross) * weight;
    }
    values[0] = total.double_value(&[]);
    (total, values)
}

/// Overlap of guided laws (1 - total variation) by depth on held-out scenes, and the cosine of
/// neighbouring target features.
fn validate(pair: &Pair, rows: &TokenRows, stage: &DrafterStage) -> Vec<(String, f64)> {
    let _guard = tch::no_grad_guard();
    let n = rows.tokens.size()[0];
    let depth = stage.depth;
    let mut sums = vec![0.0; depth + 1];
    for first in (0..n).step_by(8) {
        let index = Tensor::arange_start(first, (first + 8).min(n), (Kind::Int64, Device::Cpu));
        let share = index.size()[0] as f64 / n as f64;
        let (tokens, captions, _) = rows.rows(&index);
        let truth = true_features(&pair.target, &captions, &tokens);
        let laws = guided(&pair.target.logits(&truth), stage.guidance).softmax(-1, None::<Kind>);
        let len = truth.size()[1];
        for (k, features) in unroll(pair, &tokens, &truth, depth).features.iter().enumerate() {
            let m = len - k as i64 - 1;
            let logits = pair.target.logits(&features.narrow(1, 0, m));
            let p = guided(&logits, stage.guidance).softmax(-1, None::<Kind>);
            sums[k] += overlap(&p, &laws.narrow(1, k as i64 + 1, m)).double_value(&[]) * share;
        }
        let captioned = truth.chunk(2, 0)[0].to_kind(Kind::Float);
        let (a, b) = (captioned.narrow(1, 0, len - 1), captioned.narrow(1, 1, len - 1));
        sums[depth] +=
            Tensor::cosine_similarity(&a, &b, -1, 1e-8).mean(Kind::Float).double_value(&[]) * share;
    }
    let mut named: Vec<(String, f64)> =
        (0..depth).map(|k| (format!("overlap_depth{}", k + 1), sums[k])).collect();
    named.push(("neighbour_feature_cosine".into(), sums[depth]));
    named.push(("n_validation".into(), n as f64));
    named
}
