//! What `specimen doctor` asks of each GPU: that it draws the tokens that the CPU draws.

use specimen_catalog::{Family, entry};
use specimen_decode::{dist::TokenId, method::MethodConfig};
use specimen_experiments::spec::{Dtype, FilterOrder, ModelSpec, Sampling};
use specimen_models::{llama::fused, seam::clock::DeviceClock};
use specimen_runner::{
    error::RunError,
    images::{
        generate::{Request, generate},
        load::{Models, device_of},
    },
};
use specimen_weights::{cuda, cuda_graph};

use crate::console::message_of;

const CPU: &str = "cpu";
const SEED: u64 = 0;
/// A prompt of a model of captions, and of one of classes.
const PROMPT: &str = "1";

/// What was found of the GPUs.
pub(super) enum GpuTokens {
    /// The tokens of the CPU, in words; with why steps run without graphs or kernels of their own, where they do.
    AsOnCpu(String, Option<String>),
    /// Other tokens, or none.
    Wrong(String),
}

/// Decodes with the toy networks in f32, on the CPU and on every GPU; `None` without a GPU.
pub(super) fn gpu_tokens() -> Option<GpuTokens> {
    if cuda::n_devices() == 0 {
        return None;
    }
    let graphs = cuda_graph::available();
    let mut ways = vec![("kernel by kernel", Some(false))];
    ways.extend(graphs.is_ok().then_some(("as CUDA graphs", Some(true))));
    let mut absent = graphs.err();
    for index in 0..cuda::n_devices() {
        let device = format!("cuda:{index}");
        match differing(&device, &ways) {
            Err(error) => return Some(GpuTokens::Wrong(message_of(&error.into()))),
            Ok(Some(words)) => return Some(GpuTokens::Wrong(words)),
            Ok(None) => absent = absent.or_else(|| device_of(&device).ok().and_then(fused::absent)),
        }
    }
    let words: Vec<&str> = ways.iter().map(|(words, _)| *words).collect();
    let found = format!("as on the CPU, by {} networks, {}", families().len(), words.join(" and "));
    Some(GpuTokens::AsOnCpu(found, absent))
}

/// The first network that draws other tokens on `device` than eagerly on the CPU, by one of `ways`: its name, and whether its
/// steps run over buffers.
fn differing(device: &str, ways: &[(&str, Option<bool>)]) -> Result<Option<String>, RunError> {
    for name in families() {
        let expected = tokens(name, CPU, Some(false), SEED)?;
        for (words, graphs) in ways {
            let found = tokens(name, device, *graphs, SEED)?;
            if let Some(at) = (0..expected.len()).find(|&at| found.get(at) != expected.get(at)) {
                return Ok(Some(format!(
                    "{name} on {device}, {words}: token {at} is another than on the CPU"
                )));
            }
        }
    }
    Ok(None)
}

/// The small networks that need no files.
fn families() -> Vec<&'static str> {
    let is_small = |family| !matches!(family, Family::Tiny | Family::Stub | Family::Igpt);
    let found = entry::targets().filter(|(model, target)| model.files.is_empty() && is_small(target.family));
    found.map(|(model, _)| model.name.as_str()).collect()
}

fn tokens(name: &str, device: &str, graphs: Option<bool>, seed: u64) -> Result<Vec<TokenId>, RunError> {
    let spec = ModelSpec {
        name: name.to_owned(),
        dtype: Dtype::F32,
        device: device.to_owned(),
        weights: None,
        three_way_guidance: false,
        graphs,
        batch: None,
        heads: std::collections::BTreeMap::new(),
        rehearsed: None,
    };
    let model = Models::new(None).get(&spec)?;
    let (temperature, top_k, top_p, guidance) = (1.0, 0, 1.0, 3.0);
    let filter_order = FilterOrder::TopKThenTopP;
    let sampling = Sampling { temperature, top_k, top_p, guidance, filter_order, coupled: false };
    let request = Request { model: &model, method: &MethodConfig::ar(), sampling, prompt: PROMPT, seed };
    Ok(generate(&request, &DeviceClock::new(device_of(device)?))?.decoded.tokens)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn steps_over_buffers_draw_the_tokens_of_eager_ones_with_every_family() {
        assert!(families().len() >= 6, "{:?}", families());
        assert_eq!(differing(CPU, &[("over buffers", Some(true))]).unwrap(), None);
    }

    #[test]
    fn another_seed_would_be_noticed() {
        let [one, other] = [SEED, 1].map(|seed| tokens("janus-toy", CPU, Some(false), seed).unwrap());
        assert!(one.len() == other.len() && one != other, "{one:?}");
    }
}
