//! What came of several tables together: the claims counted by paper, those without a verdict with their reasons, and every
//! value and claim as CSV.

use crate::table::{Column, CsvText, Entry, Table};

use super::claims::{ClaimVerdict, TestedClaim};
use super::reproduction::Reproduction;

/// Heads of [`values_csv`].
const VALUE_HEADS: [&str; 13] = [
    "table",
    "block",
    "row",
    "cell",
    "column",
    "printed",
    "second_hand",
    "measure",
    "ours",
    "ci95_low",
    "ci95_high",
    "verdict",
    "why",
];

/// Heads of [`claims_csv`].
const CLAIM_HEADS: [&str; 6] = ["table", "claim", "text", "verdict", "prompts_to_decide", "evidence"];

/// Why no line is refused.
const WHOLE: &str = "every line has a field for each head";

/// How many claims of each paper hold, do not hold, cannot be decided and are not comparable; a claim that several runs test
/// counts once a run.
pub fn counts_table(found: &[Reproduction]) -> Table {
    let mut papers: Vec<&str> = found.iter().map(|one| one.paper.as_str()).collect();
    papers.dedup();
    let of = |paper: &str, wanted: Option<ClaimVerdict>| {
        let claims = found.iter().filter(|one| one.paper == paper).flat_map(|one| &one.claims);
        claims.filter(|claim| wanted.is_none_or(|wanted| claim.verdict == wanted)).count()
    };
    let mut table = Table { id: "claims-by-paper".to_owned(), ..Table::default() };
    let names = papers.iter().copied().chain(["all"]);
    table.push(Column::text("paper"), names.map(Entry::plain).collect());
    for (head, wanted) in [
        ("claims", None),
        ("hold", Some(ClaimVerdict::Holds)),
        ("do not hold", Some(ClaimVerdict::DoesNotHold)),
        ("cannot be decided", Some(ClaimVerdict::NotTestable)),
        ("not comparable", Some(ClaimVerdict::NotComparable)),
    ] {
        let counts: Vec<usize> = papers.iter().map(|paper| of(paper, wanted)).collect();
        let all = counts.iter().sum::<usize>();
        let entries = counts.into_iter().chain([all]).map(|n| Entry::plain(&n.to_string()));
        table.push(Column::number(head, "", None), entries.collect());
    }
    table
}

/// The claims without a verdict, each with the reason. Without any, no table.
pub fn open_claims_table(found: &[Reproduction]) -> Option<Table> {
    let is_open = |claim: &TestedClaim| {
        matches!(claim.verdict, ClaimVerdict::NotTestable | ClaimVerdict::NotComparable)
    };
    let open: Vec<_> = claims(found).filter(|(_, claim)| is_open(claim)).collect();
    if open.is_empty() {
        return None;
    }
    let mut table = Table { id: "open-claims".to_owned(), ..Table::default() };
    let mut column = |head: &str, of: &dyn Fn(&Reproduction, &TestedClaim) -> String| {
        let entries = open.iter().map(|(one, claim)| Entry::plain(&of(one, claim)));
        table.push(Column::text(head), entries.collect());
    };
    column("table", &|one, _| one.id.clone());
    column("claim", &|_, claim| claim.text.clone());
    column("verdict", &|_, claim| claim.verdict.words().to_owned());
    column("why", &|_, claim| claim.evidence.clone());
    Some(table)
}

/// Every printed value with ours: a line for each row and column of each table. Numbers have all their digits.
///
/// # Panics
/// Never: every line has a field for each head.
pub fn values_csv(found: &[Reproduction]) -> String {
    let mut out = CsvText::new();
    out.write_record(VALUE_HEADS).expect(WHOLE);
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for one in found {
        for row in &one.rows {
            for (column, value) in one.columns.iter().zip(&row.values) {
                let Some(value) = value else { continue };
                let fields = [
                    one.id.clone(),
                    row.block.clone(),
                    row.row.clone(),
                    row.cell.clone().unwrap_or_default(),
                    column.name.clone(),
                    number(value.printed),
                    row.second_hand.to_string(),
                    value.measure.clone(),
                    number(value.ours),
                    number(value.ci95.map(|ends| ends[0])),
                    number(value.ci95.map(|ends| ends[1])),
                    value.verdict.words().to_owned(),
                    value.why.clone().unwrap_or_default(),
                ];
                out.write_record(fields).expect(WHOLE);
            }
        }
    }
    out.into_text()
}

/// Every claim with its verdict and evidence.
///
/// # Panics
/// Never: every line has a field for each head.
pub fn claims_csv(found: &[Reproduction]) -> String {
    let mut out = CsvText::new();
    out.write_record(CLAIM_HEADS).expect(WHOLE);
    for (one, claim) in claims(found) {
        let prompts = claim.prompts_to_decide.map(|n| n.to_string()).unwrap_or_default();
        let fields =
            [one.id.as_str(), &claim.id, &claim.text, claim.verdict.words(), &prompts, &claim.evidence];
        out.write_record(fields).expect(WHOLE);
    }
    out.into_text()
}

fn claims(found: &[Reproduction]) -> impl Iterator<Item = (&Reproduction, &TestedClaim)> {
    found.iter().flat_map(|one| one.claims.iter().map(move |claim| (one, claim)))
}
