//! The examination of methods itself: exact ones pass and relaxed ones are found out, on the toy and on a
//! small network, and a rule that is broken on purpose does not slip through.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::path::Path;

use specimen_catalog::{Ability, entry};
use specimen_datasets::scenes::{Scene, VAL_SEED};
use specimen_decode::{
    clock::MonotonicClock,
    decoder::Method,
    dist::TokenId,
    drafter::Drafter,
    method::{MethodConfig, Needs},
    methods::sd::Lossless,
    rng::Uniforms,
    tree::{NodeId, TokenTree},
    verify::{AcceptanceRule, Level, Mass, Taken},
};
use specimen_experiments::{
    parse::SpecText,
    spec::{Dtype, ModelSpec},
};
use specimen_models::{heads::drafters::DrafterKind, seam::loaded_model::LoadedModel};
use specimen_runner::{
    images::{
        generate::{Request, generate},
        load::Models,
    },
    lossless::{
        Case, examine,
        subject::{ModelPrompt, Subject, Toy},
        verdict::{Claim, Examination, Examined, Verdict},
    },
};
use std::rc::Rc;

/// The cells of the spec of all methods.
fn all_methods() -> Vec<(String, MethodConfig)> {
    methods_of("methods_tiny.toml")
}

fn methods_of(spec: &str) -> Vec<(String, MethodConfig)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/ci").join(spec);
    let spec = SpecText::read(&path).unwrap().resolve().unwrap();
    spec.cells.into_iter().map(|cell| (cell.name, cell.method)).collect()
}

fn method(name: &str) -> MethodConfig {
    all_methods().into_iter().find(|(known, _)| known == name).unwrap().1
}

fn model(name: &str, graphs: Option<bool>) -> Rc<LoadedModel> {
    let spec = ModelSpec {
        name: name.to_owned(),
        dtype: Dtype::F32,
        device: "cpu".to_owned(),
        weights: None,
        three_way_guidance: false,
        graphs,
        batch: None,
        heads: std::collections::BTreeMap::new(),
        rehearsed: None,
    };
    Models::new(None).get(&spec).unwrap()
}

/// A network of random weights over 27 tokens: 16 of them, in milliseconds.
fn stub() -> ModelPrompt {
    stub_with(None)
}

/// The same; `Some(true)` runs its steps over buffers that stay where they are.
fn stub_with(graphs: Option<bool>) -> ModelPrompt {
    let sampling = specimen_experiments::spec::Sampling {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        guidance: 3.0,
        filter_order: specimen_experiments::spec::FilterOrder::TopKThenTopP,
        coupled: false,
    };
    ModelPrompt { model: model("stub", graphs), prompt: "a prompt".to_owned(), sampling, n_tokens: 12 }
}

fn examined(subject: &dyn Subject, cases: &[Case], n_images: u64) -> Examination {
    examine(subject, cases, n_images, &mut |_| {}).unwrap()
}

#[test]
fn every_exact_method_keeps_the_law_of_the_toy_and_every_relaxed_one_is_detected() {
    let methods = all_methods().into_iter().chain(methods_of("methods_toy.toml"));
    let cases: Vec<Case> = methods.map(|(name, method)| Case::new(&name, method)).collect();
    // As many as the command makes.
    let found = examined(&Toy::new(), &cases, 40_000);
    let table = found.methods.iter().map(|m| format!("{} {:?} {}\n", m.name, m.verdict, m.p_holm));
    assert!(found.passed, "{}", table.collect::<String>());
    let of = |claim| found.methods.iter().filter(|m| m.claim == claim).count();
    assert!(of(Claim::Exact) >= 19 && of(Claim::Relaxed) >= 23);
    assert!(found.methods.iter().all(|m| m.tests.len() == 1 && m.tests[0].what == "joint"));
}

/// Every cell of the suite on the stub and on a small network of each family, those with structural tokens included.
#[test]
fn the_first_token_and_what_steps_emit_are_the_tokens_of_the_image() {
    let methods: Vec<_> = all_methods().into_iter().chain(methods_of("methods_toy.toml")).collect();
    let toys = entry::targets().map(|(model, _)| model.name.as_str());
    let toys: Vec<&str> = toys.filter(|name| name.ends_with("-toy")).chain(["stub"]).collect();
    let mut n_images = 0;
    for name in &toys {
        let model = model(name, None);
        let sampling = stub().sampling;
        let prompt = if name.contains("c2i") { "7" } else { "a red bus" };
        for (cell, method) in &methods {
            let request = Request { model: &model, method, sampling, prompt, seed: 5 };
            let decoded = match generate(&request, &MonotonicClock::new()) {
                Ok(generated) => generated.decoded,
                Err(error) => {
                    let why = error.to_string();
                    assert!(why.contains("has no drafter"), "{name}, {cell}: {why}");
                    continue;
                }
            };
            n_images += 1;
            let (last, before) = decoded.steps.split_last().unwrap();
            let n_before = 1 + before.iter().map(|step| step.n_emitted as usize).sum::<usize>();
            // A last step whose drafts fill the image counts its bonus token although it is not drawn.
            let n_left = decoded.tokens.len() - n_before;
            let is_filled =
                method.frontier.is_none() && last.n_target_forwards > 0 && last.n_accepted as usize == n_left;
            let expected = n_left + usize::from(is_filled);
            assert_eq!(
                last.n_emitted as usize,
                expected,
                "{name}, {cell}: of {} tokens",
                decoded.tokens.len()
            );
        }
    }
    assert!(toys.len() >= 8 && n_images >= 200, "{n_images} images of {toys:?}");
}

/// Rows side by side, over the first rows of an image: the last one is cut where the test ends.
#[test]
fn rows_side_by_side_are_detected_on_a_network_and_rows_in_turn_are_not() {
    let case = |name: &str, frontier: &str| {
        Case::new(name, serde_json::from_str(&format!(r#"{{ "frontier": {frontier} }}"#)).unwrap())
    };
    let cases = [
        case("zipar", r#"{ "kind": "zipar", "window": 1 }"#),
        case("pjd", r#"{ "kind": "pjd", "window": 4, "c": 1 }"#),
        case("zipar in turn", r#"{ "kind": "zipar", "window": 99 }"#),
        case("pjd in turn", r#"{ "kind": "pjd", "window": 4, "c": 99 }"#),
    ];
    for n_tokens in [10, 16] {
        let found = examined(&ModelPrompt { n_tokens, ..stub() }, &cases, 300);
        let of = |verdict| found.with_verdict(verdict);
        assert_eq!(of(Verdict::Detected), ["zipar", "pjd"], "{n_tokens} tokens: {found:?}");
        assert_eq!(of(Verdict::Unnoticed), ["zipar in turn", "pjd in turn"], "{n_tokens} tokens: {found:?}");
    }
}

#[test]
fn exact_methods_keep_the_law_of_a_network_and_its_tests_are_four() {
    let cases = ["ar", "sd-chain", "eagle1-static", "eagle2-dynamic", "sjd-random", "stale-features"];
    let cases: Vec<Case> = cases.iter().map(|name| Case::new(name, method(name))).collect();
    let over_buffers = examined(&stub_with(Some(true)), &cases, 80);
    assert!(over_buffers.passed, "{over_buffers:?}");
    let found = examined(&stub(), &cases, 80);
    assert!(found.passed, "{found:?}");
    let tests: Vec<&str> = found.methods[0].tests.iter().map(|test| test.what).collect();
    assert_eq!(tests, ["marginals", "pairs", "ranks", "surprise"]);
    assert_eq!(found.methods[0].tests[0].p_by_position.len(), 12);
    assert!(found.detectable_tv.is_some_and(|tv| tv < 0.12), "{:?}", found.detectable_tv);
}

/// Grants a candidate a tenth more than the target gives it.
struct TenthTooMuch;

/// Takes any candidate.
struct TakesAny;

impl AcceptanceRule for TenthTooMuch {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let mass = Lossless.mass(level, candidate);
        Mass { target: mass.target + 0.1, ..mass }
    }
}

impl AcceptanceRule for TakesAny {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let mass = Lossless.mass(level, candidate);
        Mass { target: mass.draft, ..mass }
    }
}

/// Draws the correction after a rejection from the target's distribution as if nothing had been rejected.
struct DropsTheResidual;

/// Leaves a rejected sibling in the distribution that the next one is tested against.
struct KeepsTheRejected;

impl AcceptanceRule for DropsTheResidual {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        Lossless.mass(level, candidate)
    }

    fn taken(&mut self, level: &Level<'_>, _: NodeId) -> Taken {
        Taken { mass: Some(vec![0.0; level.q.len()]), ..Taken::plain() }
    }
}

impl AcceptanceRule for KeepsTheRejected {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        Lossless.mass(level, candidate)
    }

    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        let mut mass = level.row(candidate, |_, d| d);
        mass[level.tree[candidate].token.idx()] = 0.0;
        Taken { mass: Some(mass), ..Taken::plain() }
    }
}

/// Draws every candidate with the same number, as from a generator that is seeded again before each draw.
struct SeedsAgain(Box<dyn Drafter>);

impl Drafter for SeedsAgain {
    fn begin_image(&mut self, n_tokens: usize, n_vocab: usize, n_codes: usize) {
        self.0.begin_image(n_tokens, n_vocab, n_codes);
    }

    fn draft(&mut self, tokens: &[TokenId], room: usize, _: u32, _: &Uniforms) -> TokenTree {
        self.0.draft(tokens, room, 0, &Uniforms::new(0))
    }

    fn n_forwards(&self) -> u32 {
        self.0.n_forwards()
    }
}

fn broken(name: &str, change: fn(Method) -> Method) -> Case {
    Case { change: Some(change), ..Case::new(name, method("eagle1-static")) }
}

/// Every fault there is, with the test that finds it on a network; none where it moves too little there and
/// only the toy, whose joint distribution is counted whole, shows it.
fn faults() -> Vec<(Case, Option<&'static str>)> {
    let chain = r#"{ "drafter": { "proposer": "eagle1", "shape": "chain", "depth": 1 } }"#;
    let seeded = Case::new("seeds again", serde_json::from_str(chain).unwrap());
    let seeds_again = |method: Method| Method { drafter: Box::new(SeedsAgain(method.drafter)), ..method };
    vec![
        (broken("a tenth too much", |m| Method { rule: Box::new(TenthTooMuch), ..m }), Some("ranks")),
        (broken("takes any", |m| Method { rule: Box::new(TakesAny), ..m }), Some("ranks")),
        (
            broken("drops the residual", |m| Method { rule: Box::new(DropsTheResidual), ..m }),
            Some("marginals"),
        ),
        (broken("keeps the rejected", |m| Method { rule: Box::new(KeepsTheRejected), ..m }), None),
        (Case { change: Some(seeds_again), ..seeded }, Some("marginals")),
    ]
}

#[track_caller]
fn check_caught(
    subject: &dyn Subject,
    n_images: u64,
    faults: Vec<(Case, Option<&'static str>)>,
) -> Examination {
    let n_faults = faults.len();
    let mut cases = vec![Case::new("sound", method("eagle1-static"))];
    cases.extend(faults.into_iter().map(|(case, _)| case));
    let found = examined(subject, &cases, n_images);
    let reported = |m: &Examined| {
        let tests = m.tests.iter().map(|test| format!("{} {:.1e}", test.what, test.p));
        format!("{}: {:?} ({})\n", m.name, m.verdict, tests.collect::<Vec<_>>().join(", "))
    };
    let table: String = found.methods.iter().map(reported).collect();
    assert_eq!(found.with_verdict(Verdict::Kept), ["sound"], "{table}");
    assert_eq!(found.with_verdict(Verdict::Broken).len(), n_faults, "{table}");
    assert!(!found.passed);
    found
}

#[test]
fn a_method_that_is_broken_on_purpose_is_caught_on_the_toy() {
    check_caught(&Toy::new(), 6_000, faults());
}

#[test]
fn a_method_that_is_broken_on_purpose_is_caught_on_a_network_by_the_test_for_its_fault() {
    let visible = || faults().into_iter().filter(|(_, what)| what.is_some());
    let found = check_caught(&stub(), 150, visible().collect());
    for (case, what) in visible() {
        let method = found.methods.iter().find(|m| m.name == case.name).unwrap();
        let test = method.tests.iter().find(|test| Some(test.what) == what).unwrap();
        assert!(test.p < 1e-5, "{}: {:?}", case.name, method.tests);
    }
}

#[test]
fn a_relaxed_method_that_does_nothing_is_told_as_unnoticed() {
    let text = r#"{ "drafter": { "proposer": "eagle1", "shape": "chain", "depth": 3 },
                    "accept": [{ "kind": "lantern++", "k": 4, "lambda": 1.0 }] }"#;
    let found = examined(&Toy::new(), &[Case::new("idle", serde_json::from_str(text).unwrap())], 2_000);
    assert_eq!(found.with_verdict(Verdict::Unnoticed), ["idle"]);
    assert!(!found.passed);
}

#[test]
fn models_have_what_the_catalog_says() {
    for name in ["tiny", "stub"] {
        let (model, (_, target)) = (model(name, None), entry::target(name).unwrap());
        let all = Needs { draft_model: false, n_nearest: Some(1), codebook: true, embeddings: true };
        let tables = model.tables.parts(&all);
        let found = [tables.neighbours.is_some(), tables.codebook.is_some(), tables.embeddings.is_some()];
        let said = [Ability::Neighbours, Ability::Codebook, Ability::Embeddings].map(|a| target.gives(a));
        assert_eq!(found, said, "{name}");
    }
}

#[test]
fn models_have_the_heads_that_the_catalog_names_and_no_others() {
    let sampling = specimen_experiments::spec::Sampling {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        guidance: 3.0,
        filter_order: specimen_experiments::spec::FilterOrder::TopKThenTopP,
        coupled: false,
    };
    type Kind = fn(Option<String>) -> DrafterKind;
    let kinds: [(&str, Kind); 2] = [("eagle1", DrafterKind::Eagle1), ("eagle3", DrafterKind::Eagle3)];
    for name in ["tiny", "stub"] {
        let model = model(name, None);
        let generation = model.open(&Scene::new(VAL_SEED, 0).caption(), &sampling, 1).unwrap();
        let opened = |kind: DrafterKind| model.drafter(&kind, &generation, 1).map(|_| ());
        for (proposer, kind) in kinds {
            let names = entry(name).unwrap().head_names(proposer).unwrap();
            for weights in std::iter::once(None).chain(names.iter().map(|name| Some((*name).to_owned()))) {
                assert!(opened(kind(weights.clone())).is_ok(), "{name}: {proposer} {weights:?}");
            }
            let message = opened(kind(Some("no such head".to_owned()))).unwrap_err().to_string();
            let named = names.iter().map(|name| match *name {
                "standard" => proposer.to_owned(),
                name => format!("{proposer} with weights {name}"),
            });
            let named: Vec<String> = named.collect();
            assert!(message.contains(&named.join(", ")), "{message}");
        }
    }
}
