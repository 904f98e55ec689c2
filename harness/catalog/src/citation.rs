//! The works to cite: one BibTeX entry each in `citations/`, named by its key; and the list of those that a run is made of.
//! This program's own entry is made of `CITATION.cff`.

use std::sync::LazyLock;

use specimen_foundation::{
    failure::{Failure, FailureKind},
    names,
};

/// A work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Its key.
    pub key: &'static str,
    /// Its BibTeX entry, with a line break at its end.
    pub bibtex: String,
}

/// The key of this program.
pub const OWN: &str = "specimen";

/// Name and text of every file.
const SOURCES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/citations.rs"));

/// What this program says of itself.
const CITATION_CFF: &str = include_str!("../../../CITATION.cff");

/// Every work, this program first, then by key.
pub static CITATIONS: LazyLock<Vec<Citation>> = LazyLock::new(|| {
    let read = |&(key, text): &(&'static str, &str)| Citation { key, bibtex: text.to_owned() };
    std::iter::once(own()).chain(SOURCES.iter().map(read)).collect()
});

/// A key that no file of `citations/` has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: no work has the key `{key}`; {suggestion}")]
pub struct UnknownWork {
    /// What asks for it.
    pub place: String,
    /// The key.
    pub key: String,
    /// The key that was probably meant, or all of them.
    pub suggestion: String,
}

impl Failure for UnknownWork {
    fn kind(&self) -> Option<FailureKind> {
        Some(FailureKind::Usage)
    }
}

/// Works, each once and with all reasons why it is cited, in the order in which they were first asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bibliography {
    // Invariant: keys are unique, and every work has a reason.
    works: Vec<(&'static Citation, Vec<String>)>,
    /// What has no entry, in words.
    notes: Vec<String>,
}

impl Bibliography {
    /// Adds the works that `keys` name, because of `reason` (`method gsd`).
    pub fn add<K: AsRef<str>>(&mut self, keys: &[K], reason: &str) -> Result<(), UnknownWork> {
        for key in keys.iter().map(AsRef::as_ref) {
            let known = CITATIONS.iter().find(|known| known.key == key);
            let work = known.ok_or_else(|| unknown(reason, key))?;
            match self.works.iter_mut().find(|(known, _)| known.key == key) {
                Some((_, reasons)) if reasons.iter().any(|known| known == reason) => {}
                Some((_, reasons)) => reasons.push(reason.to_owned()),
                None => self.works.push((work, vec![reason.to_owned()])),
            }
        }
        Ok(())
    }

    /// Adds a sentence about something that has no entry here.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The works, each with its reasons.
    pub fn works(&self) -> impl Iterator<Item = (&'static Citation, &[String])> {
        self.works.iter().map(|(work, reasons)| (*work, reasons.as_slice()))
    }

    /// What has no entry, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A file of BibTeX: before each entry a line that says why it is there, and at the end the notes.
    pub fn bibtex(&self) -> String {
        let entry = |(work, reasons): (&Citation, &[String])| {
            format!("% {}\n{}\n", comment(&reasons.join("; ")), work.bibtex)
        };
        let entries: String = self.works().map(entry).collect();
        let notes: String = self.notes.iter().map(|note| format!("% {}\n", comment(note))).collect();
        entries + &notes
    }
}

/// One line in which BibTeX, which reads no comments, finds no entry.
fn comment(text: &str) -> String {
    text.replace(['@', '\n', '\r'], " ")
}

fn unknown(reason: &str, key: &str) -> UnknownWork {
    let suggestion = names::suggestion(key, CITATIONS.iter().map(|known| known.key));
    UnknownWork { place: reason.to_owned(), key: key.to_owned(), suggestion }
}

/// The entry of this program.
fn own() -> Citation {
    let field = |name: &str| {
        let line =
            CITATION_CFF.lines().find_map(|line| line.trim().trim_start_matches("- ").strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix(": ")).map(|value| value.trim_matches('"')).unwrap_or_default()
    };
    let (author, title, version) = (field("name"), field("title"), field("version"));
    let bibtex = format!(
        "@misc{{{OWN},\n  author  = {{{{{author}}}}},\n  title   = {{{title}}},\n  note    = {{version {version}}},\n}}\n"
    );
    Citation { key: OWN, bibtex }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Kind, key and fields of the one entry that `text` is: `@kind{key, name = {value}, …}` with balanced braces.
    fn entry(text: &str) -> Option<(&str, &str, BTreeMap<&str, &str>)> {
        let (kind, rest) = text.strip_prefix('@')?.split_once('{')?;
        let (key, mut rest) = rest.split_once(',')?;
        let mut fields = BTreeMap::new();
        loop {
            rest = rest.trim_start();
            if let Some(end) = rest.strip_prefix('}') {
                return end.trim().is_empty().then_some((kind, key, fields));
            }
            let (name, value) = rest.split_once('=')?;
            let value = value.trim_start().strip_prefix('{')?;
            let mut depth = 1;
            let end = value.char_indices().find(|(_, c)| {
                depth += i32::from(*c == '{') - i32::from(*c == '}');
                depth == 0
            })?;
            let is_new = fields.insert(name.trim(), &value[..end.0]).is_none();
            rest = value[end.0 + 1..].trim_start().strip_prefix(',').filter(|_| is_new)?;
        }
    }

    #[test]
    fn every_file_is_one_entry_under_its_key_and_says_who_what_when_and_where() {
        for (name, text) in SOURCES {
            let (kind, key, fields) = entry(text).unwrap_or_else(|| panic!("{name}.bib is no BibTeX entry"));
            assert_eq!(key, *name);
            assert!(["article", "inproceedings", "misc"].contains(&kind), "{name}: {kind}");
            let has = |field: &str| fields.get(field).is_some_and(|value| !value.is_empty());
            assert!(has("title") && has("year"), "{name}: {fields:?}");
            let is_year = |year: &str| year.parse().is_ok_and(|year: u32| (1950..2100).contains(&year));
            assert!(is_year(fields["year"]), "{name}: {fields:?}");
            let place = ["booktitle", "journal", "eprint", "howpublished", "note"];
            assert!(place.into_iter().any(has), "{name} says not where it was published");
            // An entry without authors says why.
            let is_open = fields.get("note").is_some_and(|note| note.contains("could not be verified"));
            assert!(has("author") || is_open, "{name} has no authors");
            let by_kind = match kind {
                "article" => has("journal"),
                "inproceedings" => has("booktitle"),
                _ => true,
            };
            assert!(by_kind, "{name}: an entry of the kind {kind} needs its journal or proceedings");
            assert_eq!(fields.contains_key("eprint"), fields.contains_key("archiveprefix"), "{name}");
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/citations")).unwrap();
        assert_eq!(files.count(), SOURCES.len());
    }

    #[test]
    fn two_works_have_neither_one_key_nor_one_title() {
        let titles: Vec<&str> = SOURCES.iter().map(|(_, text)| entry(text).unwrap().2["title"]).collect();
        for sorted in [titles, CITATIONS.iter().map(|work| work.key).collect()] {
            let mut unique = sorted.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), sorted.len());
        }
    }

    #[test]
    fn what_is_no_entry_is_seen() {
        let good = "@misc{a,\n  title = {A {B} c},\n}\n";
        assert_eq!(entry(good).unwrap().2["title"], "A {B} c");
        for bad in [
            "misc{a,\n}\n",
            "@misc{a,\n  title = {A {B c},\n}\n",
            "@misc{a,\n  title = {A},\n  title = {B},\n}\n",
            "@misc{a,\n  title = {A}\n}\n",
            "@misc{a,\n  title = {A},\n}\n@misc{b,\n}\n",
        ] {
            assert_eq!(entry(bad), None, "{bad}");
        }
    }

    #[test]
    fn this_program_cites_itself_as_its_citation_file_says() {
        let own = &CITATIONS[0];
        let (_, key, fields) = entry(&own.bibtex).unwrap();
        assert_eq!(key, OWN);
        assert_eq!(fields["author"], "{the specimen authors}");
        assert_eq!(fields["note"], concat!("version ", env!("CARGO_PKG_VERSION")));
        assert!(CITATION_CFF.contains(fields["title"]) && !fields["title"].is_empty());
    }

    #[test]
    fn a_work_comes_once_with_all_its_reasons() {
        let mut works = Bibliography::default();
        works.add(&["so2025gsd", OWN], "method gsd").unwrap();
        works.add(&["so2025gsd"], "metric a@b").unwrap();
        works.add(&["so2025gsd"], "method gsd").unwrap();
        works.note("cell x: by hand@home".to_owned());
        works.note("cell x: by hand@home".to_owned());
        let bibtex = works.bibtex();
        assert!(bibtex.starts_with("% method gsd; metric a b\n@inproceedings{so2025gsd,\n"), "{bibtex}");
        assert_eq!(bibtex.matches('@').count(), 2, "{bibtex}");
        assert!(bibtex.ends_with("\n% cell x: by hand home\n"), "{bibtex}");
        let refused = works.add(&["so2025gds"], "protocol mine").unwrap_err().to_string();
        assert!(refused.contains("protocol mine: no work has the key `so2025gds`"), "{refused}");
        assert!(refused.contains("did you mean `so2025gsd`"), "{refused}");
    }
}
