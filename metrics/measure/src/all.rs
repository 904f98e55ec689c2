//! All metrics of one protocol over one pass of the pictures: each is read once and goes through the network once, for
//! every layer that a metric asks for. Rows of both sides are in memory meanwhile.

use std::path::Path;

use crate::cmmd::cmmd;
use crate::error::MeasureError;
use crate::fid::fid;
use crate::inception_score::inception_score;
use crate::input::Input;
use crate::kid::kid;
use crate::measurement::Measurement;
use crate::meter::Meter;
use crate::prdc::prdc;
use crate::vendi::vendi;

/// Metrics that compare two sets.
const COMPARING: [&str; 4] = ["fid", "kid", "prdc", "cmmd"];

/// What came of every metric of a protocol.
#[derive(Debug)]
pub struct All {
    /// The values, in the order of the protocol's tables.
    pub measured: Vec<Measurement>,
    /// Metrics without a value, by their names in commands, and why.
    pub failed: Vec<(&'static str, MeasureError)>,
}

/// Measures everything that the protocol has a table for: what lies at `generated`, against what lies at `real`
/// where a metric compares. A metric that fails, because a side is too small or holds statistics only, leaves the
/// others as they are.
///
/// # Errors
/// A side or the network that cannot be opened or read; no metric with a value.
pub fn all(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<All, MeasureError> {
    let recipe = meter.protocol().recipe();
    let metrics = recipe.metrics();
    let layer = recipe.network.layer.clone();
    let of_logits = recipe.is.as_ref().map(|is| is.layer.clone()).filter(|logits| *logits != layer);
    meter.check_sides(&[(real, None), (generated, None)])?;
    if metrics.iter().any(|metric| COMPARING.contains(metric)) {
        meter.hold(real, &[&layer])?;
    }
    let needs_features = metrics.iter().any(|metric| *metric != "is") || of_logits.is_none();
    let layers: Vec<&str> =
        needs_features.then_some(layer.as_str()).into_iter().chain(of_logits.as_deref()).collect();
    if real != generated || layers != [layer.as_str()] {
        meter.hold(generated, &layers)?;
    }
    let mut all = All { measured: Vec::new(), failed: Vec::new() };
    for metric in metrics {
        let measured = match metric {
            "fid" => fid(meter, real, generated).map(|one| vec![one]),
            "kid" => kid(meter, real, generated).map(|one| vec![one]),
            "prdc" => prdc(meter, real, generated),
            "cmmd" => cmmd(meter, real, generated).map(|one| vec![one]),
            "vendi" => vendi(meter, generated).map(|one| vec![one]),
            "is" => logits_are_there(meter, generated, of_logits.as_deref())
                .and_then(|()| inception_score(meter, generated))
                .map(|one| vec![one]),
            other => Err(MeasureError::NeedsCaptions { metric: other.to_owned() }),
        };
        match measured {
            Ok(measured) => all.measured.extend(measured),
            Err(error) => all.failed.push((metric, error)),
        }
    }
    if all.measured.is_empty()
        && let Some((_, error)) = all.failed.pop()
    {
        return Err(error);
    }
    Ok(all)
}

/// Fails where features were given that other metrics take, which are no logits.
fn logits_are_there(meter: &Meter<'_>, path: &Path, logits: Option<&str>) -> Result<(), MeasureError> {
    match logits {
        Some(layer) if !meter.holds(path, layer) && !matches!(Input::open(path, true)?, Input::Images(_)) => {
            let (path, layer) = (path.to_path_buf(), layer.to_owned());
            Err(MeasureError::OtherLayer { path, metric: "is", layer })
        }
        _ => Ok(()),
    }
}
