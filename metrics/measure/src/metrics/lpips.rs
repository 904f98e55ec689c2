//! `lpips`: the learned perceptual distance of pictures in pairs (Zhang et al., arXiv 1801.03924).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_pixels::Image;

use crate::error::MeasureError;
use crate::known_answers::Known;
use crate::metrics::PairMetric;
use crate::network::{Batch, Dtype, NetworkFault, Networks, OpenedPairs, PairNetwork, Provenance};
use crate::pair_protocol::PairRule;
use crate::pairs::PairMeasure;

const NAME: &str = "lpips";
/// The metric of this file.
pub const METRIC: PairMetric = PairMetric {
    name: NAME,
    open: |protocol, networks| {
        protocol.metric(NAME)?;
        let rule = protocol.recipe().lpips.as_ref().expect("the protocol has the table of the metric");
        Ok(Box::new(Lpips::of(networks.pairs(&rule.network, rule.dtype)?)))
    },
    known_answers,
};

/// `[lpips]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LpipsRule {
    /// Trunk and heads, `lpips-alex` say.
    pub network: String,
    /// What the trunk computes in.
    pub dtype: Dtype,
}

impl PairRule for LpipsRule {
    fn fault(&self) -> Option<String> {
        let why = "dtype = \"f16\"; the reference tool does not compute in f16, write f32 or bf16";
        (self.dtype == Dtype::F16).then(|| why.to_owned())
    }

    fn network(&self) -> Option<&str> {
        Some(&self.network)
    }
}

/// A network that is open.
pub(crate) struct Lpips {
    network: Box<dyn PairNetwork>,
    provenance: Vec<Provenance>,
}

impl Lpips {
    pub(crate) fn of(OpenedPairs { network, provenance }: OpenedPairs) -> Self {
        Self { network, provenance }
    }
}

impl PairMeasure for Lpips {
    fn extractor(&self) -> Option<String> {
        Some(self.network.identity())
    }

    fn provenance(&self) -> &[Provenance] {
        &self.provenance
    }

    /// Pair by pair: a value does not depend on the pairs beside it, and pairs may differ in size.
    fn scores(&self, pairs: &[[Image; 2]]) -> Vec<Result<Option<f64>, String>> {
        let one = |pair: &[Image; 2]| {
            let [a, b] = pair.each_ref().map(|image| Batch::of_images(std::slice::from_ref(image), pixel));
            let distances = self.network.distances([&a, &b]).map_err(|fault| fault.to_string())?;
            Ok(Some(distances[0]))
        };
        pairs.iter().map(one).collect()
    }
}

/// A byte from -1 to 1, in double precision before it is rounded.
fn pixel(byte: u8) -> f32 {
    (f64::from(byte) / 127.5 - 1.0) as f32
}

/// A stand-in for the networks, whose distance is the sum of the differences.
struct Differences;

impl Networks for Differences {
    fn pairs(&self, _: &str, _: Dtype) -> Result<OpenedPairs, MeasureError> {
        Ok(OpenedPairs { network: Box::new(Self), provenance: Vec::new() })
    }
}

impl PairNetwork for Differences {
    fn identity(&self) -> String {
        "differences".to_owned()
    }

    fn distances(&self, [a, b]: [&Batch; 2]) -> Result<Vec<f64>, NetworkFault> {
        Ok(vec![a.values.iter().zip(&b.values).map(|(a, b)| f64::from((a - b).abs())).sum()])
    }
}

/// Two pictures of one pixel, one black and one with 255 in one channel: 2 apart on the scale of -1 to 1.
fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    let table = "lpips = { network = \"differences\", dtype = \"f32\" }";
    let found = known.pair(&METRIC, (table, &Differences), 1, [&[0, 0, 0], &[0, 255, 0]])?;
    known.answer(NAME, 2.0, found);
    Ok(())
}
