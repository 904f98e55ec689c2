//! Links between documents: a relative link leads to a file that exists, and its fragment to a heading of that file.

use std::{collections::BTreeMap, fs, path::Path};

use crate::workspace::TextFile;

/// Complaints about relative links in the document `file` that lead to no file below `root`, or to a heading that the
/// document at the other end does not have. Links into the web are not followed.
pub fn check_links(root: &Path, file: &TextFile) -> Vec<String> {
    links(&file.text).into_iter().filter_map(|link| check_link(root, file, link)).collect()
}

fn check_link(root: &Path, file: &TextFile, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = link.split_once('#').map_or((link, None), |(path, part)| (path, Some(part)));
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    let end = root.join(folder).join(path);
    if !path.is_empty() && !end.exists() {
        return Some(format!("{}: the link to `{link}` leads nowhere; correct or remove it", file.path));
    }
    let fragment = fragment?;
    let other;
    let text = if path.is_empty() {
        &file.text
    } else if path.ends_with(".md") {
        other = fs::read_to_string(&end).unwrap_or_default();
        &other
    } else {
        return None;
    };
    let found = anchors(text).iter().any(|anchor| anchor == fragment);
    (!found).then(|| {
        format!("{}: the link to `{link}` names a heading that is not there; correct or remove it", file.path)
    })
}

/// Targets of `[text](target)` outside code blocks.
pub fn links(text: &str) -> Vec<&str> {
    let outside_code = text.split("```").step_by(2);
    let targets = outside_code.flat_map(|part| part.split("](").skip(1));
    targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.trim()).collect()
}

/// Anchors of the headings of a Markdown text, in order, as GitHub and mdBook make them: lower case, blanks as hyphens,
/// no other signs; the second of one name ends in `-1`.
fn anchors(text: &str) -> Vec<String> {
    let mut n_seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_code = false;
    let mut anchors = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if is_code || !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let name = anchor(title.trim());
        let n = n_seen.entry(name.clone()).or_default();
        anchors.push(if *n == 0 { name } else { format!("{name}-{n}") });
        *n += 1;
    }
    anchors
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let there = "# Top\n```sh\n# no heading\n```\n## What `x` is, and why\n### Again\n### Again\n#hash\n";
        fs::write(folder.path().join("there.md"), there).unwrap();
        let file = TextFile { path: "README.md".to_owned(), text: text.to_owned() };
        check_links(folder.path(), &file)
    }

    #[test]
    fn a_dead_link_is_named_and_a_web_address_is_not() {
        let found =
            complaints("[a](there.md) [b](https://example.org/#x) [d](missing.md)\n```\n[e](code.md)\n```\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`missing.md` leads nowhere"), "{found:?}");
    }

    #[test]
    fn a_fragment_is_a_heading_of_the_page_at_the_other_end() {
        let whole =
            "# Here\n[a](#here) [b](there.md#top) [c](there.md#what-x-is-and-why) [d](there.md#again-1)";
        assert_eq!(complaints(whole), Vec::<String>::new());
        for dead in ["#there", "there.md#no-heading", "there.md#again-2", "there.md#hash", "there.md#Top"] {
            let found = complaints(&format!("# Here\n[a]({dead})"));
            assert_eq!(found.len(), 1, "{dead}: {found:?}");
            assert!(found[0].contains("names a heading that is not there"), "{found:?}");
        }
    }
}
