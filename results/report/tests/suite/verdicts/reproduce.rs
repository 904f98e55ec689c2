//! Papers' tables and claims are data that fits their numbers and twins; a run is judged by them and by nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use insta::assert_snapshot;
use specimen_record::{ItemKey, MetricFile, read_document, write_document};
use specimen_report::table::Rank;
use specimen_report::verdicts::reproduce::claims::{ClaimVerdict, TestedClaim, test};
use specimen_report::verdicts::reproduce::overview::{
    claims_csv, counts_table, open_claims_table, values_csv,
};
use specimen_report::verdicts::reproduce::paper::{Claim, Paper, PaperTable, Test, names, spec_named};
use specimen_report::verdicts::reproduce::reproduction::{Reproduction, ValueVerdict, reproduce};
use specimen_report::verdicts::{papers, values::RunValues};

use crate::verdicts::fixture::{self, reading, run::Made};

/// Claims that a model's spec has no cell for.
const LACKING: [(&str, &str); 2] =
    [("fewer-forwards-on-gsd", "emu3-gen-8b"), ("fewer-forwards-on-lantern", "emu3-gen-8b")];

#[test]
fn every_table_fits_its_numbers_and_every_claim_the_cells_of_its_twin() {
    let mut n_claims = 0;
    for name in names() {
        let paper = Paper::named(name).unwrap();
        assert_eq!((paper.id.as_str(), paper.schema), (name, 1));
        for table in &paper.tables {
            let rows = papers::rows(&table.published).unwrap();
            for column in &table.columns {
                assert!(
                    rows.iter().any(|row| row.metric == column.published),
                    "{name}:{} {}",
                    table.id,
                    column.published
                );
            }
            for column in table.blocks.iter().chain(&table.rows) {
                assert!(rows[0].column(column).is_some(), "{name}:{} {column}", table.id);
            }
            for model in table.specs.keys() {
                let twin = table.twin(model).unwrap();
                for claim in paper.claims.iter().filter(|claim| claim.table == table.id) {
                    for cell in claim.test.cells() {
                        let names = paper.roles.get(cell).cloned().unwrap_or_else(|| vec![cell.to_owned()]);
                        let known = twin.cells.iter().any(|spec| names.contains(&spec.name));
                        // A published block may lack a method; the claim is then undecided on that model.
                        let lacks = LACKING.contains(&(claim.id.as_str(), model.as_str()));
                        assert!(known != lacks, "{name}: claim {} names {cell}, on {model}", claim.id);
                    }
                }
                for metric in twin.metrics.iter().filter(|metric| metric.protocol.is_some()) {
                    let protocol = metric.protocol.as_deref().unwrap();
                    for column in &table.columns {
                        let values = column.ours.iter().filter_map(|value| {
                            let (name, under) = value.split_once(':').unwrap_or((value, ""));
                            let is_prdc = metric.name == "prdc" && ["precision", "recall"].contains(&name);
                            (name == metric.name || is_prdc).then_some(under)
                        });
                        for under in values {
                            assert_eq!(
                                under, protocol,
                                "{name}:{} {} on {model}",
                                table.id, column.published
                            );
                        }
                    }
                }
                let is_of_model = twin.cells.iter().all(|spec| spec.model.name == *model);
                assert!(is_of_model, "{name}:{} has a twin of another model than {model}", table.id);
                assert!(twin.published.iter().any(|r| r.from == table.published), "{name}:{}", table.id);
            }
        }
        for printed in paper.models.values() {
            let has = |table: &PaperTable| {
                papers::rows(&table.published).unwrap().iter().any(|row| row.model == *printed)
            };
            assert!(paper.tables.iter().any(has), "{name}: {printed}");
        }
        for (at, claim) in paper.claims.iter().enumerate() {
            assert!(paper.table(&claim.table).is_ok(), "{name}: claim {}", claim.id);
            assert!(
                paper.claims[..at].iter().all(|other| other.id != claim.id),
                "{name}: claim {}",
                claim.id
            );
            n_claims += 1;
        }
    }
    assert!(n_claims > 20, "{n_claims} claims");
}

#[test]
fn a_model_of_the_paper_is_found_by_its_name_in_the_data() {
    let paper = Paper::named("cascade").unwrap();
    let twin = paper.table("table1").unwrap().twin("llamagen-t2i-xl-512").unwrap();
    assert_eq!((twin.name.as_str(), twin.dataset.limit), ("cascade-table1-llamagen-coco", Some(5000)));
    assert_eq!(paper.models["llamagen-t2i-xl-512"], "LlamaGen-XL-Stage2");
    let message = paper.table("table3b").unwrap().twin("janus-pro-7b").unwrap_err().to_string();
    assert!(message.contains("there is one for llamagen-t2i-xl-512, tiny"), "{message}");
}

/// A made-up run of the twin of CASCADE's Table 3(b).
fn table3b(accepted: [f64; 5], model: &str) -> Reproduction {
    table3b_under("fid:lantern", accepted, model)
}

/// Its Frechet distance is named as that of a run, where another protocol's value is another metric.
fn table3b_under(fid: &str, accepted: [f64; 5], model: &str) -> Reproduction {
    let mut paper = Paper::named("cascade").unwrap();
    let table = paper.table("table3b").unwrap().clone();
    if model != "tiny" {
        paper.models.insert(model.into(), "LlamaGen-XL-Stage2".into());
    }
    let names = ["ar", "naive", "cascade-i", "cascade-c", "cascade-ic"];
    let made = Made {
        accepted: names.into_iter().zip(accepted).collect(),
        spec: serde_json::to_value(table.twin("tiny").unwrap()).unwrap(),
        ..Made::plain("table3b")
    };
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&made.write(folder.path())).unwrap();
    run.summary.timing_quality = Some(fixture::on_slow_baseline(fixture::quality(None)));
    for cell in &mut run.summary.cells {
        cell.model = model.into();
        cell.metrics.iter_mut().filter(|m| m.metric == "fid").for_each(|m| m.metric = fid.into());
    }
    reproduce(&paper, &table, &run, &BTreeMap::new()).unwrap()
}

#[test]
fn a_value_under_another_protocol_is_not_comparable_with_a_printed_one() {
    let found = table3b_under("fid:sjd", [0.0, 1.3, 2.7, 2.0, 3.8], "llamagen");
    let values = found.rows.iter().filter(|row| row.cell.is_some()).flat_map(|row| &row.values).flatten();
    let of_fid: Vec<_> = values.filter(|value| value.measure == "fid:lantern").collect();
    assert!(!of_fid.is_empty());
    for value in of_fid {
        let why = value.why.as_deref().unwrap();
        assert_eq!((value.ours, why), (None, "fid:lantern: not comparable: the cell has fid:sjd"));
    }
}

fn verdict(found: &Reproduction, id: &str) -> ClaimVerdict {
    found.claims.iter().find(|claim| claim.id == id).unwrap().verdict
}

#[test]
fn on_the_embedded_model_only_claims_are_judged_and_the_head_says_so() {
    let found = table3b([0.0, 1.3, 2.7, 2.7, 3.8], "tiny");
    assert!(found.claims_only);
    let verdicts = found.rows.iter().flat_map(|row| &row.values).flatten().map(|value| value.verdict);
    let judged: Vec<ValueVerdict> = verdicts.collect();
    assert!(!judged.is_empty());
    assert!(
        judged.iter().all(|v| matches!(v, ValueVerdict::NotRun | ValueVerdict::NotReproducible)),
        "{judged:?}"
    );
    assert!(found.values_table().markdown().contains("ONLY CLAIMS ARE COMPARED"));
    for table in [found.values_table(), found.claims_table()] {
        assert!(table.markdown().contains("WARNING: ar runs at 50 % of what f32 reaches here"));
    }
    for id in ["i-and-c-alike", "both-accept-more", "both-faster"] {
        assert_eq!(verdict(&found, id), ClaimVerdict::Holds, "{:#?}", found.claims);
    }
}

#[test]
fn a_claim_that_is_not_so_does_not_hold_and_says_by_how_much() {
    let found = table3b([0.0, 1.3, 2.7, 1.9, 2.3], "tiny");
    assert_eq!(verdict(&found, "i-and-c-alike"), ClaimVerdict::DoesNotHold);
    assert_eq!(verdict(&found, "both-accept-more"), ClaimVerdict::DoesNotHold);
    let said = &found.claims.iter().find(|claim| claim.id == "both-accept-more").unwrap().evidence;
    assert!(said.contains("of cascade-ic against") && said.contains("over 24 prompts"), "{said}");
}

#[test]
fn on_the_papers_own_model_values_agree_or_differ() {
    let found = table3b([0.0, 1.3, 2.7, 2.0, 3.8], "llamagen");
    assert!(!found.claims_only);
    let row = |cell: &str| found.rows.iter().find(|row| row.cell.as_deref() == Some(cell)).unwrap();
    let accepted = |cell: &str| row(cell).values[1].as_ref().unwrap().clone();
    assert_eq!(accepted("cascade-i").verdict, ValueVerdict::Agrees);
    let off = accepted("cascade-c");
    assert_eq!(off.verdict, ValueVerdict::Differs);
    assert!(off.why.as_ref().unwrap().contains("-25.9 % off, 10 % allowed"), "{off:?}");
    let unmeasured = row("cascade-i").values[2].as_ref().unwrap();
    assert_eq!(unmeasured.verdict, ValueVerdict::NotRun);
    let parti = found.rows.iter().find(|row| row.block.contains("Parti")).unwrap();
    assert_eq!(
        (parti.cell.as_ref(), parti.values[0].as_ref().unwrap().verdict),
        (None, ValueVerdict::NotRun)
    );
}

#[test]
fn a_printed_row_with_two_cells_of_ours_has_its_mark_in_both() {
    let mut found = table3b([0.0, 1.3, 2.7, 2.0, 3.8], "llamagen");
    // The first column of printed values, after the row's name and the cell.
    let marks =
        |found: &Reproduction| found.values_table().rows.iter().map(|row| row[2].rank).collect::<Vec<Rank>>();
    let mut expected = marks(&found);
    let best = expected.iter().position(|rank| *rank == Rank::Best).unwrap();
    expected.insert(best, Rank::Best);
    let again = found.rows[best].clone();
    found.rows.insert(best, again);
    assert_eq!(marks(&found), expected);
}

#[test]
fn plain_decoding_accepts_one_token_a_step_by_the_convention_of_the_papers() {
    let mut paper = Paper::named("cascade").unwrap();
    paper.models.insert("llamagen".into(), "LlamaGen-XL-Stage2".into());
    let table = paper.table("table1").unwrap().clone();
    let drafting = ["naive", "lantern", "lantern++", "lantern++-scaled", "gsd", "gsd-scaled", "cascade"];
    let made = Made {
        accepted: std::iter::once(("ar", 0.0)).chain(drafting.map(|cell| (cell, 2.0))).collect(),
        spec: serde_json::to_value(table.twin("tiny").unwrap()).unwrap(),
        ..Made::plain("table1")
    };
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&made.write(folder.path())).unwrap();
    run.summary.cells.iter_mut().for_each(|cell| cell.model = "llamagen".into());
    let found = reproduce(&paper, &table, &run, &BTreeMap::new()).unwrap();
    let row = found.rows.iter().find(|row| row.cell.as_deref() == Some("ar")).unwrap();
    let value = row.values.iter().flatten().find(|value| value.measure == "accepted_per_step").unwrap();
    assert_eq!((value.printed, value.ours, value.verdict), (Some(1.0), Some(1.0), ValueVerdict::Agrees));
    let table = found.values_table().markdown();
    assert!(table.contains("1 by convention; it drafts nothing, so the count is 0"), "{table}");
}

#[test]
fn the_tables_read_as_printed() {
    let found = table3b([0.0, 1.3, 2.7, 2.0, 3.8], "llamagen");
    assert_snapshot!("values", found.values_table().text(220));
    assert_snapshot!("claims", found.claims_table().markdown());
}

fn tested(measure: &str, condition: Test) -> ClaimVerdict {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    tested_on("tiny", &run, measure, condition).verdict
}

/// Tested as if `model` were the only model of the paper.
pub(crate) fn tested_on(model: &str, run: &RunValues, measure: &str, condition: Test) -> TestedClaim {
    tested_by(model, run, &[measure], condition)
}

/// Tested by the first of `measures` that the run has, as if `model` were the only model of the paper and `bush` the role of a
/// cell.
fn tested_by(model: &str, run: &RunValues, measures: &[&str], condition: Test) -> TestedClaim {
    let paper = Paper {
        models: [(model.to_owned(), "Large".to_owned())].into(),
        roles: [("bush".to_owned(), vec!["shrub".to_owned(), "tree".to_owned()])].into(),
        ..Paper::named("cascade").unwrap()
    };
    let measure = measures.iter().map(|measure| (*measure).to_owned()).collect();
    let claim = Claim {
        id: "c".into(),
        table: "t".into(),
        text: "made up".into(),
        measure,
        test: condition,
        specs: BTreeMap::new(),
    };
    test(&claim, &paper, run).unwrap()
}

#[test]
fn an_absolute_magnitude_is_not_comparable_on_another_model() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    let between = |low, high| Test::Between { cell: "tree".into(), low, high };
    for (low, high) in [(70.0, 80.0), (80.0, 90.0)] {
        let found = tested_on("large", &run, "nfe", between(low, high));
        assert_eq!(found.verdict, ClaimVerdict::NotComparable);
        assert!(found.evidence.contains("tiny is none of the paper's models"), "{}", found.evidence);
    }
    // A ratio of two cells of one model is no absolute magnitude.
    let ratio = Test::Ratio { cell: "tree".into(), of: "ar".into(), low: 0.9, high: 1.1 };
    assert_eq!(tested_on("large", &run, "nfe", ratio).verdict, ClaimVerdict::DoesNotHold);
}

#[test]
fn the_evidence_has_the_digits_that_the_decision_needs() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    for cell in run.summary.cells.iter_mut().filter(|cell| cell.id == "tree") {
        reading(cell, "tvd_spent").value = Some(0.003_000_4);
    }
    let between = Test::Between { cell: "tree".into(), low: 0.0003, high: 0.003 };
    let found = tested_on("tiny", &run, "tvd_spent", between);
    assert_eq!(found.verdict, ClaimVerdict::DoesNotHold);
    assert!(found.evidence.starts_with("tvd_spent of tree is 0.0030004"), "{}", found.evidence);
    assert!(found.evidence.ends_with(", claimed: 0.0003 to 0.003"), "{}", found.evidence);
}

#[test]
fn a_magnitude_whose_interval_holds_an_edge_is_not_decided() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    let found = |low, high| {
        tested_on("tiny", &run, "accepted_per_step", Test::Between { cell: "tree".into(), low, high })
    };
    let ends = found(0.0, 9.0).evidence;
    let [_, interval] = ends.split('[').collect::<Vec<_>>()[..] else { panic!("{ends}") };
    let [low, high] = interval
        .split(']')
        .next()
        .unwrap()
        .split(", ")
        .map(|end| end.parse::<f64>().unwrap())
        .collect::<Vec<_>>()[..]
    else {
        panic!("{ends}")
    };
    assert!(low < high, "{ends}");
    let middle = (low + high) / 2.0;
    assert_eq!(found(low - 0.1, high + 0.1).verdict, ClaimVerdict::Holds);
    assert_eq!(found(middle, high + 1.0).verdict, ClaimVerdict::NotTestable);
    assert_eq!(found(high + 0.1, high + 1.0).verdict, ClaimVerdict::DoesNotHold);
}

#[test]
fn quantities_over_the_baselines_are_measures_of_claims() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    for cell in &mut run.summary.cells {
        (reading(cell, "schedule_s").value, reading(cell, "decode_s").value) = (Some(0.02), Some(0.4));
        (reading(cell, "tvd_spent").value, reading(cell, "nfe").value) = (Some(0.5), Some(250.0));
        if cell.id == "ar" {
            (reading(cell, "decode_s").value, reading(cell, "nfe").value) = (Some(2.0), Some(1000.0));
        }
    }
    let said = |measure: &str, low, high| {
        let found = tested_on("tiny", &run, measure, Test::Between { cell: "tree".into(), low, high });
        (found.verdict, found.evidence)
    };
    let (verdict, evidence) = said("schedule_share", 0.0, 0.02);
    assert_eq!(
        (verdict, evidence.as_str()),
        (ClaimVerdict::Holds, "schedule_share of tree is 1.00e-2, claimed: 0 to 0.02")
    );
    let (_, evidence) = said("tvd_per_token", 0.0, 0.002);
    assert!(evidence.starts_with("tvd_per_token of tree is 5.00e-4"), "{evidence}");
}

#[test]
fn a_claim_is_not_decided_by_fewer_than_six_prompts() {
    for (n_prompts, expected) in [(5, (ClaimVerdict::NotTestable, None)), (6, (ClaimVerdict::Holds, None))] {
        let folder = tempfile::tempdir().unwrap();
        let made = Made { n_prompts, ..Made::plain("run") };
        let run = RunValues::read(&made.write(folder.path())).unwrap();
        let test = Test::Greater { cell: "tree".to_owned(), than: vec!["chain".to_owned()] };
        let found = tested_on("tiny", &run, "accepted_per_step", test);
        assert_eq!((found.verdict, found.prompts_to_decide), expected, "{found:?}");
    }
}

#[test]
fn cells_that_are_equal_prompt_by_prompt_are_not_greater() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    let verdict = |test: Test| tested_on("tiny", &run, "accepted_per_step", test).verdict;
    let (cell, than) = ("tree".to_owned(), vec!["tree".to_owned()]);
    assert_eq!(verdict(Test::Greater { cell: cell.clone(), than: than.clone() }), ClaimVerdict::DoesNotHold);
    assert_eq!(verdict(Test::NotLess { cell, than, within: 0.02 }), ClaimVerdict::Holds);
    let cells = vec!["tree".to_owned(), "tree".to_owned()];
    assert_eq!(verdict(Test::Rises { cells }), ClaimVerdict::DoesNotHold);
}

#[test]
fn scores_that_differ_by_rounding_are_not_greater() {
    let folder = tempfile::tempdir().unwrap();
    let written = Made::plain("run").write(folder.path());
    // The same images, scored in a batch of another size.
    let mut scored: MetricFile = read_document(&written.metrics("clip", "chain")).unwrap();
    let scores = std::mem::take(&mut scored.per_item).unwrap();
    let of_tree = |(key, score): (ItemKey, f64)| (ItemKey::new("tree", &key.prompt_id(), 0), score + 1e-7);
    scored.per_item = Some(scores.into_iter().map(of_tree).collect());
    scored.cell = "tree".to_owned();
    write_document(&written.metrics("clip", "tree"), &scored).unwrap();
    let run = RunValues::read(&written).unwrap();
    let test = Test::Greater { cell: "tree".to_owned(), than: vec!["chain".to_owned()] };
    let found = tested_on("tiny", &run, "clip", test);
    assert_eq!((found.verdict, found.prompts_to_decide), (ClaimVerdict::DoesNotHold, None), "{found:?}");
}

#[test]
fn rows_that_the_committed_spec_names_by_now_belong_to_runs_made_before() {
    let paper = Paper::named("cascade").unwrap();
    let table = paper.table("fig4").unwrap().clone();
    let mut spec = table.twin("tiny").unwrap();
    spec.published.retain(|one| one.cell == "ar");
    let made = Made {
        accepted: vec![("ar", 0.0), ("08-05-by-further", 2.0), ("085-0625-by-further", 1.5)],
        spec: serde_json::to_value(&spec).unwrap(),
        ..Made::plain("cascade-fig4-tiny")
    };
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&made.write(folder.path())).unwrap();
    let found = reproduce(&paper, &table, &run, &BTreeMap::new()).unwrap();
    let speedup = |cell: &str| {
        let row = found.rows.iter().find(|row| row.cell.as_deref() == Some(cell)).unwrap();
        row.values[0].clone().unwrap()
    };
    assert_eq!(speedup("08-05-by-further").printed, Some(3.6));
    let drawn = speedup("085-0625-by-further");
    assert_eq!((drawn.printed, drawn.verdict), (None, ValueVerdict::NotPrinted));
    assert!(drawn.ours.is_some());
    assert!(values_csv(&[found]).contains(",085-0625-by-further,speedup,,false,speedup,1.6,"));
}

#[test]
fn several_tables_are_counted_by_paper_and_open_claims_have_their_reasons() {
    let found = [table3b([0.0, 1.3, 2.7, 1.9, 3.8], "tiny")];
    let counted = counts_table(&found);
    assert_eq!(counted.rows.len(), 2, "a paper and all");
    let of = |row: usize| -> Vec<usize> {
        counted.rows[row][1..].iter().map(|n| n.text.parse().unwrap()).collect()
    };
    let [claims, parts @ ..] = of(0)[..].try_into().map(|counts: [usize; 5]| counts).unwrap();
    assert_eq!((claims, claims), (found[0].claims.len(), parts.iter().sum()));
    assert_eq!(of(0), of(1));
    let open = open_claims_table(&found).unwrap();
    assert_eq!(open.rows.len(), parts[2] + parts[3]);
    assert!(open.rows.iter().all(|row| !row[3].text.is_empty()));
    assert_eq!(claims_csv(&found).lines().count(), claims + 1);
}

#[test]
fn one_comparison_on_the_wrong_side_decides_a_claim_of_several() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    // Against 10 of `ar`: 5 % more, on the bound, and 15 % less, far outside it.
    for (id, value, half) in [("ar", 10.0, 0.01), ("chain", 10.51, 1.0), ("tree", 8.5, 1.1)] {
        let cell = run.summary.cells.iter_mut().find(|cell| cell.id == id).unwrap();
        let fid = cell.metrics.iter_mut().find(|metric| metric.metric == "fid").unwrap();
        (fid.value, fid.ci95, fid.why, fid.n) = (Some(value), Some([value - half, value + half]), None, 24);
    }
    let needed = |cells: &[&str]| {
        let cells = std::iter::once("ar").chain(cells.iter().copied()).map(str::to_owned).collect();
        let found = tested_on("tiny", &run, "fid", Test::Alike { cells, within: 0.05 });
        assert_eq!(found.verdict, ClaimVerdict::NotTestable, "{found:?}");
        found.prompts_to_decide.unwrap()
    };
    assert!(needed(&["chain"]) > 1000 && needed(&["tree"]) < 100);
    assert_eq!(needed(&["chain", "tree"]), needed(&["tree"]));
}

#[test]
fn the_claims_are_counted_in_a_line() {
    let mut found = table3b([0.0, 1.3, 2.7, 2.7, 3.8], "tiny");
    let claim = |verdict, prompts_to_decide| TestedClaim {
        id: "c".into(),
        text: "made up".into(),
        verdict,
        evidence: String::new(),
        prompts_to_decide,
    };
    use ClaimVerdict::{DoesNotHold, Holds, NotComparable, NotTestable};
    found.claims = vec![claim(Holds, None); 4];
    found.claims.extend([
        claim(DoesNotHold, None),
        claim(NotTestable, Some(60)),
        claim(NotTestable, Some(40)),
    ]);
    assert_eq!(found.counts(), "4 hold, 1 does not, 2 cannot be decided (40 to 60 prompts would)");
    found.claims.push(claim(NotTestable, None));
    found.claims.push(claim(NotComparable, None));
    found.claims.retain(|claim| claim.verdict != Holds);
    let said = "0 hold, 1 does not, 3 cannot be decided (40 to 60 prompts would for 2), 1 is not comparable";
    assert_eq!(found.counts(), said);
    assert!(found.claims_table().markdown().contains(said));
}

#[test]
fn each_kind_of_claim_holds_fails_and_stays_open() {
    use ClaimVerdict::{DoesNotHold, Holds, NotTestable};
    let text = str::to_owned;
    let greater = |cell: &str, than: &str| Test::Greater { cell: cell.into(), than: vec![than.into()] };
    assert_eq!(tested("accepted_per_step", greater("tree", "chain")), Holds);
    assert_eq!(tested("accepted_per_step", greater("chain", "tree")), DoesNotHold);
    assert_eq!(tested("speedup", greater("tree", "chain")), Holds);
    assert_eq!(tested("speedup", greater("ar", "chain")), DoesNotHold);
    assert_eq!(tested("fid", greater("tree", "chain")), NotTestable);
    assert_eq!(tested("nfe", greater("tree", "nobody")), NotTestable);
    let rises = |cells: [&str; 3]| Test::Rises { cells: cells.map(text).to_vec() };
    assert_eq!(tested("tokens_per_forward", rises(["ar", "chain", "tree"])), Holds);
    assert_eq!(tested("tokens_per_forward", rises(["ar", "tree", "chain"])), DoesNotHold);
    let alike = |within| Test::Alike { cells: ["chain", "tree"].map(text).to_vec(), within };
    assert_eq!(tested("clip", alike(0.05)), Holds);
    assert_eq!(tested("nfe", alike(0.05)), DoesNotHold);
    let ratio = |low, high| Test::Ratio { cell: text("chain"), of: text("tree"), low, high };
    assert_eq!(tested("tokens_per_forward", ratio(0.6, 0.8)), Holds);
    assert_eq!(tested("tokens_per_forward", ratio(0.9, 1.0)), DoesNotHold);
    let between = |low, high| Test::Between { cell: text("tree"), low, high };
    assert_eq!(tested("nfe", between(70.0, 80.0)), Holds);
    assert_eq!(tested("nfe", between(80.0, 90.0)), DoesNotHold);
    let no_less = |within| Test::NotLess { cell: text("tree"), than: vec![text("chain")], within };
    assert_eq!(tested("clip", no_less(0.05)), Holds);
    assert_eq!(tested("clip", no_less(0.0)), DoesNotHold);
}

#[test]
fn one_value_of_the_evidence_turns_the_verdict_of_each_kind() {
    use ClaimVerdict::{DoesNotHold, Holds};
    let text = str::to_owned;
    let kinds = [
        ("fid", Test::Greater { cell: text("tree"), than: vec![text("chain")] }, 12.0, 8.0),
        ("fid", Test::NotLess { cell: text("tree"), than: vec![text("chain")], within: 0.1 }, 10.0, 7.0),
        ("fid", Test::Alike { cells: vec![text("chain"), text("tree")], within: 0.1 }, 10.0, 12.0),
        ("fid", Test::Rises { cells: vec![text("chain"), text("tree")] }, 12.0, 8.0),
        ("fid", Test::Between { cell: text("tree"), low: 9.0, high: 11.0 }, 10.0, 12.0),
        ("fid", Test::Ratio { cell: text("tree"), of: text("chain"), low: 0.9, high: 1.1 }, 10.0, 12.0),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    for (measure, condition, holds, fails) in kinds {
        for (of_tree, expected) in [(holds, Holds), (fails, DoesNotHold)] {
            for (cell, value) in [("chain", 10.0), ("tree", of_tree)] {
                let cell = run.summary.cells.iter_mut().find(|known| known.id == cell).unwrap();
                let metric = cell.metrics.iter_mut().find(|metric| metric.metric == measure).unwrap();
                (metric.value, metric.ci95, metric.why) =
                    (Some(value), Some([value - 0.1, value + 0.1]), None);
            }
            let found = tested_on("tiny", &run, measure, condition.clone());
            assert_eq!(found.verdict, expected, "{found:?}");
        }
    }
}

#[test]
fn the_first_measure_that_the_cells_have_is_compared_and_roles_name_cells() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    let bush = Test::Greater { cell: "chain".into(), than: vec!["bush".into()] };
    // The fixture's `fid` has no value, its `clip` has one for every image.
    let found = tested_by("tiny", &run, &["fid", "clip"], bush.clone());
    assert!(found.evidence.starts_with("clip 0."), "{}", found.evidence);
    assert!(found.evidence.contains(" of tree"), "{}", found.evidence);
    for cell in &mut run.summary.cells {
        cell.metrics.iter_mut().for_each(|metric| metric.metric = format!("{}:lantern", metric.metric));
        let fid = cell.metrics.iter_mut().find(|metric| metric.metric == "fid:lantern").unwrap();
        let value = if cell.id == "tree" { 10.0 } else { 12.0 };
        (fid.value, fid.ci95, fid.why) = (Some(value), Some([value - 0.1, value + 0.1]), None);
    }
    let found = tested_by("tiny", &run, &["fid", "clip"], bush);
    assert_eq!(found.verdict, ClaimVerdict::Holds);
    assert!(
        found.evidence.starts_with("fid:lantern 12.0 of chain against 10.0 of tree"),
        "{}",
        found.evidence
    );
}

#[test]
fn a_distance_of_too_few_images_says_how_many_the_spec_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    run.summary.spec = serde_json::json!({ "metrics": [{ "name": "fid", "min_n": 500 }] });
    let against = |than: &[&str]| {
        let than = than.iter().map(|cell| (*cell).to_owned()).collect();
        tested_on("tiny", &run, "fid", Test::Greater { cell: "tree".into(), than })
    };
    let found = against(&["chain"]);
    // No number decides it: that of the images only gives it a value.
    assert_eq!((found.verdict, found.prompts_to_decide), (ClaimVerdict::NotTestable, None));
    assert!(found.evidence.ends_with("; 500 images give a value, which may decide it"), "{}", found.evidence);
    // Every other cell has the same reason, and it stands there once.
    assert_eq!(against(&["chain", "ar"]).evidence, found.evidence);
}

#[test]
fn every_spec_of_a_paper_belongs_to_one_of_its_tables_figures_or_claims() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/paper");
    let here =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let papers: Vec<Paper> = names().map(|name| Paper::named(name).unwrap()).collect();
    let of_paper = |paper: &Paper| -> Vec<String> {
        let tables = paper.tables.iter().map(|table| &table.specs);
        let specs = tables.chain(paper.items.iter().map(|item| &item.specs));
        let longer = paper.claims.iter().flat_map(|claim| claim.specs.values().cloned());
        specs.flat_map(BTreeMap::values).flatten().cloned().chain(longer).collect()
    };
    let named: BTreeSet<String> = papers.iter().flat_map(of_paper).collect();
    assert_eq!(here.collect::<BTreeSet<_>>(), named);
    for claim in papers.iter().flat_map(|paper| &paper.claims) {
        for name in claim.specs.values() {
            let spec = spec_named(name).unwrap().resolve().unwrap();
            let lacking = claim.test.cells().into_iter().filter(|cell| {
                let is_role = papers.iter().any(|paper| paper.roles.contains_key(*cell));
                !is_role && !spec.cells.iter().any(|known| known.name == **cell)
            });
            assert_eq!(lacking.collect::<Vec<_>>(), [""; 0], "{name}");
        }
    }
}
