//! What a spec may say about a method, and what it is told when it says something else.

use std::rc::Rc;

use specimen_decode::{
    method::{
        DRAFTER_KEYS, MethodConfig, Parts, RULE_KEYS, RULE_KINDS, RuleConfig, SCHEDULE_KEYS, Shape, Tree,
        rule_examples,
    },
    toy::ToyDraftModel,
    vectors::Neighbours,
};

use crate::support::{AR, CHAIN_3, DYNAMIC, JACOBI, JACOBI_ABOVE, MC_SIM, config, drafter};

fn read(text: &str) -> Result<MethodConfig, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    assert_eq!(read(text).unwrap_err(), expected);
}

#[track_caller]
fn check_canonical(text: &str, expected: &str) {
    assert_eq!(read(text).unwrap().canonical(), expected);
}

#[test]
fn an_empty_table_is_autoregressive_decoding() {
    assert_eq!(["", "accept = []"].map(|text| read(text).unwrap()), [MethodConfig::ar(), MethodConfig::ar()]);
    check_canonical("", "drafter=none accept=lossless schedule=always");
}

const VP: &str = r#"{ proposer = "jacobi", window = 4, init = "repeat-left", active = [1, 9],
    refresh = { kind = "vp-reconstruction", mode = "step", lambda = 20.0, law = "untilted" } }"#;

#[test]
fn every_shape_is_read() {
    let accept = "accept=lossless schedule=always";
    let cases = [
        (CHAIN_3.to_owned(), "eagle1/chain(depth=3)"),
        (MC_SIM.to_owned(), "eagle1/static(tree=mc_sim_7b_63)"),
        (
            r#"{ proposer = "eagle1", shape = "static", tree = [[0], [0, 0]] }"#.to_owned(),
            "eagle1/static(tree=[[0],[0,0]])",
        ),
        (DYNAMIC.replace("eagle1", "eagle3"), "eagle3/dynamic(top_k=3,depth=2,total_token=10)"),
        (
            CHAIN_3.replace("eagle1\"", "eagle1\", weights = \"cascade\""),
            "eagle1(weights=cascade)/chain(depth=3)",
        ),
        (CHAIN_3.replace("eagle1\"", "eagle1\", filter_top_k = 2"), "eagle1(filter_top_k=2)/chain(depth=3)"),
        (JACOBI.to_owned(), "jacobi(window=3,init=random)"),
        (JACOBI_ABOVE.to_owned(), "jacobi(window=3,init=repeat-above,width=2)"),
        (
            VP.replace('\n', " "),
            "jacobi(window=4,init=repeat-left,active=1..9,refresh=vp-reconstruction(mode=step,lambda=20,law=untilted,from=target))",
        ),
        (DYNAMIC.to_owned(), "eagle1/dynamic(top_k=3,depth=2,total_token=10)"),
        (
            CHAIN_3.replace("eagle1\"", "model\", model = \"igpt-fmnist\""),
            "model(igpt-fmnist)/chain(depth=3)",
        ),
    ];
    for (table, expected) in cases {
        let text = format!(
            "drafter = {table}\naccept = [{{ kind = \"lossless\" }}]\nschedule = {{ kind = \"always\" }}"
        );
        check_canonical(&text, &format!("drafter={expected} {accept}"));
    }
}

/// A list of rules and how it is written in one line.
const RULES: &[(&str, &str)] = &[
    (r#"{ kind = "lantern", k = 1000, delta = 0.1 }"#, "lantern(k=1000,delta=0.1,residual=paper)"),
    (
        r#"{ kind = "lantern++", k = 10, lambda = 5, residual = "vanilla" }"#,
        "lantern++(k=10,lambda=5,residual=vanilla)",
    ),
    (
        r#"{ kind = "cascade", tau_pos = 0.85, tau_seq = 0.5, tvd_budget = 0.5 }, { kind = "lossless" }"#,
        "cascade(tau_pos=0.85,tau_seq=0.5,tvd_budget=0.5)>lossless",
    ),
    (
        r#"{ kind = "cascade", tau_seq = 0.5, tvd_budget = 0.5, convergence_mass = "next_level",
             convergence_pairs = "all_next_level", dedupe = "strict", budget_scope = "image", charge = "if_used",
             residual = "zero_used", threshold = ">=" }, { kind = "lantern", k = 1, delta = 0, residual = "refcode" }"#,
        "cascade(tau_seq=0.5,tvd_budget=0.5,convergence_mass=next_level,convergence_pairs=all_next_level,\
         dedupe=strict,budget_scope=image,charge=if_used,residual=zero_used,threshold=>=)\
         >lantern(k=1,delta=0,residual=refcode)",
    ),
    (r#"{ kind = "gsd", group = 25, delta_p = 0.15, d_thr = 0.5 }"#, "gsd(group=25,delta_p=0.15,d_thr=0.5)"),
    (r#"{ kind = "gsd", group = 3, d_thr = 1, d_thr_max_id = 9 }"#, "gsd(group=3,d_thr=1,d_thr_max_id=9)"),
    (
        r#"{ kind = "cascade", tau_pos = 0.85, tvd_budget = 0.5 }, { kind = "gsd", group = 3 }, { kind = "lossless" }"#,
        "cascade(tau_pos=0.85,tvd_budget=0.5)>gsd(group=3)>lossless",
    ),
];

#[test]
fn every_rule_is_read_and_rules_nest_outermost_first() {
    for (accept, expected) in RULES {
        let accept = accept.replace('\n', " ");
        check_canonical(
            &format!("accept = [{accept}]"),
            &format!("drafter=none accept={expected} schedule=always"),
        );
        assert!(!read(&format!("accept = [{accept}]")).unwrap().is_lossless());
    }
}

/// A schedule and how it is written in one line.
const SCHEDULES: &[(&str, &str)] = &[
    (
        r#"{ kind = "vvs", trigger = "interval", every = 2 }"#,
        "vvs(trigger=interval,every=2,selector=random,truncation=true,warm_up=5)",
    ),
    (
        r#"{ kind = "vvs", trigger = "similarity", s = 0.7, selector = "confidence", truncation = false }"#,
        "vvs(trigger=similarity,s=0.7,alpha=0.9,selector=confidence,truncation=false,warm_up=5)",
    ),
    (
        r#"{ kind = "vvs", trigger = "never", warm_up = 0 }"#,
        "vvs(trigger=never,selector=random,truncation=true,warm_up=0)",
    ),
    (r#"{ kind = "redundancy", every = 3 }"#, "redundancy(every=3,resample=false)"),
    (r#"{ kind = "redundancy", every = 1, resample = true }"#, "redundancy(every=1,resample=true)"),
];

#[test]
fn every_schedule_is_read_and_its_keys_are_listed() {
    for (schedule, expected) in SCHEDULES {
        let text = format!("drafter = {CHAIN_3}\nschedule = {schedule}");
        check_canonical(&text, &format!("drafter=eagle1/chain(depth=3) accept=lossless schedule={expected}"));
        let config = read(&text).unwrap();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(config.is_lossless(), schedule.contains("never"), "{schedule}");
        assert_eq!(toml::from_str::<MethodConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!(serde_json::from_value::<MethodConfig>(json.clone()).unwrap(), config);
        for key in json["schedule"].as_object().unwrap().keys() {
            assert!(SCHEDULE_KEYS.contains(&key.as_str()), "{key}");
        }
    }
}

#[test]
fn a_schedule_that_cannot_be_is_refused() {
    check_error(
        r#"schedule = { kind = "vvs", trigger = "interval" }"#,
        "a vvs schedule with this trigger needs the key `every`",
    );
    check_error(
        r#"schedule = { kind = "vvs", trigger = "similarity" }"#,
        "a vvs schedule with this trigger needs the key `s`",
    );
    check_error(
        r#"schedule = { kind = "vvs", trigger = "interval", every = 2, s = 0.5 }"#,
        "a vvs schedule with this trigger has no key `s`; remove it",
    );
    let error = |drafter: &str, schedule: &str| {
        let config = read(&format!("drafter = {drafter}\nschedule = {schedule}")).unwrap();
        config.validate().unwrap_err().to_string()
    };
    assert_eq!(
        error(CHAIN_3, r#"{ kind = "vvs", trigger = "interval", every = 1 }"#),
        "schedule vvs has every = 1, expected at least 2"
    );
    assert_eq!(
        error(CHAIN_3, r#"{ kind = "vvs", trigger = "similarity", s = 0.7, alpha = 0 }"#),
        "schedule vvs has alpha = 0, expected above 0, at most 1"
    );
    assert_eq!(
        error(CHAIN_3, r#"{ kind = "redundancy", every = 0 }"#),
        "schedule redundancy has every = 0, expected at least 1"
    );
    assert_eq!(
        error(JACOBI, r#"{ kind = "vvs", trigger = "interval", every = 2 }"#),
        r#"a schedule other than always needs a drafter that grows a tree, proposer = "jacobi" does not"#
    );
    let similar = read(&format!("drafter = {CHAIN_3}\nschedule = {}", SCHEDULES[1].0)).unwrap();
    assert!(similar.needs().codebook);
    assert_eq!(
        similar.build(Some(Box::new(ToyDraftModel::new(drafter())))).err().unwrap().to_string(),
        "schedule vvs was built without the vectors of its codebook; the model must provide it"
    );
}

#[test]
fn a_method_asks_for_the_tables_it_reads_and_no_others() {
    let needs = |text: &str| {
        let needs = read(text).unwrap().needs();
        (needs.draft_model, needs.n_nearest, needs.codebook, needs.embeddings)
    };
    assert_eq!(needs(""), (false, None, false, false));
    assert_eq!(needs(&format!("drafter = {CHAIN_3}")), (true, None, false, false));
    let similar = format!("drafter = {CHAIN_3}\nschedule = {}", SCHEDULES[1].0);
    assert_eq!(needs(&similar), (true, None, true, false));
    let rules = |rules: &str| needs(&format!("accept = [{rules}]"));
    assert_eq!(rules(r#"{ kind = "gsd", group = 3 }"#), (false, None, false, false));
    assert_eq!(rules(r#"{ kind = "gsd", group = 3, d_thr = 0.5 }"#), (false, None, false, true));
    assert_eq!(rules(r#"{ kind = "lantern", k = 7, delta = 0.1 }"#), (false, Some(7), false, false));
    assert_eq!(rules(r#"{ kind = "lantern++", k = 7, lambda = 2 }"#), (false, Some(7), false, false));
    let reference = r#"{ kind = "lantern++", k = 7, lambda = 2, residual = "refcode" }"#;
    assert_eq!(rules(reference), (false, Some(8), false, false), "one more than it borrows from");
}

#[test]
fn a_draft_tree_is_bounded_before_it_is_drawn() {
    let dynamic = |top_k: usize, depth: usize, total_token: usize| {
        let shape = format!("top_k = {top_k}, depth = {depth}, total_token = {total_token}");
        let config =
            read(&format!(r#"drafter = {{ proposer = "eagle1", shape = "dynamic", {shape} }}"#)).unwrap();
        config.max_tree_nodes()
    };
    // The first level has `top_k` nodes, each of `depth` more at most `top_k` of `top_k`.
    assert_eq!(dynamic(2, 3, 60), 1 + 2 + 3 * 4);
    assert_eq!(dynamic(3, 2, 10), 10);
    assert_eq!(dynamic(3, 6, 4), 4);
    let of = |table: &str| config(table).max_tree_nodes();
    assert_eq!((of(AR), of(CHAIN_3), of(MC_SIM)), (1, 4, 26));
    let run = |table: &str| config(table).max_run_nodes();
    let beam = r#"{ proposer = "eagle1", shape = "dynamic", top_k = 6, depth = 4, total_token = 8 }"#;
    assert_eq!((run(AR), run(CHAIN_3), run(MC_SIM), run(beam)), (0, 3, 25, 24));
}

#[test]
fn stale_features_belong_to_an_eagle_head() {
    let table = CHAIN_3.replace(" }", ", features = { s1 = -1, s2 = 3 } }");
    assert_eq!(
        config(&table).drafter.features.clone().map(|features| (features.after, features.n_cache)),
        Some((32, 64))
    );
    check_canonical(
        &format!("drafter = {table}"),
        "drafter=eagle1/chain(depth=3)/features(s1=-1,s2=3,after=32,n_cache=64) accept=lossless schedule=always",
    );
    let json = serde_json::to_string(&config(&table)).unwrap();
    assert_eq!(serde_json::from_str::<MethodConfig>(&json).unwrap(), config(&table));
    check_error(
        &format!("drafter = {}", table.replace("eagle1\"", "model\", model = \"tiny\"")),
        r#"drafter with proposer = "model" has no key `features`; remove it"#,
    );
    check_error(
        &format!("drafter = {}", table.replace("-1", "-2")),
        "a staleness is -1 (fresh) or at least 0, not -2",
    );
}

#[test]
fn every_rule_and_every_key_of_a_rule_is_listed() {
    assert_eq!(rule_examples().len() + 1, RULE_KINDS.len());
    for accept in RULES.iter().map(|(accept, _)| *accept).chain(rule_examples()) {
        let rules = read(&format!("accept = [{}]", accept.replace('\n', " "))).unwrap().accept;
        for rule in &serde_json::to_value(rules).unwrap().as_array().unwrap()[..] {
            for key in rule.as_object().unwrap().keys() {
                assert!(RULE_KEYS.contains(&key.as_str()), "{key}");
            }
        }
    }
}

#[test]
fn options_at_their_defaults_are_not_written_down() {
    let text = r#"{ kind = "cascade", tau_pos = 0.5, tvd_budget = 0.5, dedupe = "alg2", charge = "always" }"#;
    let config = read(&format!("accept = [{text}]")).unwrap();
    let written = serde_json::to_value(&config.accept[0]).unwrap();
    let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["kind", "tau_pos", "tvd_budget"]);
}

#[test]
fn numbers_of_rules_outside_their_range_are_errors() {
    let error = |accept: &str| {
        let config = read(&format!("accept = [{accept}]")).unwrap();
        config.validate().unwrap_err().to_string()
    };
    assert_eq!(
        error(r#"{ kind = "lantern", k = 1, delta = 1.5 }"#),
        "accept rule lantern has delta = 1.5, expected 0 to 1"
    );
    assert_eq!(
        error(r#"{ kind = "lantern++", k = 1, lambda = 0.5 }"#),
        "accept rule lantern++ has lambda = 0.5, expected at least 1 and finite"
    );
    assert_eq!(
        error(r#"{ kind = "cascade", tvd_budget = 0.5 }"#),
        "accept rule cascade has neither `tau_pos` nor `tau_seq`; give at least one"
    );
    assert_eq!(
        error(r#"{ kind = "cascade", tau_pos = nan, tvd_budget = 0.5 }"#),
        "accept rule cascade has tau_pos = NaN, expected a cosine from -1, or up to 2, which none passes"
    );
    assert_eq!(
        error(r#"{ kind = "cascade", tau_seq = 7.0, tvd_budget = 0.5 }"#),
        "accept rule cascade has tau_seq = 7, expected a cosine from -1, or up to 2, which none passes"
    );
    assert_eq!(
        error(r#"{ kind = "cascade", tau_pos = 0.5, tvd_budget = -0.1 }"#),
        "accept rule cascade has tvd_budget = -0.1, expected 0 to 1"
    );
}

#[test]
fn gsd_stands_innermost_and_within_its_ranges() {
    let error = |accept: &str| {
        let config = read(&format!("accept = [{accept}]")).unwrap();
        config.validate().unwrap_err().to_string()
    };
    assert_eq!(
        error(r#"{ kind = "gsd", group = 3 }, { kind = "lantern", k = 1, delta = 0.1 }"#),
        "accept rule 0 is gsd, whose claim replaces that of rules inside it; only lossless may follow"
    );
    assert_eq!(error(r#"{ kind = "gsd", group = 0 }"#), "accept rule gsd has group = 0, expected at least 1");
    assert_eq!(
        error(r#"{ kind = "gsd", group = 3, delta_p = 0 }"#),
        "accept rule gsd has delta_p = 0, expected above 0, at most 1"
    );
    assert_eq!(
        error(r#"{ kind = "gsd", group = 3, d_thr = -1 }"#),
        "accept rule gsd has d_thr = -1, expected above 0 and finite"
    );
    assert_eq!(
        error(r#"{ kind = "gsd", group = 3, d_thr = 0 }"#),
        "accept rule gsd has d_thr = 0, expected above 0 and finite"
    );
    assert_eq!(
        error(r#"{ kind = "gsd", group = 3, d_thr_max_id = 10000 }"#),
        "accept rule gsd has d_thr_max_id = 10000, expected no such key without `d_thr`"
    );
    let config = read(r#"accept = [{ kind = "gsd", group = 3, d_thr = 0.5 }]"#).unwrap();
    assert!(config.needs().embeddings && config.needs().n_nearest.is_none());
    assert_eq!(
        config.build(None).err().unwrap().to_string(),
        "accept rule gsd was built without embeddings of the tokens; the model must provide it"
    );
}

#[test]
fn a_jacobi_window_has_its_own_keys() {
    check_error(
        r#"drafter = { proposer = "jacobi", init = "random" }"#,
        r#"drafter with proposer = "jacobi" needs the key `window`"#,
    );
    check_error(
        r#"drafter = { proposer = "jacobi", window = 3, init = "repeat-above" }"#,
        r#"drafter with init = "repeat-above" needs the key `width`"#,
    );
    check_error(
        r#"drafter = { proposer = "jacobi", window = 3, init = "random", width = 4 }"#,
        r#"drafter with proposer = "jacobi" has no key `width`; remove it"#,
    );
    check_error(
        r#"drafter = { proposer = "jacobi", window = 3, init = "random", shape = "chain", depth = 3 }"#,
        r#"drafter with proposer = "jacobi" has no key `shape`; remove it"#,
    );
    check_error(
        r#"drafter = { proposer = "eagle1", shape = "chain", depth = 3, window = 3 }"#,
        r#"drafter with shape = "chain" has no key `window`; remove it"#,
    );
    check_error(
        r#"drafter = { proposer = "jacobi", window = 1, init = "random" }"#,
        "drafter key `window` is 1, expected 2..=1024",
    );
    check_error(
        r#"drafter = { proposer = "jacobi", window = 3, init = "random", active = [5, 5] }"#,
        "drafter key `active` is [5, 5], expected a start below its end",
    );
    check_error(
        &format!("drafter = {}", VP.replace('\n', " ").replace("20.0", "-1.0")),
        "refresh vp-reconstruction has lambda = -1, expected 0 to 1000",
    );
}

#[test]
fn a_window_whose_draws_are_not_what_they_are_tested_against_is_not_lossless() {
    assert!(config(JACOBI).is_lossless());
    assert!(!config(VP).is_lossless());
    assert!(config(&VP.replace("untilted", "tilted")).is_lossless());
}

#[test]
fn a_table_of_neighbours_is_needed_in_full() {
    let config =
        read(r#"accept = [{ kind = "lantern", k = 3, delta = 0.1, residual = "refcode" }]"#).unwrap();
    assert_eq!(config.needs().n_nearest, Some(4));
    let build = |n_vocab: usize, n_nearest: usize| {
        let table = Neighbours::of_vectors(&crate::support::codebook(n_vocab), n_nearest);
        config.build_with(Parts { neighbours: Some(Rc::new(table)), ..Parts::default() })
    };
    assert_eq!(
        build(9, 3).err().unwrap().to_string(),
        "accept rule lantern needs 4 neighbours per token, the table lists 3"
    );
    assert!(build(9, 4).is_ok());
    assert!(build(3, 4).is_ok(), "two others are all there are");
    assert_eq!(
        config.build(None).err().unwrap().to_string(),
        "accept rule lantern was built without a table of neighbours; the model must provide it"
    );
}

#[test]
fn a_configuration_survives_toml_and_json() {
    for accept in RULES.iter().map(|(accept, _)| *accept).chain(rule_examples()) {
        let text = format!("accept = [{}]", accept.replace('\n', " "));
        let config = read(&text).unwrap();
        assert_eq!(toml::from_str::<MethodConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<MethodConfig>(&json).unwrap(), config);
    }
    for table in [AR, CHAIN_3, MC_SIM, DYNAMIC, crate::support::STATIC_321, JACOBI, JACOBI_ABOVE, VP] {
        let config = config(table);
        assert_eq!(toml::from_str::<MethodConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<MethodConfig>(&json).unwrap(), config);
    }
    assert_eq!(
        serde_json::to_string(&config(CHAIN_3)).unwrap(),
        r#"{"drafter":{"proposer":"eagle1","shape":"chain","depth":3},"accept":[{"kind":"lossless"}],"schedule":{"kind":"always"}}"#
    );
}

#[test]
fn weights_and_numbers_that_have_a_default_survive_as_well() {
    for (drafter, schedule) in [
        (r#"weights = "further""#, r#"kind = "vvs", trigger = "similarity", s = 0.7, alpha = 0.4"#),
        (r#"weights = "cascade""#, r#"kind = "vvs", trigger = "interval", every = 4"#),
    ] {
        let drafter = format!(r#"proposer = "eagle1", shape = "chain", depth = 3, {drafter}"#);
        let config = read(&format!("drafter = {{ {drafter} }}\nschedule = {{ {schedule} }}")).unwrap();
        assert_eq!(toml::from_str::<MethodConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<MethodConfig>(&json).unwrap(), config);
    }
}

#[test]
fn a_missing_key_is_named_with_the_shape_that_needs_it() {
    check_error(
        r#"drafter = { proposer = "eagle1" }"#,
        r#"drafter with proposer = "eagle1" needs the key `shape`"#,
    );
    check_error(
        r#"drafter = { proposer = "eagle1", shape = "chain" }"#,
        r#"drafter with shape = "chain" needs the key `depth`"#,
    );
    check_error(
        r#"drafter = { proposer = "eagle1", shape = "dynamic", top_k = 10, depth = 4 }"#,
        r#"drafter with shape = "dynamic" needs the key `total_token`"#,
    );
    check_error(
        r#"drafter = { proposer = "model", shape = "chain", depth = 3 }"#,
        r#"drafter with proposer = "model" needs the key `model`"#,
    );
    check_error("drafter = { shape = \"chain\" }", "missing field `proposer`");
}

#[test]
fn a_key_out_of_place_is_named_with_the_shape_that_lacks_it() {
    check_error(
        r#"drafter = { proposer = "eagle1", shape = "chain", depth = 3, top_k = 10 }"#,
        r#"drafter with shape = "chain" has no key `top_k`; remove it"#,
    );
    check_error(
        r#"drafter = { proposer = "none", depth = 3 }"#,
        r#"drafter with proposer = "none" has no key `depth`; remove it"#,
    );
    check_error(
        r#"drafter = { proposer = "none", shape = "chain", depth = 3 }"#,
        r#"drafter with proposer = "none" has no key `shape`; remove it"#,
    );
    check_error(
        r#"drafter = { proposer = "eagle1", model = "x", shape = "chain", depth = 3 }"#,
        r#"drafter with proposer = "eagle1" has no key `model`; remove it"#,
    );
    check_error(
        r#"drafter = { proposer = "model", model = "x", weights = "y", shape = "chain", depth = 3 }"#,
        r#"drafter with proposer = "model" has no key `weights`; remove it"#,
    );
}

#[test]
fn unknown_keys_and_values_are_errors() {
    check_error(
        r#"drafter = { proposer = "eagle1", shape = "chain", dept = 3 }"#,
        "unknown field `dept`, expected one of `proposer`, `model`, `weights`, `shape`, `depth`, `tree`, `top_k`, `total_token`, `window`, `init`, `width`, `active`, `refresh`, `couple`, `branch`, `filter_top_k`, `features`",
    );
    check_error(
        r#"drafter = { proposer = "eagle9" }"#,
        "unknown variant `eagle9`, expected one of `none`, `eagle1`, `eagle3`, `jacobi`, `model`",
    );
    let kinds = format!("`{}`", RULE_KINDS.join("`, `"));
    check_error(
        r#"accept = [{ kind = "lossles" }]"#,
        &format!("unknown variant `lossles`, expected one of {kinds}"),
    );
    check_error(
        r#"accept = [{ kind = "lossless", delta = 1 }]"#,
        "unknown field `delta`, there are no fields",
    );
    check_error(r#"schedule = { kind = "always", every = 2 }"#, "unknown field `every`, there are no fields");
    check_error(
        r#"schedule = { kind = "sometimes" }"#,
        "unknown variant `sometimes`, expected one of `always`, `vvs`, `redundancy`",
    );
    let known = "`drafter`, `accept`, `schedule`, `frontier`";
    check_error("draftr = 1", &format!("unknown field `draftr`, expected one of {known}"));
}

#[test]
fn numbers_outside_their_range_are_errors() {
    let dynamic = |top_k: usize, depth: usize, total_token: usize| {
        format!(
            "drafter = {{ proposer = \"eagle1\", shape = \"dynamic\", top_k = {top_k}, depth = {depth}, total_token = {total_token} }}"
        )
    };
    check_error(
        r#"drafter = { proposer = "eagle1", shape = "chain", depth = 0 }"#,
        "drafter key `depth` is 0, expected 1..=64",
    );
    check_error(&dynamic(0, 4, 59), "drafter key `top_k` is 0, expected 1..=256");
    check_error(&dynamic(10, 33, 59), "drafter key `depth` is 33, expected 1..=32");
    check_error(&dynamic(10, 4, 1), "drafter key `total_token` is 1, expected 2..=1024");
}

#[test]
fn a_tree_that_is_none_is_an_error() {
    let tree =
        |tree: &str| format!("drafter = {{ proposer = \"eagle1\", shape = \"static\", tree = {tree} }}");
    check_error(
        &tree("\"tiny_14\""),
        "no tree is called `tiny_14`; known are mc_sim_7b_63, naive_extend_57, reverse_balanced_25, tiny_7, tiny_13, tiny_25",
    );
    check_error(
        &tree("[]"),
        "a static tree lists at least one path; use proposer = \"none\" to draft nothing",
    );
    check_error(&tree("[[0], []]"), "a static tree has an empty path; the root is implied, leave it out");
    check_error(&tree("[[0], [0]]"), "path [0] of a static tree is listed twice");
    check_error(&tree("[[0], [1, 0]]"), "path [1, 0] of a static tree needs [1], which is not listed");
    check_error(&tree("[[0], [2]]"), "path [2] of a static tree needs [1], which is not listed");
    check_error(&tree("7"), "a tree is a name (\"mc_sim_7b_63\") or a list of index paths ([[0], [0, 0]])");
}

#[test]
fn values_made_in_code_are_checked_as_well() {
    let mut config = config(CHAIN_3);
    config.accept = vec![RuleConfig::Lossless {}, RuleConfig::Lossless {}];
    let refused = config.validate().unwrap_err().to_string();
    assert_eq!(refused, "accept rule 0 is lossless, but only the last rule can be: 2 are listed");
    config.accept = Vec::new();
    assert_eq!(config.validate(), Ok(()));
    config.drafter.shape = Some(Shape::Static { tree: Tree::Listed(vec![vec![0]; 1024]) });
    assert_eq!(
        config.validate().unwrap_err().to_string(),
        "a static tree has 1024 nodes, at most 1023 are supported"
    );
}

#[test]
fn a_draft_model_is_handed_in_exactly_when_one_is_used() {
    let model = || Some(Box::new(ToyDraftModel::new(drafter())) as _);
    let error = |table, model| config(table).build(model).err().unwrap().to_string();
    assert_eq!(
        error(CHAIN_3, None),
        "drafter with proposer = \"eagle1\" was built without a draft model; load its weights first"
    );
    assert_eq!(
        error(AR, model()),
        "drafter with proposer = \"none\" was built with a draft model it would not use"
    );
}

#[test]
fn buffers_are_sized_for_the_largest_tree_a_shape_can_draft() {
    let size = |table: &str| config(table).max_tree_nodes();
    assert_eq!(size(AR), 1);
    assert_eq!(size(CHAIN_3), 4);
    assert_eq!(size(JACOBI), 3);
    assert_eq!(size(MC_SIM), 26);
    assert_eq!(
        size(r#"{ proposer = "eagle1", shape = "dynamic", top_k = 10, depth = 4, total_token = 59 }"#),
        59
    );
    assert_eq!(
        size(r#"{ proposer = "eagle1", shape = "dynamic", top_k = 2, depth = 1, total_token = 59 }"#),
        7
    );
}

/// The spec parser suggests the nearest of these.
#[test]
fn the_listed_keys_are_those_the_table_reads() {
    let message = read("drafter = { nonsense = 1 }").unwrap_err();
    assert!(DRAFTER_KEYS.iter().all(|key| message.contains(&format!("`{key}`"))), "{message}");
    assert_eq!(message.matches('`').count() / 2, DRAFTER_KEYS.len() + 1);
}
