//! Stage 4, the evaluator: attribute heads and a contrastive picture-caption space (Radford et al. 2021, at
//! toy size), trained on scenes as rendered and as the tokenizer reconstructs them, so that neither the
//! features nor the heads punish the codec.

use specimen_datasets::scenes::{
    CAPTION_LEN, N_GROUNDS, N_OBJECT_KINDS, N_RELATIONS, N_SKIES, Scene, TRAIN_SEED, VAL_SEED, Vocabulary,
};
use specimen_extract::scene_net::SceneNet;
use specimen_models::families::tiny::Vq;
use tch::{Device, Kind, Reduction, Tensor};

use crate::{
    corpus::{epoch_batch, normalised, pictures},
    engine::{Engine, backward},
    spec::TrainSpec,
    stage::{Save, Stage, StageFiles},
    tokenizer::to_bytes,
};

/// What the evaluator learns of a batch of scenes.
struct Batch {
    /// `[b, 3, side, side]`, u8
    pictures: Tensor,
    /// `[b, 20]`, i64
    captions: Tensor,
    /// `[b, 32]`, f32
    objects: Tensor,
    /// `[b, 3]`, i64: ground, sky, relation
    classes: Tensor,
}

impl Batch {
    fn of(seed: u64, indices: &[u64]) -> anyhow::Result<Self> {
        let (mut captions, mut objects, mut classes) = (Vec::new(), Vec::new(), Vec::new());
        for &index in indices {
            let scene = Scene::new(seed, index);
            captions.extend(Vocabulary::encode(&scene.caption())?.map(i64::from));
            let labels = scene.labels();
            objects.extend(labels.objects.map(|there| f32::from(u8::from(there))));
            classes.extend([labels.ground as i64, labels.sky as i64, labels.relation as i64]);
        }
        Ok(Self {
            pictures: pictures(seed, indices),
            captions: Tensor::from_slice(&captions).view([-1, CAPTION_LEN as i64]),
            objects: Tensor::from_slice(&objects).view([-1, N_OBJECT_KINDS as i64]),
            classes: Tensor::from_slice(&classes).view([-1, 3]),
        })
    }

    /// The second half of the pictures as `vq` reconstructs them.
    fn half_reconstructed(mut self, vq: &Vq) -> Self {
        let n = self.pictures.size()[0];
        let kept = self.pictures.narrow(0, 0, n - n / 2);
        let coded = reconstructed(&self.pictures.narrow(0, n - n / 2, n / 2), vq);
        self.pictures = Tensor::cat(&[kept, coded], 0);
        self
    }
}

fn reconstructed(pictures: &Tensor, vq: &Vq) -> Tensor {
    let _guard = tch::no_grad_guard();
    let tokens = vq.quantise(&vq.encode(&normalised(pictures, vq.codebook.kind())));
    to_bytes(&vq.decode_tokens(&tokens))
}

/// Trains the evaluator and writes its weights.
pub fn train(spec: &TrainSpec, vq: &Vq, files: &StageFiles) -> anyhow::Result<()> {
    let stage = &spec.features;
    let mut engine =
        Engine::new(spec.seed + 3, spec.n_replicas, Kind::BFloat16, |source| Ok(SceneNet::new(source)?))?;
    let names = ["loss", "objects", "classes", "contrast"];
    let mut run = Stage::resume(files, &mut engine, &names, stage.schedule.n_steps, Save::TWO_MINUTES)?;
    while engine.step < stage.schedule.n_steps {
        let indices = epoch_batch(spec.seed ^ 0xFE, spec.n_scenes, engine.step, stage.schedule.batch);
        let n = (stage.schedule.batch / spec.n_replicas as u64) as usize;
        let shards = indices
            .chunks(n)
            .map(|chunk| {
                let scenes: Vec<u64> = chunk.iter().map(|&i| i as u64).collect();
                Ok(Batch::of(TRAIN_SEED, &scenes)?.half_reconstructed(vq))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let report = engine.train(&stage.schedule, shards, |net, batch| backward(loss(net, &batch)));
        run.after_step(&engine, &report)?;
    }
    run.finish(&engine, &serde_json::json!({ "preprocessing": "64x64 RGB, x / 127.5 - 1" }))?;
    let results = validate(engine.model(), spec, vq)?;
    run.journal().result(&results)
}

fn loss(net: &SceneNet, batch: &Batch) -> (Tensor, Vec<f64>) {
    let features = net.features(&normalised(&batch.pictures, net.logit_scale.kind()));
    let logits = net.attributes(&features).to_kind(Kind::Float);
    let n_objects = N_OBJECT_KINDS as i64;
    // About two of 32 pairs are there: positives weigh more, or the head learns to say no.
    let weight = Tensor::from_slice(&[6.0_f32]);
    let objects = logits.narrow(1, 0, n_objects).binary_cross_entropy_with_logits(
        &batch.objects,
        None::<&Tensor>,
        Some(&weight),
        Reduction::Mean,
    );
    let mut classes = Tensor::zeros([], (Kind::Float, Device::Cpu));
    for (i, (from, n)) in class_ranges().into_iter().enumerate() {
        let aim = batch.classes.select(1, i as i64);
        classes += logits.narrow(1, from, n).cross_entropy_for_logits(&aim);
    }
    let images = net.embed_features(&features);
    let texts = net.embed_captions(&batch.captions);
    let similar = images.matmul(&texts.transpose(0, 1)) * net.logit_scale.to_kind(Kind::Float).exp();
    let own = Tensor::arange(similar.size()[0], (Kind::Int64, Device::Cpu));
    let contrast = (similar.cross_entropy_for_logits(&own)
        + similar.transpose(0, 1).cross_entropy_for_logits(&own))
        * 0.5;
    let total: Tensor = &objects * 4.0 + &classes + &contrast;
    let values = [&total, &objects, &classes, &contrast].map(|x| x.double_value(&[])).to_vec();
    (total, values)
}

/// Offset and width of ground, sky and relation among the logits.
fn class_ranges() -> [(i64, i64); 3] {
    let (ground, sky) = (N_OBJECT_KINDS as i64, (N_OBJECT_KINDS + N_GROUNDS) as i64);
    [(ground, N_GROUNDS as i64), (sky, N_SKIES as i64), (sky + N_SKIES as i64, N_RELATIONS as i64)]
}

/// Accuracy of every head and caption agreement on held-out scenes, reconstructed by the tokenizer.
fn validate(net: &SceneNet, spec: &TrainSpec, vq: &Vq) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let _guard = tch::no_grad_guard();
    let n = spec.n_validation.min(1000);
    let indices: Vec<u64> = (0..n).collect();
    let batch = Batch::of(VAL_SEED, &indices)?;
    let features = net.features(&normalised(&reconstructed(&batch.pictures, vq), net.logit_scale.kind()));
    let logits = net.attributes(&features).to_kind(Kind::Float);
    let said = logits.narrow(1, 0, N_OBJECT_KINDS as i64).gt(0.0).to_kind(Kind::Float);
    let sum = |x: &Tensor| x.sum(Kind::Double).double_value(&[]);
    let hits = sum(&(&said * &batch.objects));
    let mut results =
        vec![("object_recall", hits / sum(&batch.objects)), ("object_precision", hits / sum(&said))];
    for (i, (name, (from, width))) in
        ["ground_accuracy", "sky_accuracy", "relation_accuracy"].into_iter().zip(class_ranges()).enumerate()
    {
        let right =
            logits.narrow(1, from, width).argmax(1, false).eq_tensor(&batch.classes.select(1, i as i64));
        results.push((name, sum(&right) / n as f64));
    }
    let (images, texts) = (net.embed_features(&features), net.embed_captions(&batch.captions));
    let cosine = |texts: &Tensor| sum(&(&images * texts)) / n as f64;
    results.push(("cosine_matched", cosine(&texts)));
    results.push(("cosine_shuffled", cosine(&texts.roll(1, 0))));
    results.push(("n_validation", n as f64));
    Ok(results)
}
