//! Metrics that a run has and the spec it is continued with does not name: those that `score` and `import-scores` added, and
//! those that the spec named before. They stay, of all images.

use std::path::Path;

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::{plan::Plan, spec::MetricSpec};
use specimen_foundation::failure;
use specimen_record::{Manifest, RunDir, read_document};

use crate::{
    driver::events::DriverEvent,
    error::RunError,
    process::shell_word,
    protocol_scores,
    score::{Uncomputed, known},
};

/// Adds to `plan` the metrics of the run at `out` that it does not name, and returns these. A metric that gives a value of the
/// same name as one of the plan's is the plan's.
pub fn keep_metrics(out: &Path, plan: &mut Plan) -> Result<Vec<MetricSpec>, RunError> {
    if !out.join("manifest.json").exists() {
        return Ok(Vec::new());
    }
    let path = RunDir::open(out)?.manifest();
    let manifest: Manifest = read_document(&path)?;
    let metrics: Vec<MetricSpec> = serde_json::from_value(manifest.spec["metrics"].clone())
        .map_err(|e| failure!(Spec: "{}: `spec.metrics`: {e}", path.display()))?;
    let named: Vec<String> = plan.spec.metrics.iter().flat_map(MetricSpec::values).collect();
    let is_kept = |metric: &MetricSpec| !metric.values().iter().any(|value| named.contains(value));
    let kept: Vec<MetricSpec> = metrics.into_iter().filter(is_kept).collect();
    plan.spec.metrics.extend_from_slice(&kept);
    Ok(kept)
}

/// Those of `kept` that cannot be computed here. What happens to each is reported.
pub(super) fn uncomputed(
    kept: &[MetricSpec],
    out: &Path,
    data_root: Option<&DataRoot>,
    report: &dyn Fn(DriverEvent),
) -> Result<Vec<Uncomputed>, RunError> {
    let mut absent = Vec::new();
    for metric in kept {
        let name = metric.values().join(", ");
        let (is_here, what) = match protocol_scores::check_metric(metric, data_root) {
            Ok(()) if known(metric)?.needs.import() => {
                (true, "imported scores stay where they are of all images")
            }
            Ok(()) => (true, "it is computed again, over all images"),
            Err(why) => {
                let why = format!(
                    "not computed when the run was continued: {why}; {} computes it",
                    command(metric, out)
                );
                absent.push(Uncomputed { metric: metric.clone(), why });
                (
                    false,
                    "it cannot be computed here, so its values become empty, with the reason and the command",
                )
            }
        };
        let what = format!("{name} stays in the run, though the spec does not name it: {what}");
        report(DriverEvent::KeptMetric { what, is_here });
    }
    Ok(absent)
}

/// The command that adds `metric` to the run at `out`.
fn command(metric: &MetricSpec, out: &Path) -> String {
    let MetricSpec { name, min_n, protocol, real, weights, device } = metric;
    // `score` takes it of distances.
    let compares = known(metric).is_ok_and(|known| known.compares);
    let min_n = min_n.filter(|_| compares).map(|n| n.to_string());
    let options = [
        ("protocol", protocol.as_ref()),
        ("real", real.as_ref()),
        ("weights", weights.as_ref()),
        ("device", device.as_ref()),
        ("min-n", min_n.as_ref()),
    ];
    let options =
        options.iter().filter_map(|(name, value)| Some(format!(" --{name} {}", shell_word((*value)?))));
    format!(
        "`specimen score {} --metric {name}{}`",
        shell_word(&out.display().to_string()),
        options.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_only_options_that_score_takes() {
        let of = |name: &str| MetricSpec {
            min_n: Some(8),
            protocol: Some("mine.toml".to_owned()),
            ..MetricSpec::named(name)
        };
        let said = |name: &str| command(&of(name), Path::new("run"));
        assert_eq!(said("fid"), "`specimen score run --metric fid --protocol mine.toml --min-n 8`");
        assert_eq!(said("clip-score"), "`specimen score run --metric clip-score --protocol mine.toml`");
    }
}
