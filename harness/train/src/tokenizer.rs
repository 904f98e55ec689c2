//! Stage 1, the VQ tokenizer: reconstruction, codebook and commitment losses with an entropy bonus that
//! keeps every code in use (van den Oord et al. 2017; the entropy term as in MAGVIT-v2).

use std::path::Path;

use specimen_datasets::scenes::{TRAIN_SEED, VAL_SEED};
use specimen_models::families::tiny::Vq;
use tch::{Device, Kind, Tensor};

use crate::{
    corpus::{StepDraws, epoch_batch, normalised, pictures},
    engine::{Engine, backward},
    journal::Journal,
    spec::{TokenizerStage, TrainSpec},
    stage::{Save, Stage, StageFiles},
};

/// Temperature of the soft assignment in the entropy term.
const TAU: f64 = 0.05;
/// Vectors a replica samples for the entropy term.
const N_ENTROPY: i64 = 1024;

/// Pictures, and the vectors drawn for the entropy term.
struct Shard {
    /// `[b, 3, side, side]`, u8
    pictures: Tensor,
    /// `[n]`, i64
    picked: Tensor,
}

/// Trains the tokenizer and writes its weights.
pub fn train(spec: &TrainSpec, files: &StageFiles) -> anyhow::Result<()> {
    let stage = &spec.tokenizer;
    let mut engine =
        Engine::new(spec.seed, spec.n_replicas, Kind::BFloat16, |source| Ok(Vq::new(source, &stage.model)?))?;
    let mut run = Stage::resume(
        files,
        &mut engine,
        &["loss", "l1", "mse", "entropy_bits"],
        stage.schedule.n_steps,
        Save::TWO_MINUTES,
    )?;
    if engine.step == 0 {
        start_codebook(&mut engine, spec)?;
    }
    while engine.step < stage.schedule.n_steps {
        let step = engine.step;
        let shards = shards(spec, stage, step);
        let mse_weight = stage.mse_weight;
        let report =
            engine.train(&stage.schedule, shards, |vq, shard| backward(loss(vq, &shard, mse_weight)));
        if engine.step.is_multiple_of(stage.reseed_every) && engine.step * 10 < stage.schedule.n_steps * 7 {
            reseed_unused(&mut engine, spec)?;
        }
        run.after_step(&engine, &report)?;
    }
    run.finish(&engine, &stage.model)?;
    report_quality(engine.model(), spec, run.journal())
}

fn shards(spec: &TrainSpec, stage: &TokenizerStage, step: u64) -> Vec<Shard> {
    let n = stage.schedule.batch / spec.n_replicas as u64;
    let indices = epoch_batch(spec.seed, spec.n_scenes, step, stage.schedule.batch);
    let mut draws = StepDraws::new(spec.seed ^ 0x70, step);
    let grid = stage.model.side / stage.model.patch;
    indices
        .chunks(n as usize)
        .map(|chunk| {
            let scenes: Vec<u64> = chunk.iter().map(|&i| i as u64).collect();
            let picked = draws.below(n * (grid * grid) as u64, N_ENTROPY as u64);
            Shard { pictures: pictures(TRAIN_SEED, &scenes), picked: Tensor::from_slice(&picked) }
        })
        .collect()
}

fn loss(vq: &Vq, shard: &Shard, mse_weight: f64) -> (Tensor, Vec<f64>) {
    let kind = vq.codebook.kind();
    let images = normalised(&shard.pictures, kind);
    let codes = vq.encode(&images);
    let d_code = codes.size()[3];
    let flat = codes.reshape([-1, d_code]);
    let codebook = vq.unit_codebook();
    let nearest = tch::no_grad(|| vq.quantise(&flat));
    let quantised = codebook.index_select(0, &nearest);
    let commit =
        (&flat - quantised.detach()).square().to_kind(Kind::Float).sum(Kind::Float) / flat.size()[0] as f64;
    let follow =
        (flat.detach() - &quantised).square().to_kind(Kind::Float).sum(Kind::Float) / flat.size()[0] as f64;
    let straight = &flat + (quantised - &flat).detach();
    let decoded = vq.decode(&straight.view(codes.size().as_slice())).to_kind(Kind::Float);
    let images = images.to_kind(Kind::Float);
    let difference = &decoded - &images;
    let l1 = difference.abs().mean(Kind::Float);
    let mse = difference.square().mean(Kind::Float);
    let edges = edge_loss(&difference);
    let (sample, mean) = entropies(&flat.index_select(0, &shard.picked), &codebook);
    let vq_loss = follow + 0.25 * commit + 0.1 * (&sample - &mean);
    let total: Tensor = &l1 + &mse * mse_weight + edges * 0.4 + vq_loss * 0.5;
    let bits = mean.double_value(&[]) / std::f64::consts::LN_2;
    let values = vec![total.double_value(&[]), l1.double_value(&[]), mse.double_value(&[]), bits];
    (total, values)
}

/// Mean absolute difference of neighbouring pixels' errors, which keeps outlines sharp.
fn edge_loss(difference: &Tensor) -> Tensor {
    let size = difference.size();
    let along = |dim: i64| {
        let n = size[dim as usize] - 1;
        (difference.narrow(dim, 1, n) - difference.narrow(dim, 0, n)).abs().mean(Kind::Float)
    };
    along(2) + along(3)
}

/// Mean entropy of each vector's soft assignment, and entropy of the mean assignment, in nats.
fn entropies(codes: &Tensor, codebook: &Tensor) -> (Tensor, Tensor) {
    let logits = codes.matmul(&codebook.transpose(0, 1)).to_kind(Kind::Float) / TAU;
    let log_p = logits.log_softmax(-1, None::<Kind>);
    let p = log_p.exp();
    let sample = -(&p * &log_p).sum(Kind::Float) / p.size()[0] as f64;
    let mean = p.mean_dim([0_i64].as_slice(), false, None::<Kind>);
    let mean = -(&mean * (&mean + 1e-9).log()).sum(Kind::Float);
    (sample, mean)
}

/// Encoder outputs of fresh pictures, `[n, d_code]`.
fn fresh_codes(engine: &Engine<Vq>, spec: &TrainSpec, salt: u64) -> Tensor {
    let _guard = tch::no_grad_guard();
    let vq = engine.model();
    let mut draws = StepDraws::new(spec.seed ^ salt, engine.step);
    let scenes: Vec<u64> = draws.below(spec.n_scenes, 64).into_iter().map(|i| i as u64).collect();
    let codes = vq.encode(&normalised(&pictures(TRAIN_SEED, &scenes), vq.codebook.kind()));
    let flat = codes.to_kind(Kind::Float).reshape([-1, spec.tokenizer.model.d_code]);
    let order = Tensor::from_slice(&draws.below(flat.size()[0] as u64, spec.tokenizer.model.n_codes as u64));
    flat.index_select(0, &order)
}

/// Codes start as encoder outputs of real pictures.
fn start_codebook(engine: &mut Engine<Vq>, spec: &TrainSpec) -> anyhow::Result<()> {
    let codes = fresh_codes(engine, spec, 0x51);
    engine.master("codebook.weight").copy_(&codes);
    engine.spread();
    Ok(())
}

/// Codes used less than 5 % of the mean are moved onto current encoder outputs.
fn reseed_unused(engine: &mut Engine<Vq>, spec: &TrainSpec) -> anyhow::Result<()> {
    let n_codes = spec.tokenizer.model.n_codes;
    let usage = {
        let _guard = tch::no_grad_guard();
        let vq = engine.model();
        let scenes = epoch_batch(spec.seed ^ 0x52, spec.n_scenes, engine.step, 128);
        let scenes: Vec<u64> = scenes.into_iter().map(|i| i as u64).collect();
        let codes = vq.encode(&normalised(&pictures(TRAIN_SEED, &scenes), vq.codebook.kind()));
        vq.quantise(&codes).reshape([-1]).bincount(None::<&Tensor>, n_codes).to_kind(Kind::Float)
    };
    let mean = usage.mean(Kind::Float).double_value(&[]);
    let unused = usage.lt(0.05 * mean).unsqueeze(1);
    let fresh = fresh_codes(engine, spec, 0x53);
    let mut codebook = engine.master("codebook.weight");
    let moved = fresh.where_self(&unused, &codebook);
    codebook.copy_(&moved);
    engine.spread();
    Ok(())
}

/// Peak signal-to-noise ratio and code use on held-out scenes, into the stage's report.
fn report_quality(vq: &Vq, spec: &TrainSpec, journal: &mut Journal) -> anyhow::Result<()> {
    let _guard = tch::no_grad_guard();
    let kind = vq.codebook.kind();
    let n = spec.n_validation.min(512);
    let (mut squared, mut used) =
        (0.0, Tensor::zeros([spec.tokenizer.model.n_codes], (Kind::Int64, Device::Cpu)));
    for first in (0..n).step_by(64) {
        let indices: Vec<u64> = (first..(first + 64).min(n)).collect();
        let bytes = pictures(VAL_SEED, &indices);
        let tokens = vq.quantise(&vq.encode(&normalised(&bytes, kind)));
        let decoded = to_bytes(&vq.decode_tokens(&tokens)).to_kind(Kind::Float);
        squared += (decoded - bytes.to_kind(Kind::Float)).square().mean(Kind::Double).double_value(&[])
            * indices.len() as f64;
        used += tokens.reshape([-1]).bincount(None::<&Tensor>, spec.tokenizer.model.n_codes);
    }
    let psnr = 10.0 * (255.0_f64.powi(2) / (squared / n as f64)).log10();
    let share = used.to_kind(Kind::Double) / used.sum(Kind::Double);
    let bits = -(&share * (&share + 1e-12).log2()).sum(Kind::Double).double_value(&[]);
    let n_used = used.gt(0).sum(Kind::Int64).int64_value(&[]);
    journal.result(&[
        ("psnr_db", psnr),
        ("codes_used", n_used as f64),
        ("unigram_bits", bits),
        ("n_validation", n as f64),
    ])
}

/// Network range to bytes: clamp, scale, round. `[.., 3, h, w]` in and out.
pub fn to_bytes(pictures: &Tensor) -> Tensor {
    ((pictures.to_kind(Kind::Float) + 1.0) * 127.5).round().clamp(0.0, 255.0).to_kind(Kind::Uint8)
}

/// Reads trained tokenizer weights.
pub fn open(path: &Path, spec: &TrainSpec, kind: Kind) -> anyhow::Result<Vq> {
    let mut checkpoint = specimen_weights::Checkpoint::open(path, Some(kind), Device::Cpu)?;
    let vq = Vq::new(&mut checkpoint, &spec.tokenizer.model)?;
    checkpoint.finish()?;
    Ok(vq)
}
