//! What each model can lend a method, as the catalog has it: a cell whose method needs more is refused when the plan is
//! made, not after hours in a worker.

use specimen_catalog::{Ability, Entry, Target, entry};
use specimen_decode::{
    features::Staleness,
    method::{MethodConfig, Proposer, ScheduleConfig},
    methods::vvs::Trigger,
};

use crate::{
    error::PlanError,
    spec::{Cell, Spec},
};

/// Refuses the first cell whose method needs what its model does not have.
pub(crate) fn check(spec: &Spec) -> Result<(), PlanError> {
    spec.cells.iter().try_for_each(|cell| match lacking(cell) {
        None => Ok(()),
        Some((what, remedy)) => {
            Err(PlanError::Lacking { cell: cell.name.clone(), model: cell.model.name.clone(), what, remedy })
        }
    })
}

/// What the model of `cell` lacks for its method, and what to do about it. A model that is not known here is
/// left to whoever opens it.
fn lacking(cell: &Cell) -> Option<(String, String)> {
    let (model, target) = entry::target(&cell.model.name)?;
    let (method, needs) = (&cell.method, cell.method.needs());
    let ability = |needed: bool, ability: Ability, what: &str| {
        (needed && !target.gives(ability)).then(|| (what.to_owned(), able(|_, target| target.gives(ability))))
    };
    let drafter = match method.drafter.proposer {
        Proposer::None | Proposer::Jacobi => None,
        Proposer::Model => lacking_draft_model(target, cell),
        Proposer::Eagle1 => lacking_head(model, cell, "eagle1", "an EAGLE-1 head"),
        Proposer::Eagle3 => lacking_head(model, cell, "eagle3", "an EAGLE-3 head"),
    };
    drafter
        .or_else(|| ability(needs.n_nearest.is_some(), Ability::Neighbours, "neighbours of tokens"))
        .or_else(|| ability(needs.codebook, Ability::Codebook, "the vectors of a codebook"))
        .or_else(|| ability(needs.embeddings, Ability::Embeddings, "embeddings of tokens"))
        .or_else(|| {
            ability(cell.model.three_way_guidance, Ability::ThreeWayGuidance, "a third row of guidance")
        })
        .or_else(|| {
            let what = "a head that continues from older features";
            ability(reuses_features(method), Ability::FeatureReuse, what)
        })
}

/// Where to find what a model lacks: the models that have it.
fn able(has: impl Fn(&'static Entry, &'static Target) -> bool) -> String {
    let able = entry::targets().filter(|(entry, target)| has(entry, target));
    match able.map(|(entry, _)| entry.name.as_str()).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "no model here has any".to_owned(),
        able => format!("use one that has: {able}"),
    }
}

fn lacking_draft_model(target: &Target, cell: &Cell) -> Option<(String, String)> {
    let drafter = cell.method.drafter.model.as_deref().unwrap_or_default();
    if target.draft_models.iter().any(|known| known == drafter) {
        return None;
    }
    let remedy = match target.draft_models.as_slice() {
        [] => "draft with one of its heads, or with `jacobi`".to_owned(),
        known => format!("draft with one of: {}", known.join(", ")),
    };
    Some(("a way to draft with that model".to_owned(), remedy))
}

/// What is missing if the drafter of `cell` is a head of the kind `proposer`, in words `what`.
fn lacking_head(model: &'static Entry, cell: &Cell, proposer: &str, what: &str) -> Option<(String, String)> {
    if cell.method.drafter.weights.is_none() && cell.model.heads.contains_key(proposer) {
        return None;
    }
    let Some(names) = model.head_names(proposer) else {
        return Some((what.to_owned(), able(|entry, _| entry.head_names(proposer).is_some())));
    };
    let asked = cell.method.drafter.weights.as_deref()?;
    if names.contains(&asked) {
        return None;
    }
    let remedy = match names.as_slice() {
        [] => "its head has no name: leave `weights` out".to_owned(),
        known => format!("set `weights` to one of: {}", known.join(", ")),
    };
    Some((format!("{what} named `{asked}`"), remedy))
}

/// Whether `method` takes tokens without a forward, or feeds a head other features than the fresh ones.
pub fn reuses_features(method: &MethodConfig) -> bool {
    let skips = match &method.schedule {
        ScheduleConfig::Vvs(vvs) => vvs.trigger != Trigger::Never,
        ScheduleConfig::Always {} | ScheduleConfig::Redundancy(_) => false,
    };
    let is_stale = method
        .drafter
        .features
        .as_ref()
        .is_some_and(|features| [features.s1, features.s2].iter().any(|&s| s != Staleness::Fresh));
    skips || is_stale
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::{parse::SpecText, plan::Plan, prompts};

    const SPEC: &str = r#"
schema = 1
name = "t"
seed = 1
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 1.0 }
timing = { warmup = 0, blocks = 1 }
cell = [
  { name = "ar" },
"#;

    fn plan(model: &str, cell: &str) -> Result<Plan, PlanError> {
        let dataset = if model.starts_with("igpt") { "unconditional" } else { "scenes-val" };
        let text = format!(
            "dataset = {{ name = \"{dataset}\", limit = 2 }}\nmodel = {{ name = \"{model}\", dtype = \"f32\" }}\n{SPEC}\
             {{ name = \"m\", {cell} }},\n]\n"
        );
        let spec = SpecText::parse("t.toml", &text).unwrap().resolve().unwrap();
        let prompts = prompts::open(&spec.dataset, None).unwrap();
        Plan::new(spec, &prompts)
    }

    #[track_caller]
    fn check_refused(model: &str, cell: &str, what: &str, remedy: &str) {
        let message = plan(model, cell).unwrap_err().to_string();
        let expected =
            format!("cell `m`: its method needs {what}, which model `{model}` does not have; {remedy}");
        assert_eq!(message, expected);
    }

    #[test]
    fn a_cell_that_needs_what_its_model_has_not_is_refused_with_the_models_that_have_it() {
        let chain = r#"shape = "chain", depth = 2"#;
        let cell = format!(r#"drafter = {{ proposer = "eagle1", {chain} }}"#);
        let with_heads = able(|model, _| model.head_names("eagle1").is_some());
        assert!(with_heads.starts_with("use one that has: anole-7b, ") && with_heads.ends_with(", tiny"));
        check_refused("igpt-mnist", &cell, "an EAGLE-1 head", &with_heads);
        let cell = format!(r#"drafter = {{ proposer = "model", model = "tiny", {chain} }}"#);
        let what = "a way to draft with that model";
        check_refused("igpt-mnist", &cell, what, "draft with one of: igpt-mnist, igpt-fmnist");
        check_refused("tiny", &cell, what, "draft with one of its heads, or with `jacobi`");
        let cell = format!(
            r#"drafter = {{ proposer = "model", model = "igpt-mnist", {chain} }}, schedule = {{ kind = "vvs", trigger = "similarity", s = 0.7 }}"#
        );
        check_refused(
            "igpt-mnist",
            &cell,
            "the vectors of a codebook",
            &able(|_, model| model.gives(Ability::Codebook)),
        );
        let cell = format!(
            r#"drafter = {{ proposer = "model", model = "igpt-mnist", {chain} }}, schedule = {{ kind = "vvs", trigger = "interval", every = 2 }}"#
        );
        let what = "a head that continues from older features";
        check_refused("igpt-mnist", &cell, what, &able(|_, model| model.gives(Ability::FeatureReuse)));
        let cell = format!(r#"drafter = {{ proposer = "eagle3", {chain} }}"#);
        let with_heads = "use one that has: anole-7b, anole-toy, emu3-gen-8b, emu3-toy, janus-pro-1b, janus-pro-7b, janus-toy, liquid-7b, liquid-toy, llamagen-c2i-toy, llamagen-t2i-xl-256, llamagen-t2i-xl-512, \
                          llamagen-toy, lumina-mgpt-7b-512, lumina-mgpt-7b-768, lumina-toy, stub, tiny";
        check_refused("igpt-mnist", &cell, "an EAGLE-3 head", with_heads);
    }

    #[test]
    fn a_third_row_of_guidance_is_refused_where_no_model_has_it() {
        let jacobi = r#"drafter = { proposer = "jacobi", window = 4, init = "random" }"#;
        let named = |model: &str| format!("{model}\", three_way_guidance = true, device = \"cpu");
        assert_eq!(plan(&named("anole-toy"), jacobi).map(|_| ()), Ok(()));
        let message = plan(&named("tiny"), jacobi).unwrap_err().to_string();
        assert!(
            message.ends_with(
                "its method needs a third row of guidance, which model `tiny` does not have; use one that has: \
                 anole-7b, anole-toy"
            ),
            "{message}"
        );
    }

    #[test]
    fn a_head_that_its_model_does_not_know_by_that_name_is_refused_with_those_it_knows() {
        let head = |proposer: &str, weights: &str| {
            format!(
                r#"drafter = {{ proposer = "{proposer}", weights = "{weights}", shape = "chain", depth = 2 }}"#
            )
        };
        let what = "an EAGLE-1 head named `cascad`";
        let remedy = "set `weights` to one of: standard, further, cascade";
        check_refused("tiny", &head("eagle1", "cascad"), what, remedy);
        let what = "an EAGLE-3 head named `cascade`";
        check_refused("tiny", &head("eagle3", "cascade"), what, "set `weights` to one of: standard");
        let what = "an EAGLE-1 head named `standard`";
        check_refused("stub", &head("eagle1", "standard"), what, "its head has no name: leave `weights` out");
        for (model, cell) in [("tiny", head("eagle1", "cascade")), ("tiny", head("eagle3", "standard"))] {
            assert_eq!(plan(model, &cell).map(|_| ()), Ok(()), "{model}: {cell}");
        }
    }

    #[test]
    fn what_models_have_is_planned() {
        let jacobi = r#"drafter = { proposer = "jacobi", window = 4, init = "random" }"#;
        let eagle = r#"drafter = { proposer = "eagle1", shape = "static", tree = "tiny_13" }"#;
        let lantern = r#"accept = [{ kind = "lantern", k = 10, delta = 0.1 }, { kind = "lossless" }]"#;
        let gsd = r#"accept = [{ kind = "gsd", group = 5, delta_p = 0.15, d_thr = 0.5 }]"#;
        for (model, cell) in [
            ("igpt-mnist", jacobi.to_owned()),
            ("igpt-mnist", format!("{jacobi}, {lantern}")),
            ("igpt-mnist", format!("{jacobi}, {gsd}")),
            ("tiny", format!("{eagle}, {lantern}")),
            ("stub", format!("{eagle}, {gsd}")),
            ("lumina-toy", format!("{eagle}, {lantern}")),
            ("anole-7b", format!("{eagle}, {gsd}")),
            ("emu3-gen-8b", format!("{eagle}, {lantern}")),
            ("liquid-7b", format!("{jacobi}, {gsd}")),
        ] {
            assert_eq!(plan(model, &cell).map(|_| ()), Ok(()), "{model}: {cell}");
        }
    }
}
