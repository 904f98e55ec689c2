//! Why cells are not in a figure: cells that share a reason are named together.

/// `a, b: why; c: other reason` of pairs of cell and reason, in the order in which reasons are met. Without pairs no cell
/// could have been in the figure.
pub(crate) fn by_reason(left_out: &[(String, String)]) -> String {
    if left_out.is_empty() {
        return "the run has no other cell".to_owned();
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (cell, why) in left_out {
        match groups.iter_mut().find(|(known, _)| known == why) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((why, vec![cell])),
        }
    }
    let texts = groups.iter().map(|(why, cells)| format!("{}: {why}", cells.join(", ")));
    texts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_named_once_with_all_its_cells() {
        let pairs = [("a", "no image"), ("b", "not timed"), ("c", "no image")];
        let pairs = pairs.map(|(cell, why)| (cell.to_owned(), why.to_owned()));
        assert_eq!(by_reason(&pairs), "a, c: no image; b: not timed");
        assert_eq!(by_reason(&[]), "the run has no other cell");
    }
}
