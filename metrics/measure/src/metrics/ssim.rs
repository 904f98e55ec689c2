//! `ssim`: the structural similarity of pictures in pairs.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_pixels::Image;
use specimen_stats::ssim::{Pixels, SsimWindow, ssim};

use crate::error::MeasureError;
use crate::known_answers::Known;
use crate::metrics::{PairMetric, psnr::Channels};
use crate::network::NoNetworks;
use crate::pair_protocol::PairRule;
use crate::pairs::PairMeasure;

const NAME: &str = "ssim";
/// The metric of this file.
pub const METRIC: PairMetric = PairMetric {
    name: NAME,
    open: |protocol, _| {
        protocol.metric(NAME)?;
        let rule = protocol.recipe().ssim.expect("the protocol has the table of the metric");
        Ok(Box::new(Ssim { window: rule.window.statistic() }))
    },
    known_answers,
};

/// `[ssim]`
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsimRule {
    /// Of which the value is the mean.
    pub channels: Channels,
    /// Over what means, variances and covariances are taken.
    pub window: Window,
}

/// A window.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// A square of so many pixels along an edge, with sample covariances.
    Uniform(usize),
    /// A Gaussian of this deviation in pixels, cut at 3.5 deviations, with plain covariances.
    Gaussian(f64),
}

impl Window {
    fn statistic(self) -> SsimWindow {
        match self {
            Self::Uniform(side) => SsimWindow::Uniform { side },
            Self::Gaussian(deviation) => SsimWindow::Gaussian { deviation },
        }
    }
}

impl PairRule for SsimRule {
    fn fault(&self) -> Option<String> {
        self.window.statistic().check().err().map(|error| error.to_string())
    }
}

struct Ssim {
    window: SsimWindow,
}

impl PairMeasure for Ssim {
    fn scores(&self, pairs: &[[Image; 2]]) -> Vec<Result<Option<f64>, String>> {
        let one = |[a, b]: &[Image; 2]| {
            let found = ssim(pixels(a), pixels(b), self.window);
            found.map(Some).map_err(|error| error.to_string())
        };
        pairs.par_iter().map(one).collect()
    }
}

fn pixels(image: &Image) -> Pixels<'_> {
    Pixels { width: image.width(), height: image.height(), rgb: image.rgb() }
}

/// Two flat pictures: variances are 0, and the means alone are compared.
fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    let table = "ssim = { channels = \"rgb\", window = { uniform = 3 } }";
    let found = known.pair(&METRIC, (table, &NoNetworks), 3, [&[50; 27], &[100; 27]])?;
    let c1 = 2.55_f64 * 2.55;
    known.answer(NAME, (2.0 * 50.0 * 100.0 + c1) / (50.0 * 50.0 + 100.0 * 100.0 + c1), found);
    Ok(())
}
