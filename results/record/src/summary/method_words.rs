//! A cell's method in words, for tables and figures.

use std::collections::BTreeMap;

use serde_json::Value;
use specimen_decode::method::{
    DrafterConfig, FrontierConfig, MethodConfig, Proposer, RuleConfig, ScheduleConfig, Shape, Tree,
};
use specimen_experiments::{names::BASELINE, spec::Cell};

use crate::Family;

fn head_words(proposer: &str, drafter: &DrafterConfig) -> String {
    drafter.weights.as_ref().map_or_else(|| proposer.to_owned(), |weights| format!("{proposer}/{weights}"))
}

/// Proposer and shape in words ("eagle1 static tiny_13"; "none"), or the frontier in their place.
pub(crate) fn drafter_words(method: &MethodConfig) -> String {
    if let Some(frontier) = method.frontier {
        return frontier.canonical();
    }
    let drafter = &method.drafter;
    let proposer = match drafter.proposer {
        Proposer::None => return "none".to_owned(),
        Proposer::Eagle1 => head_words("eagle1", drafter),
        Proposer::Eagle3 => head_words("eagle3", drafter),
        Proposer::Jacobi => drafter.jacobi.as_ref().map_or_else(String::new, |jacobi| jacobi.canonical()),
        Proposer::Model => drafter.model.clone().unwrap_or_else(|| "model".to_owned()),
    };
    let shape = match &drafter.shape {
        None => String::new(),
        Some(Shape::Chain { depth }) => format!(" chain {depth}"),
        Some(Shape::Static { tree: Tree::Named(name) }) => format!(" static {name}"),
        Some(Shape::Static { tree: Tree::Listed(paths) }) => format!(" static {} nodes", paths.len()),
        Some(Shape::Dynamic { top_k, depth, total_token }) => {
            format!(" dynamic {top_k}/{depth}/{total_token}")
        }
    };
    format!("{proposer}{shape}")
}

/// Acceptance rules and a schedule that skips in words ("ar", "lossless", "gsd over lantern", "cascade + vvs"), or the program
/// that made the images.
pub(crate) fn method_words(cell: &Cell) -> String {
    if let Some(external) = &cell.external {
        return external.command_line();
    }
    if let Some(imported) = &cell.imported {
        return format!("imported by {}", imported.table);
    }
    if cell.is_autoregressive() {
        return BASELINE.to_owned();
    }
    match cell.method.frontier {
        Some(FrontierConfig::Zipar(_)) => return "none".to_owned(),
        Some(FrontierConfig::Pjd(_)) => return "sjd in each row".to_owned(),
        None => {}
    }
    let rules = serde_json::to_value(&cell.method.accept).unwrap_or_default();
    let kinds: Vec<&str> =
        rules.as_array().into_iter().flatten().filter_map(|rule| rule["kind"].as_str()).collect();
    let rules = if kinds.is_empty() { "lossless".to_owned() } else { kinds.join(" over ") };
    match &cell.method.schedule {
        ScheduleConfig::Always {} => rules,
        schedule => {
            let schedule = serde_json::to_value(schedule).unwrap_or_default();
            format!("{rules} + {}", schedule["kind"].as_str().unwrap_or_default())
        }
    }
}

/// The kind of a cell's method: by its frontier, then by its scheduler, then by its rules that relax, then by its drafter.
pub(crate) fn family(cell: &Cell) -> Family {
    if cell.is_of_another_program() {
        return Family::External;
    }
    if cell.method.frontier.is_some() {
        return Family::Rows;
    }
    if !matches!(cell.method.schedule, ScheduleConfig::Always {}) {
        return Family::Skipping;
    }
    let of_rule = |rule: &RuleConfig| match rule {
        RuleConfig::Lossless {} => None,
        RuleConfig::Gsd(_) => Some(Family::Grouped),
        RuleConfig::CoolSd(_) | RuleConfig::SjdSv(_) => None,
        RuleConfig::Lantern(_) | RuleConfig::LanternPlusPlus(_) => Some(Family::Lantern),
        RuleConfig::Cascade(_) => Some(Family::Cascade),
    };
    let of_drafter = || match (&cell.method.drafter.proposer, &cell.method.drafter.shape) {
        (Proposer::None, _) => Family::Plain,
        (Proposer::Jacobi, _) => Family::Jacobi,
        (_, Some(Shape::Static { .. })) => Family::StaticTree,
        (_, Some(Shape::Dynamic { .. })) => Family::DynamicTree,
        (_, Some(Shape::Chain { .. }) | None) => Family::Chain,
    };
    cell.method.accept.iter().filter_map(of_rule).max().unwrap_or_else(of_drafter)
}

/// Hyper-parameters by name: axis values, then those of the drafter, of the rules by their places, of a schedule that skips and
/// of the frontier.
pub(crate) fn params(cell: &Cell) -> BTreeMap<String, Value> {
    let mut params = cell.params.clone();
    if cell.is_of_another_program() {
        return params;
    }
    let MethodConfig { drafter, accept, schedule, frontier } = &cell.method;
    let mut parts = vec![("drafter".to_owned(), serde_json::to_value(drafter))];
    let rules = accept.iter().enumerate().filter(|(_, rule)| !matches!(rule, RuleConfig::Lossless {}));
    parts.extend(rules.map(|(at, rule)| (format!("accept.{at}"), serde_json::to_value(rule))));
    if !matches!(schedule, ScheduleConfig::Always {}) {
        parts.push(("schedule".to_owned(), serde_json::to_value(schedule)));
    }
    parts.push(("frontier".to_owned(), serde_json::to_value(frontier)));
    for (part, settings) in parts {
        if let Ok(Value::Object(settings)) = settings {
            params.extend(settings.into_iter().map(|(name, value)| (format!("{part}.{name}"), value)));
        }
    }
    params
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use specimen_experiments::{bundled::BUNDLED, parse::SpecText};

    /// The cells of the quickstart.
    fn cells() -> Vec<Cell> {
        let spec = BUNDLED.iter().find(|spec| spec.name == "quickstart").unwrap();
        SpecText::parse("quickstart.toml", spec.text).unwrap().resolve().unwrap().cells
    }

    #[test]
    fn a_schedule_that_skips_is_in_the_words_of_a_method() {
        let words: Vec<(String, String)> =
            cells().iter().map(|cell| (cell.name.clone(), method_words(cell))).collect();
        let of = |name: &str| words.iter().find(|(cell, _)| cell == name).unwrap().1.as_str();
        assert_eq!((of("ar"), of("sd-chain3"), of("vvs")), ("ar", "lossless", "lossless + vvs"));
    }

    #[test]
    fn what_defines_a_method_is_in_its_settings() {
        let all: BTreeMap<String, BTreeMap<String, Value>> =
            cells().iter().map(|cell| (cell.name.clone(), params(cell))).collect();
        assert_eq!(all["lantern"]["accept.0.kind"], "lantern");
        assert!(all["lantern"]["accept.0.delta"].is_number() && all["gsd"]["accept.0.group"].is_number());
        assert!(all["cascade"]["accept.0.tau_pos"].is_number());
        assert_eq!(all["vvs"]["schedule.kind"], "vvs");
        assert_eq!(all["vvs"]["drafter.proposer"], all["sd-chain3"]["drafter.proposer"]);
        // What always holds is no setting.
        assert!(all["sd-chain3"].keys().all(|name| name.starts_with("drafter.")), "{:?}", all["sd-chain3"]);
    }
}
