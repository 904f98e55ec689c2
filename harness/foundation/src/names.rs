//! Which known names a misspelt one may have meant.

/// Insertions, deletions, replacements and swaps of neighbours between two texts, in code points.
pub use strsim::osa_distance as edit_distance;

/// The names nearest to `found` by [`edit_distance`], nearest first: those within a third of the longer length and at
/// most one step farther than the nearest, and those that contain `found`. Case does not count.
pub fn nearest<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let found = found.to_lowercase();
    let is_part_of = |name: &str| found.chars().count() >= 3 && name.contains(&found);
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (edit_distance(&found, &name.to_lowercase()), name))
        .filter(|(distance, name)| {
            let n_chars = found.chars().count().max(name.chars().count());
            *distance <= n_chars / 3 || is_part_of(name)
        })
        .collect();
    near.sort_unstable();
    let farthest = near.first().map_or(0, |(distance, _)| distance + 1);
    near.retain(|(distance, name)| *distance <= farthest || is_part_of(name));
    near.into_iter().map(|(_, name)| name).collect()
}

/// What to say of an unknown name: ``did you mean `a`?`` with at most three near names of `known`, nearest first, or
/// ``expected one of a, b`` where none is near.
pub fn suggestion<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(found, known.iter().copied());
    let near: Vec<String> = near.into_iter().take(3).map(|name| format!("`{name}`")).collect();
    if near.is_empty() {
        return format!("expected one of {}", known.join(", "));
    }
    format!("did you mean {}?", near.join(" or "))
}

/// All known names, and those that `found` may have meant: `a, b, c; did you mean `b`?`.
pub fn known_names<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let all = known.join(", ");
    match nearest(found, known.iter().copied()).is_empty() {
        true => all,
        false => format!("{all}; {}", suggestion(found, known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_nearest(found: &str, expected: &[&str]) {
        assert_eq!(nearest(found, ["coco2017-val", "scenes-train", "scenes-val"]), expected, "{found}");
    }

    #[test]
    fn known_names_end_with_the_one_that_was_meant() {
        let said = |found: &str| known_names(found, ["table1", "table2", "fig13"]);
        assert_eq!(said("tabel2"), "table1, table2, fig13; did you mean `table2` or `table1`?");
        assert_eq!(said("quite-other"), "table1, table2, fig13");
    }

    #[test]
    fn a_slip_of_the_hand_finds_the_name_that_was_meant() {
        check_nearest("scenes-vla", &["scenes-val"]);
        check_nearest("Scenes_val", &["scenes-val"]);
        check_nearest("coco-val", &["coco2017-val"]);
        check_nearest("coco", &["coco2017-val"]);
        check_nearest("scenes", &["scenes-val", "scenes-train"]);
        check_nearest("imagenet", &[]);
        check_nearest("", &[]);
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_or_all() {
        assert_eq!(suggestion("tenht", ["first", "tenth"]), "did you mean `tenth`?");
        assert_eq!(suggestion("val", ["a-val", "b-val"]), "did you mean `a-val` or `b-val`?");
        assert_eq!(suggestion("x", ["first", "tenth"]), "expected one of first, tenth");
    }
}
