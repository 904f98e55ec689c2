//! The pages of `docs/`: every one is in the book's summary, a measurement says what it must, and the two pages that
//! everybody reads stay short. Pages and messages are in plain words.

use crate::{links::links, workspace::TextFile};

/// The list of all pages, which mdBook reads.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The folder of measurements and its index.
const MEASUREMENTS: [&str; 2] = ["docs/measurements/", "docs/measurements/README.md"];

/// What a measurement says below its title, in this order.
const FACTS: [&str; 4] = ["- **Date:** ", "- **Machine:** ", "- **Commit:** ", "- **Command:** "];

/// Lines that the README may have.
const README_LINES: usize = 120;

/// The page on how we measure, and the words that it may have.
const HOW_WE_MEASURE: (&str, usize) = ("docs/how-we-measure.md", 1500);

/// Phrases that need a second reading, in messages and documents.
const PHRASES: &str = "is told|are told|held against|hold it against|stand beside|stands beside|lies there|lies here|goes on|\
                       go on with|by itself|want of room|what became of";

/// Complaints about `PHRASES` in lines of sources that are no comments, and in documents but measurements, which are not
/// changed afterwards.
pub fn check_phrases(file: &TextFile) -> Vec<String> {
    let is_source = file.is_rust() && file.path.contains("/src/") && !file.path.starts_with("harness/tidy/");
    let is_document = file.path.ends_with(".md") && !file.path.starts_with(MEASUREMENTS[0]);
    let is_read = |line: &str| is_document || is_source && !line.trim_start().starts_with("//");
    let lines = (1..).zip(file.text.lines()).filter(|(_, line)| is_read(line));
    let complaint = |(at, line): (usize, &str)| {
        let phrase = PHRASES.split('|').find(|phrase| line.contains(*phrase))?;
        Some(format!("{}:{at}: `{phrase}`; say it in plain words", file.path))
    };
    lines.filter_map(complaint).collect()
}

/// Complaints about pages below `docs/` that the summary does not list, and measurements that their index does not.
pub fn check_listed(files: &[TextFile]) -> Vec<String> {
    let pages = files.iter().map(|file| file.path.as_str());
    let pages: Vec<&str> = pages.filter(|path| path.starts_with("docs/") && path.ends_with(".md")).collect();
    let [folder, index] = MEASUREMENTS;
    let of_summary = unlisted(files, SUMMARY, "docs/", &pages);
    let of_index = unlisted(files, index, folder, &pages);
    of_summary.into_iter().chain(of_index).collect()
}

/// Complaints about a measurement in `file` whose name has no date, or that leaves out date, machine, commit or command.
pub fn check_measurement(file: &TextFile) -> Vec<String> {
    let [folder, index] = MEASUREMENTS;
    let Some(name) = file.path.strip_prefix(folder).filter(|_| file.path != index) else {
        return Vec::new();
    };
    let date = name.get(..11).unwrap_or_default();
    let is_date = date.char_indices().all(|(at, c)| match at {
        4 | 7 | 10 => c == '-',
        _ => c.is_ascii_digit(),
    });
    let unnamed = (date.is_empty() || !is_date)
        .then(|| format!("{}: name it YYYY-MM-DD-<what>.md, after the day of the measurement", file.path));
    let lines: Vec<&str> = file.text.lines().collect();
    let said = |at: usize, fact: &str| {
        lines.get(at + 1).and_then(|line| line.strip_prefix(fact)).is_some_and(|rest| !rest.trim().is_empty())
    };
    let unsaid = FACTS.iter().enumerate().filter(|(at, fact)| !said(*at, fact)).map(|(at, fact)| {
        let line = at + 2;
        format!("{}:{line}: must begin with `{fact}`; write `not recorded` if it is unknown", file.path)
    });
    unnamed.into_iter().chain(unsaid).collect()
}

/// Complaint about a README or a page on how we measure that has become long.
pub fn check_length(file: &TextFile) -> Option<String> {
    let (page, max_words) = HOW_WE_MEASURE;
    let (n, max, unit) = match file.path.as_str() {
        "README.md" => (file.text.lines().count(), README_LINES, "lines"),
        path if path == page => (file.text.split_whitespace().count(), max_words, "words"),
        _ => return None,
    };
    let remedy = "move what a newcomer does not need to a page below docs/";
    (n > max).then(|| format!("{}: {n} {unit}, at most {max}; {remedy}", file.path))
}

/// Complaints about those of `pages` in `folder` that the page `list` of that folder has no link to.
fn unlisted(files: &[TextFile], list: &str, folder: &str, pages: &[&str]) -> Vec<String> {
    let text = files.iter().find(|file| file.path == list).map(|file| file.text.as_str());
    let listed = links(text.unwrap_or_default());
    let of_folder = pages.iter().filter(|page| **page != list).filter_map(|page| page.strip_prefix(folder));
    let absent = of_folder.filter(|page| !listed.contains(page));
    absent.map(|page| format!("{list}: has no link to `{page}`; add one, or remove the page")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_page_that_no_list_names_is_named() {
        let mut files = vec![
            page(SUMMARY, "[a](a.md) [m](measurements/README.md) [o](measurements/2026-01-02-one.md)"),
            page("docs/a.md", ""),
            page("docs/measurements/README.md", "[o](2026-01-02-one.md)"),
            page("docs/measurements/2026-01-02-one.md", ""),
            page("README.md", ""),
        ];
        assert_eq!(check_listed(&files), Vec::<String>::new());
        files.push(page("docs/measurements/2026-01-02-two.md", ""));
        let found = check_listed(&files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("docs/SUMMARY.md: has no link to `measurements/2026-01-02-two.md`"));
        assert!(found[1].starts_with("docs/measurements/README.md: has no link to `2026-01-02-two.md`"));
    }

    #[test]
    fn a_measurement_says_date_machine_commit_and_command() {
        let whole = "# One\n- **Date:** 2026-01-02\n- **Machine:** m\n- **Commit:** c\n- **Command:** `x`\n";
        let path = "docs/measurements/2026-01-02-one.md";
        assert_eq!(check_measurement(&page(path, whole)), Vec::<String>::new());
        assert_eq!(check_measurement(&page("docs/measurements/one.md", whole)).len(), 1);
        assert_eq!(check_measurement(&page("docs/one.md", "")), Vec::<String>::new());
        for (fact, line) in FACTS.iter().zip(2..) {
            let found = check_measurement(&page(path, &whole.replace(fact, "- **Other:** ")));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(&format!("{path}:{line}: must begin with `{fact}`")), "{found:?}");
        }
        assert_eq!(check_measurement(&page(path, &whole.replace("** m\n", "** \n"))).len(), 1);
    }

    #[test]
    fn a_phrase_is_found_in_messages_and_documents_and_not_in_comments() {
        for phrase in PHRASES.split('|') {
            let found = |path: &str, line: &str| check_phrases(&page(path, line)).len();
            assert_eq!(found("a/src/x.rs", &format!("\"it {phrase} it\"")), 1, "{phrase}");
            assert_eq!(found("docs/x.md", phrase), 1, "{phrase}");
            assert_eq!(found("a/src/x.rs", &format!("    // {phrase}")), 0, "{phrase}");
            assert_eq!(found("docs/measurements/x.md", phrase), 0, "{phrase}");
        }
    }

    #[test]
    fn the_first_pages_stay_short() {
        let lines = "a\n".repeat(README_LINES);
        assert_eq!(check_length(&page("README.md", &lines)), None);
        assert!(check_length(&page("README.md", &format!("{lines}a\n"))).is_some());
        let (path, max) = HOW_WE_MEASURE;
        assert_eq!(check_length(&page(path, &"word ".repeat(max))), None);
        assert!(check_length(&page(path, &"word ".repeat(max + 1))).is_some());
        assert_eq!(check_length(&page("CHANGELOG.md", &lines.repeat(9))), None);
    }
}
