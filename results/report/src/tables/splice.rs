//! Renews marked tables in a document: the text between `<!-- specimen:table NAME -->` and
//! `<!-- /specimen:table -->` becomes the table of the run of that name; with `brief` behind the name, without the lines
//! below it that say what its columns mean. Everything else stays to the byte.

use std::path::Path;

use specimen_foundation::failure;
use specimen_record::{Summary, read_given, write_atomic};

use crate::{ReportError, table::Table, tables::table::table_of};

/// Bytes of a document, at most.
const MAX_BYTES: u64 = 64 << 20;

const END: &str = "<!-- /specimen:table -->";

/// The line below a brief table.
const BRIEF: &str = "The run's report/table.md has the meaning of the columns, all warnings and the paired differences. Bold: the best of \
                     its group, italic: the second.";

/// Puts the tables of runs into a file, each wherever its name is marked, with these columns or all.
pub fn splice(path: &Path, summaries: &[Summary], columns: &[String]) -> Result<(), ReportError> {
    let text = String::from_utf8(read_given(path, MAX_BYTES)?)
        .map_err(|error| crate::error::unreadable(path, std::io::Error::other(error)))?;
    let mut renewed = text.clone();
    for summary in summaries {
        let refuse = |reason: String| failure!(Missing: "{}: {reason}", path.display());
        let whole = table_of(summary, columns)?;
        let brief = Table { legend: vec![BRIEF.to_owned()], marked: None, ..whole.clone() };
        renewed = replaced(&renewed, &summary.name, &whole.markdown(), &brief.markdown()).map_err(refuse)?;
    }
    if renewed != text {
        write_atomic(path, renewed.as_bytes())?;
    }
    Ok(())
}

/// The text with a table in every place marked with `name`.
fn replaced(text: &str, name: &str, whole: &str, brief: &str) -> Result<String, String> {
    let marks = [
        (format!("<!-- specimen:table {name} -->"), whole),
        (format!("<!-- specimen:table {name} brief -->"), brief),
    ];
    let mut out = text.to_owned();
    let mut n = 0;
    for (begin, table) in &marks {
        let before = std::mem::take(&mut out);
        let mut parts = before.split(begin.as_str());
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let Some((_, after)) = part.split_once(END) else {
                return Err(format!("`{begin}` has no `{END}` after it"));
            };
            out.push_str(&format!("{begin}\n{}\n{END}{after}", table.trim_end()));
            n += 1;
        }
    }
    match n {
        0 => Err(format!(
            "no table is marked with `{}`; write it and `{END}` where the table belongs",
            marks[0].0
        )),
        _ => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    const PAGE: &str = "# Title\n<!-- specimen:table a -->\nold\n<!-- /specimen:table -->\ntext\n\
                        <!-- specimen:table b -->\nstays\n<!-- /specimen:table -->\n";

    #[test]
    fn what_is_marked_is_renewed_and_the_rest_stays() {
        let page = replaced(PAGE, "a", "| x |\n", "").unwrap();
        assert_eq!(page, PAGE.replace("\nold\n", "\n| x |\n"));
        assert_eq!(replaced(&page, "a", "| x |\n", "").unwrap(), page, "a second time changes nothing");
    }

    #[test]
    fn a_brief_table_stands_where_it_is_asked_for() {
        let page = PAGE.replace("table b -->", "table a brief -->");
        let renewed = replaced(&page, "a", "| whole |", "| brief |").unwrap();
        assert_eq!(renewed, page.replace("\nold\n", "\n| whole |\n").replace("\nstays\n", "\n| brief |\n"));
    }

    #[test]
    fn a_run_that_is_marked_nowhere_and_a_mark_without_end_are_told() {
        assert!(replaced(PAGE, "c", "", "").unwrap_err().contains("<!-- specimen:table c -->"));
        assert!(replaced("<!-- specimen:table a -->\n", "a", "", "").unwrap_err().contains("has no"));
    }
}
