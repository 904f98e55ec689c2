//! Metrics of a run's images, one file per protocol and cell. Written after the merge, from the records and
//! the saved images, so that a run can be scored again.

use specimen_datasets::{
    data_root::DataRoot,
    manifest::{MNIST_IMAGES, MNIST_LABELS},
    mnist::Mnist,
};
use specimen_decode::generation::Generation;
use specimen_experiments::spec::MetricSpec;
use specimen_extract::{
    extractor::{ExtractError, FeatureExtractor, Pictures},
    lenet::LeNet,
};
use specimen_models::{files::published_files::places, seam::likelihood::nll_bits};
use specimen_record::{MetricFile, Record, RunDir};

use crate::{
    cell_images::{CellImages, blank, distance, mean_of, read_pictures, too_few},
    driver::{context::Context, events::DriverEvent},
    error::RunError,
    images::load::Models,
    protocol_scores,
    scene_scores::SceneScores,
};

/// Computes every metric of the spec for every cell.
///
/// # Errors
/// Images, weights or data that cannot be read; a request to stop. A metric that does not apply is a file
/// with its reason.
pub(crate) fn score(context: &Context<'_>, records: &[Record], models: &mut Models) -> Result<(), RunError> {
    let &Context { run, plan, data_root, disk, report, .. } = context;
    let mut scenes = None;
    for metric in &plan.spec.metrics {
        for cell in &plan.spec.cells {
            disk.stop().check()?;
            report(DriverEvent::Scoring { metric: metric.name.clone(), cell: cell.name.clone() });
            let images = CellImages::of(plan, records, cell);
            if metric.protocol.is_some() {
                protocol_scores::score(context, &images, metric)?;
                continue;
            }
            let scored = match metric.name.as_str() {
                "target-nll" => target_nll(&images, models),
                "fd-lenet" => fd_lenet(run, &images, metric, data_root),
                name => {
                    let scenes = match &mut scenes {
                        Some(scenes) => scenes,
                        empty => empty.insert(SceneScores::open()?),
                    };
                    match name {
                        "scene-clip" => scenes.clip(run, &images),
                        "attribute-accuracy" => scenes.attributes(run, &images),
                        "fd-scenes" => scenes.distance(run, &images, metric),
                        other => return Err(RunError::Spec(format!("metric `{other}` is unknown"))),
                    }
                }
            };
            let file = match scored {
                // Another program's images have whatever size they have; the next metric may take them.
                Err(error @ (RunError::OddSize(_) | RunError::Extract(ExtractError::Size { .. })))
                    if cell.is_elsewhere() =>
                {
                    let mut file = blank(&metric.name, &metric.name, &images);
                    file.why = Some(error.to_string());
                    file
                }
                scored => scored?,
            };
            disk.put(&run.metrics(&file.protocol, &cell.name), &file)?;
        }
    }
    Ok(())
}

/// Mean negative log2-likelihood of the tokens under the target's guided, tempered distribution, before top-k
/// and top-p. Of another program's images the tokens are those that it returned, where the model is known and
/// here.
fn target_nll(images: &CellImages<'_>, models: &mut Models) -> Result<MetricFile, RunError> {
    let mut file = blank("target-nll", "target-nll", images);
    file.unit = "bits/token".into();
    file.higher_is_better = Some(false);
    let is_elsewhere = images.cell.is_elsewhere();
    if is_elsewhere && images.records.iter().any(|record| record.tokens.is_empty()) {
        let why = "the images are another program's, which returned no tokens for them; with `tokens` in its answers it \
                   could be computed";
        file.why = Some(why.to_owned());
        return Ok(file);
    }
    let model = match models.get(&images.cell.model) {
        Err(error) if is_elsewhere => {
            let name = &images.cell.model.name;
            file.why = Some(format!(
                "the tokens are another program's, and `{name}` cannot be opened here: {error}"
            ));
            return Ok(file);
        }
        found => found?,
    };
    let sampling = images.cell.sampling;
    let mut values = Vec::with_capacity(images.records.len());
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let generation = model.open(prompt, &sampling, 1)?;
        let n_vocab = Generation::n_vocab(&generation);
        let is_known = |token: &u32| (*token as usize) < n_vocab;
        let are_whole = record.tokens.len() == model.n_tokens && record.tokens.iter().all(is_known);
        if is_elsewhere && !are_whole {
            file.why = Some(format!(
                "{}: {} tokens were returned, expected {} below {n_vocab}: image tokens of `{}`",
                record.key,
                record.tokens.len(),
                model.n_tokens,
                images.cell.model.name
            ));
            return Ok(file);
        }
        let tokens: Vec<_> = record.tokens.iter().map(|&t| specimen_decode::dist::TokenId(t)).collect();
        let bits = nll_bits(&generation, &tokens);
        if !bits.is_finite() {
            file.why = Some(format!(
                "{}: a token has probability 0 under the target's own distribution",
                record.key
            ));
            return Ok(file);
        }
        values.push(bits);
    }
    mean_of(&mut file, images, &values)?;
    Ok(file)
}

/// Frechet distance on LeNet features between the images and all MNIST test images.
fn fd_lenet(
    run: &RunDir,
    images: &CellImages<'_>,
    metric: &MetricSpec,
    data_root: Option<&DataRoot>,
) -> Result<MetricFile, RunError> {
    let mut file = blank("fd-lenet", "fd-lenet", images);
    file.higher_is_better = Some(false);
    let net = LeNet::open(&places(data_root.map(DataRoot::path)))?;
    file.extractor = Some(net.identity());
    if let Some(why) = too_few(images, metric) {
        file.why = Some(why);
        return Ok(file);
    }
    let mnist = Mnist::read(&MNIST_IMAGES.locate(data_root)?, &MNIST_LABELS.locate(data_root)?)?;
    let reference = Pictures { width: 28, height: 28, channels: 1, bytes: mnist.pixels().to_vec() };
    distance(&mut file, &net, &reference, &read_pictures(run, images)?)?;
    file.extra.insert("n_reference".into(), mnist.n_images() as f64);
    Ok(file)
}
