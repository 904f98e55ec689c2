//! All metrics of one protocol over one pass of the pictures: each is read once and goes through the network once, for
//! every layer that a metric asks for. Rows of both sides are in memory meanwhile.

use std::path::Path;

use specimen_foundation::fail;

use crate::error::MeasureError;
use crate::input::Input;
use crate::measurement::Measurement;
use crate::meter::Meter;
use crate::metrics::Sides;

/// What came of every metric of a protocol.
#[derive(Debug)]
pub struct All {
    /// The values, in the order of the protocol's tables.
    pub measured: Vec<Measurement>,
    /// Metrics without a value, by their names in commands, and why.
    pub failed: Vec<(&'static str, MeasureError)>,
}

/// Measures everything that the protocol has a table for: what is at `generated`, against what is at `real`
/// where a metric compares. A metric that fails, because a side is too small or holds statistics only, leaves the
/// others as they are.
pub fn all(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<All, MeasureError> {
    let recipe = meter.protocol().recipe();
    let metrics = recipe.metrics();
    let layer = recipe.network.layer.clone();
    let of_logits = recipe.is.as_ref().map(|is| is.layer.clone()).filter(|logits| *logits != layer);
    meter.check_sides(&[(real, None), (generated, None)])?;
    if metrics.iter().any(|metric| metric.compares()) {
        meter.hold(real, &[&layer])?;
    }
    let needs_features = metrics.iter().any(|metric| metric.name != "is") || of_logits.is_none();
    let layers: Vec<&str> =
        needs_features.then_some(layer.as_str()).into_iter().chain(of_logits.as_deref()).collect();
    if real != generated || layers != [layer.as_str()] {
        meter.hold(generated, &layers)?;
    }
    let mut all = All { measured: Vec::new(), failed: Vec::new() };
    for metric in metrics {
        let logits = of_logits.as_deref().filter(|_| metric.name == "is");
        let measured = logits_are_there(meter, generated, logits)
            .and_then(|()| (metric.run)(meter, &Sides::two(real, generated)));
        match measured {
            Ok(outcome) => all.measured.extend(outcome.values),
            Err(error) => all.failed.push((metric.name, error)),
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
            fail!(Usage: "{}: holds features of one layer, `is` takes those of `{layer}`; give the pictures",
                path.display())
        }
        _ => Ok(()),
    }
}
