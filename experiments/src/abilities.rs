//! What each model can lend a method, known without opening it: a cell whose method needs more is refused when
//! the plan is made, not after hours in a worker.

use specimen_decode::{
    features::Staleness,
    method::{MethodConfig, Proposer, ScheduleConfig},
    methods::vvs::Trigger,
};

use crate::{
    error::PlanError,
    spec::{Cell, Spec},
};

/// The heads of one kind that a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// The kind: `eagle1` or `eagle3`.
    pub proposer: Proposer,
    /// Names that `weights` can have, the one meant where it is left out first; empty where the head has no name.
    pub weights: &'static [&'static str],
}

/// What one model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Its name in specs.
    pub model: &'static str,
    /// Its heads, one entry a kind.
    pub heads: &'static [Heads],
    /// Models that can draft for it.
    pub draft_models: &'static [&'static str],
    /// Whether tokens have neighbours (LANTERN).
    pub neighbours: bool,
    /// Whether there is a VQ codebook (path similarity of VVS).
    pub codebook: bool,
    /// Whether there are input embeddings (distance filter of GSD).
    pub embeddings: bool,
    /// Whether tokens can be taken without a forward, and heads continue from older features (VVS).
    pub reuses_features: bool,
    /// Whether guidance can have a third row (Anole).
    pub three_way_guidance: bool,
}

impl Abilities {
    /// Its heads of this kind, if it has any.
    #[must_use]
    pub fn heads_of(&self, proposer: Proposer) -> Option<&'static Heads> {
        self.heads.iter().find(|heads| heads.proposer == proposer)
    }
}

/// One entry for each of [`MODELS`](crate::names::MODELS), in its order.
pub const ABILITIES: &[Abilities] = &[
    Abilities {
        model: "tiny",
        heads: &[
            Heads { proposer: Proposer::Eagle1, weights: &["standard", "further", "cascade"] },
            Heads { proposer: Proposer::Eagle3, weights: &["standard"] },
        ],
        draft_models: &[],
        neighbours: true,
        codebook: true,
        embeddings: true,
        reuses_features: true,
        three_way_guidance: false,
    },
    Abilities { model: "igpt-mnist", ..IGPT },
    Abilities { model: "igpt-fmnist", ..IGPT },
    Abilities { model: "llamagen-c2i-b-256", heads: &[], reuses_features: false, ..VQ },
    Abilities { model: "llamagen-c2i-b-384", heads: &[], reuses_features: false, ..VQ },
    Abilities { model: "llamagen-c2i-l-256", heads: &[], reuses_features: false, ..VQ },
    Abilities { model: "llamagen-c2i-l-384", heads: &[], reuses_features: false, ..VQ },
    Abilities { model: "llamagen-c2i-xl-384", heads: &[], reuses_features: false, ..VQ },
    Abilities { model: "llamagen-t2i-xl-256", ..VQ },
    Abilities {
        model: "llamagen-t2i-xl-512",
        heads: &[
            Heads { proposer: Proposer::Eagle1, weights: &["standard", "cascade"] },
            Heads { proposer: Proposer::Eagle3, weights: &["standard"] },
        ],
        ..VQ
    },
    Abilities { model: "llamagen-toy", heads: EAGLE_1_AND_3, ..VQ },
    Abilities { model: "llamagen-c2i-toy", heads: EAGLE_1_AND_3, ..VQ },
    Abilities { model: "janus-pro-1b", ..VQ },
    Abilities { model: "janus-pro-7b", ..VQ },
    Abilities { model: "janus-toy", ..VQ },
    Abilities {
        model: "stub",
        heads: EAGLE_1_AND_3,
        draft_models: &[],
        neighbours: true,
        codebook: true,
        embeddings: true,
        reuses_features: true,
        three_way_guidance: false,
    },
    Abilities { model: "lumina-mgpt-7b-768", ..VQ },
    Abilities { model: "lumina-mgpt-7b-512", ..VQ },
    Abilities { model: "anole-7b", three_way_guidance: true, ..VQ },
    Abilities { model: "lumina-toy", ..VQ },
    Abilities { model: "anole-toy", three_way_guidance: true, ..VQ },
];

/// One head of each kind, without a name.
const EAGLE_1_AND_3: &[Heads] =
    &[Heads { proposer: Proposer::Eagle1, weights: &[] }, Heads { proposer: Proposer::Eagle3, weights: &[] }];

/// A codebook, and one EAGLE-1 head without a name.
const VQ: Abilities = Abilities {
    model: "",
    heads: &[Heads { proposer: Proposer::Eagle1, weights: &[] }],
    draft_models: &[],
    neighbours: true,
    codebook: true,
    embeddings: true,
    reuses_features: true,
    three_way_guidance: false,
};

/// Tokens are grey levels: near and far mean something between them, angles do not.
const IGPT: Abilities = Abilities {
    model: "",
    heads: &[],
    draft_models: &["igpt-mnist", "igpt-fmnist"],
    neighbours: true,
    codebook: false,
    embeddings: true,
    reuses_features: false,
    three_way_guidance: false,
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
    let abilities = ABILITIES.iter().find(|abilities| abilities.model == cell.model.name)?;
    let (method, needs) = (&cell.method, cell.method.needs());
    let has = |has: fn(&Abilities) -> bool| {
        let able = ABILITIES.iter().filter(|abilities| has(abilities)).map(|abilities| abilities.model);
        match able.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "no model here has any".to_owned(),
            able => format!("use one that has: {able}"),
        }
    };
    match method.drafter.proposer {
        Proposer::None | Proposer::Jacobi => {}
        Proposer::Model => {
            let drafter = method.drafter.model.as_deref().unwrap_or_default();
            if !abilities.draft_models.contains(&drafter) {
                let remedy = match abilities.draft_models {
                    [] => "draft with one of its heads, or with `jacobi`".to_owned(),
                    known => format!("draft with one of: {}", known.join(", ")),
                };
                return Some(("a way to draft with that model".to_owned(), remedy));
            }
        }
        Proposer::Eagle1 => {
            let able = has(|model| model.heads_of(Proposer::Eagle1).is_some());
            if let lacking @ Some(_) = lacking_head(abilities, cell, "an EAGLE-1 head", able) {
                return lacking;
            }
        }
        Proposer::Eagle3 => {
            let able = has(|model| model.heads_of(Proposer::Eagle3).is_some());
            if let lacking @ Some(_) = lacking_head(abilities, cell, "an EAGLE-3 head", able) {
                return lacking;
            }
        }
    }
    if needs.n_nearest.is_some() && !abilities.neighbours {
        return Some(("neighbours of tokens".to_owned(), has(|model| model.neighbours)));
    }
    if needs.codebook && !abilities.codebook {
        return Some(("the vectors of a codebook".to_owned(), has(|model| model.codebook)));
    }
    if needs.embeddings && !abilities.embeddings {
        return Some(("embeddings of tokens".to_owned(), has(|model| model.embeddings)));
    }
    if cell.model.three_way_guidance && !abilities.three_way_guidance {
        return Some(("a third row of guidance".to_owned(), has(|model| model.three_way_guidance)));
    }
    if reuses_features(method) && !abilities.reuses_features {
        let what = "a head that continues from older features".to_owned();
        return Some((what, has(|model| model.reuses_features)));
    }
    None
}

/// What is missing if the drafter of `cell` is the head `what` of its model; `able` names models that have one.
fn lacking_head(abilities: &Abilities, cell: &Cell, what: &str, able: String) -> Option<(String, String)> {
    let drafter = &cell.method.drafter;
    let Some(heads) = abilities.heads_of(drafter.proposer) else { return Some((what.to_owned(), able)) };
    let asked = drafter.weights.as_deref()?;
    if heads.weights.contains(&asked) {
        return None;
    }
    let remedy = match heads.weights {
        [] => "its head has no name: leave `weights` out".to_owned(),
        known => format!("set `weights` to one of: {}", known.join(", ")),
    };
    Some((format!("{what} named `{asked}`"), remedy))
}

/// Whether `method` takes tokens without a forward, or feeds a head other features than the fresh ones.
#[must_use]
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
    use crate::{names::MODELS, parse::SpecText, plan::Plan, prompts};

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

    /// The remedy that names all models with an ability.
    fn able(has: fn(&Abilities) -> bool) -> String {
        let able = ABILITIES.iter().filter(|abilities| has(abilities)).map(|abilities| abilities.model);
        format!("use one that has: {}", able.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn every_model_that_a_spec_can_name_says_what_it_can() {
        let known: Vec<&str> = ABILITIES.iter().map(|abilities| abilities.model).collect();
        assert_eq!(known, MODELS);
    }

    #[test]
    fn a_cell_that_needs_what_its_model_has_not_is_refused_with_the_models_that_have_it() {
        let chain = r#"shape = "chain", depth = 2"#;
        let cell = format!(r#"drafter = {{ proposer = "eagle1", {chain} }}"#);
        let with_heads = able(|model| model.heads_of(Proposer::Eagle1).is_some());
        assert!(with_heads.starts_with("use one that has: tiny, ") && with_heads.ends_with(", anole-toy"));
        check_refused("igpt-mnist", &cell, "an EAGLE-1 head", &with_heads);
        let cell = format!(r#"drafter = {{ proposer = "model", model = "tiny", {chain} }}"#);
        let what = "a way to draft with that model";
        check_refused("igpt-mnist", &cell, what, "draft with one of: igpt-mnist, igpt-fmnist");
        check_refused("tiny", &cell, what, "draft with one of its heads, or with `jacobi`");
        let cell = format!(
            r#"drafter = {{ proposer = "model", model = "igpt-mnist", {chain} }}, schedule = {{ kind = "vvs", trigger = "similarity", s = 0.7 }}"#
        );
        check_refused("igpt-mnist", &cell, "the vectors of a codebook", &able(|model| model.codebook));
        let cell = format!(
            r#"drafter = {{ proposer = "model", model = "igpt-mnist", {chain} }}, schedule = {{ kind = "vvs", trigger = "interval", every = 2 }}"#
        );
        let what = "a head that continues from older features";
        check_refused("igpt-mnist", &cell, what, &able(|model| model.reuses_features));
        let cell = format!(r#"drafter = {{ proposer = "eagle3", {chain} }}"#);
        let with_heads = "use one that has: tiny, llamagen-t2i-xl-512, llamagen-toy, llamagen-c2i-toy, stub";
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
        ] {
            assert_eq!(plan(model, &cell).map(|_| ()), Ok(()), "{model}: {cell}");
        }
    }
}
