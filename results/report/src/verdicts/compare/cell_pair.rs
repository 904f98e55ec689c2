//! Two cells named in one text, `A=B`. Names of cells have equal signs of their own (`cascade[tau_pos=0.85]`), so the cells
//! that there are say which `=` is between them.

use specimen_record::Summary;

use crate::verdicts::VerdictError;

/// The cell of `a` and the cell of `b` that `text` names.
pub fn cell_pair(text: &str, a: &Summary, b: &Summary) -> Result<(String, String), VerdictError> {
    let splits: Vec<(&str, &str)> =
        text.match_indices('=').map(|(at, _)| (text[..at].trim(), text[at + 1..].trim())).collect();
    let (has_a, has_b) = (|name: &str| a.cell(name).is_some(), |name: &str| b.cell(name).is_some());
    let mut both = splits.iter().filter(|(one, two)| has_a(one) && has_b(two));
    if let (Some((one, two)), None) = (both.next(), both.next()) {
        return Ok(((*one).to_owned(), (*two).to_owned()));
    }
    if splits.iter().filter(|(one, two)| has_a(one) && has_b(two)).count() > 1 {
        return Err(VerdictError::AmbiguousPair { text: text.to_owned() });
    }
    // Half of it may be a cell; the other half is then what is wrong.
    let by_one = splits.iter().find(|(one, _)| has_a(one)).map(|(_, two)| (b, *two));
    let by_two = || splits.iter().find(|(_, two)| has_b(two)).map(|(one, _)| (a, *one));
    // An `=` inside brackets belongs to a name.
    let outside = || splits.iter().find(|(one, _)| is_closed(one)).map(|(one, _)| (a, *one));
    match by_one.or_else(by_two).or_else(outside) {
        None => Err(VerdictError::NoPair { text: text.to_owned() }),
        Some((run, name)) => Err(VerdictError::NoSuchCell {
            run: run.name.clone(),
            cell: name.to_owned(),
            known: run.cells.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// Whether every bracket of `name` is closed.
fn is_closed(name: &str) -> bool {
    name.matches('[').count() == name.matches(']').count()
}
