//! Two cells named in one text, `A=B`. Names of cells have equal signs of their own (`cascade[tau_pos=0.85]`), so the cells
//! that there are say which `=` is between them.

use specimen_foundation::{fail, failure, failure::FailureMessage};
use specimen_record::Summary;

/// The cell of `a` and the cell of `b` that `text` names.
pub fn cell_pair(text: &str, a: &Summary, b: &Summary) -> anyhow::Result<(String, String)> {
    let splits: Vec<(&str, &str)> =
        text.match_indices('=').map(|(at, _)| (text[..at].trim(), text[at + 1..].trim())).collect();
    let (has_a, has_b) = (|name: &str| a.cell(name).is_some(), |name: &str| b.cell(name).is_some());
    let mut both = splits.iter().filter(|(one, two)| has_a(one) && has_b(two));
    if let (Some((one, two)), None) = (both.next(), both.next()) {
        return Ok(((*one).to_owned(), (*two).to_owned()));
    }
    if splits.iter().filter(|(one, two)| has_a(one) && has_b(two)).count() > 1 {
        fail!(Usage: "`{text}` may be read in two ways, since both runs have cells for each; rename a cell \
            of a spec");
    }
    // Half of it may be a cell; the other half is then what is wrong.
    let by_one = splits.iter().find(|(one, _)| has_a(one)).map(|(_, two)| (b, *two));
    let by_two = || splits.iter().find(|(_, two)| has_b(two)).map(|(one, _)| (a, *one));
    // An `=` inside brackets belongs to a name.
    let outside = || splits.iter().find(|(one, _)| is_closed(one)).map(|(one, _)| (a, *one));
    match by_one.or_else(by_two).or_else(outside) {
        None => fail!(Usage: "`{text}` has no `=` between two names; name a cell of each run, as in \
            `naive=cascade`"),
        Some((run, name)) => Err(no_such_cell(
            &run.name,
            name,
            &run.cells.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>().join(", "),
        )
        .into()),
    }
}

/// Whether every bracket of `name` is closed.
fn is_closed(name: &str) -> bool {
    name.matches('[').count() == name.matches(']').count()
}

/// A cell that a run does not have.
pub(crate) fn no_such_cell(run: &str, cell: &str, known: &str) -> FailureMessage {
    failure!(Usage: "run `{run}` has no cell `{cell}`; it has {known}")
}
