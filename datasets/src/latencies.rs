//! Images made elsewhere with a table of what is known of each: a CSV file with a header and one row an image.
//!
//! | column | what it is |
//! |---|---|
//! | `file` or `id` | the image: its path inside the folder with `/`, or the id in its name ([`crate::image_folder`]) |
//! | `prompt` or `prompt_id` | what it shows: the text, or the id of a prompt of a dataset; both may be given |
//! | `seconds` | how long it took, more than 0 |
//! | `cell` | the method, where the table has several; may be left out |
//! | `tokens` | its tokens, separated by blanks; may be left out |
//! | `forwards` | forwards of the target; may be left out |
//! | `seed` | key of its random source, a whole number; may be left out |
//!
//! A field that is empty counts as left out. Images and rows must fit one another exactly; what lacks on either side is
//! listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use specimen_foundation::fail;

use crate::delimited::{self, Field};
use crate::error::{DatasetError, Place, Result};
use crate::image_folder;
use crate::prompt::PromptId;
use crate::read::{self, SourceFile};

/// The columns that a table may have.
pub const COLUMNS: [&str; 9] =
    ["file", "id", "prompt", "prompt_id", "seconds", "cell", "tokens", "forwards", "seed"];
/// Tokens of an image, at most, and seconds that one may have taken: ten days.
const MAX_TOKENS: usize = 1 << 18;
const MAX_SECONDS: f64 = 864_000.0;
/// Names that are listed of each side, at most.
const MAX_LISTED: usize = 8;

/// What a table says of one image.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageRow {
    /// Where the image is named.
    pub place: Place,
    /// Where the method is named, where it is.
    pub cell_place: Option<Place>,
    /// Where the prompt is: its text, else its id, else the image's name.
    pub prompt_place: Place,
    /// The image's path inside the folder, with `/`.
    pub file: String,
    /// The method, where the table names one.
    pub cell: Option<String>,
    /// The prompt's text, where the table has it.
    pub prompt: Option<String>,
    /// The prompt's id; where the table has none, the id of the image.
    pub prompt_id: PromptId,
    /// How long it took.
    pub seconds: f64,
    /// Its tokens, `[n_tokens]`.
    pub tokens: Option<Vec<u32>>,
    /// Forwards of the target, at least 1.
    pub forwards: Option<u64>,
    /// Key of its random source.
    pub seed: Option<u64>,
}

/// Reads the table `path` of the images below `folder`; the rows in the table's order.
pub fn read(path: &Path, folder: &Path) -> Result<(Vec<ImageRow>, SourceFile)> {
    let (text, source) = read::text(path)?;
    let table = delimited::csv(path, &text)?;
    let columns = Columns::of(path, &table)?;
    let images = Images::below(folder)?;
    let (mut rows, mut absent) = (Vec::new(), Vec::new());
    let mut taken: BTreeMap<String, Place> = BTreeMap::new();
    for record in &table.records {
        let Some(row) = columns.row(path, record, &images)? else {
            let name = columns.image.map_or("", |column| record[column].text.as_str());
            absent.push(format!("{} ({})", read::quote(name), columns.place(record)));
            continue;
        };
        if let Some(first) = taken.insert(row.file.clone(), row.place.clone()) {
            let (path, id) = (path.to_path_buf(), row.file);
            return Err(crate::error::duplicate_id(&path, id, first, row.place));
        }
        rows.push(row);
    }
    let without_row: Vec<String> =
        images.names.iter().filter(|name| !taken.contains_key(*name)).map(|name| read::quote(name)).collect();
    if !absent.is_empty() || !without_row.is_empty() {
        fail!(Missing: "{}: it does not fit the images in {}: {}", path.display(), folder.display(),
            sides(&absent, &without_row));
    }
    if rows.is_empty() {
        return Err(DatasetError::malformed(path, Place::Line(1), "a row for each image", "a header alone"));
    }
    Ok((rows, source))
}

/// What lacks on each side, in words.
fn sides(absent: &[String], without_row: &[String]) -> String {
    let listed = |names: &[String], what: &str| {
        let shown = names.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{} {what}: {shown}{more}", names.len())
    };
    let parts = [
        (!absent.is_empty()).then(|| listed(absent, "row(s) without an image")),
        (!without_row.is_empty()).then(|| listed(without_row, "image(s) without a row")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The images of a folder by name and by id.
struct Images {
    names: BTreeSet<String>,
    /// Names whose id it is.
    by_id: BTreeMap<PromptId, Vec<String>>,
}

impl Images {
    fn below(folder: &Path) -> Result<Self> {
        let names: BTreeSet<String> = image_folder::names(folder)?.into_iter().collect();
        let mut by_id: BTreeMap<PromptId, Vec<String>> = BTreeMap::new();
        for name in &names {
            if let Ok(id) = image_folder::id_from_name(Path::new(name)) {
                by_id.entry(id).or_default().push(name.clone());
            }
        }
        if names.is_empty() {
            fail!(Missing: "{}: no image files (png, jpg, jpeg, webp, bmp) in it", folder.display());
        }
        Ok(Self { names, by_id })
    }
}

/// Where the columns stand.
struct Columns {
    image: Option<usize>,
    is_file: bool,
    prompt: Option<usize>,
    prompt_id: Option<usize>,
    seconds: usize,
    cell: Option<usize>,
    tokens: Option<usize>,
    forwards: Option<usize>,
    seed: Option<usize>,
}

impl Columns {
    fn of(path: &Path, table: &delimited::Table) -> Result<Self> {
        if let Some(unknown) = table.header.iter().find(|field| !COLUMNS.contains(&field.text.as_str())) {
            // A column that differs by case or blanks is reported by its own reader below.
            for name in COLUMNS {
                table.column(path, name)?;
            }
            let expected = format!("the columns {}", COLUMNS.join(", "));
            let found = read::quote(&unknown.text);
            return Err(DatasetError::malformed(path, unknown.place.clone(), expected, found));
        }
        let [file, id, prompt, prompt_id] = [
            table.column(path, "file")?,
            table.column(path, "id")?,
            table.column(path, "prompt")?,
            table.column(path, "prompt_id")?,
        ];
        let missing = |expected: &str| {
            let found: Vec<_> = table.header.iter().map(|field| read::quote(&field.text)).collect();
            let found = format!("the columns {}", found.join(", "));
            DatasetError::malformed(path, Place::Line(1), expected, found)
        };
        if file.is_some() == id.is_some() {
            return Err(missing("one column `file` or `id`, which names the image"));
        }
        if prompt.is_none() && prompt_id.is_none() {
            return Err(missing("a column `prompt` or `prompt_id`"));
        }
        Ok(Self {
            image: file.or(id),
            is_file: file.is_some(),
            prompt,
            prompt_id,
            seconds: table.required_column(path, "seconds")?,
            cell: table.column(path, "cell")?,
            tokens: table.column(path, "tokens")?,
            forwards: table.column(path, "forwards")?,
            seed: table.column(path, "seed")?,
        })
    }

    /// Where a row names its image.
    fn place<'r>(&self, record: &'r [Field]) -> &'r Place {
        &record[self.image.expect("there is one or the other")].place
    }

    /// One row; `None` where its image is not there.
    fn row(&self, path: &Path, record: &[Field], images: &Images) -> Result<Option<ImageRow>> {
        let bad = |field: &Field, expected: &str| {
            DatasetError::malformed(path, field.place.clone(), expected, read::quote(&field.text))
        };
        let filled =
            |column: Option<usize>| column.map(|c| &record[c]).filter(|field| !field.text.is_empty());
        let image = &record[self.image.expect("there is one or the other")];
        let file = if self.is_file {
            let is_clean = !image.text.starts_with('/')
                && image.text.split('/').all(|part| !["", ".", ".."].contains(&part));
            if !is_clean {
                return Err(bad(image, "the image's path inside the folder, without `..`"));
            }
            images.names.contains(&image.text).then(|| image.text.clone())
        } else {
            let id = PromptId::new(image.text.as_str())
                .map_err(|e| bad(image, &format!("an id that {}", e.rule)))?;
            match images.by_id.get(&id).map(Vec::as_slice) {
                None => None,
                Some([one]) => Some(one.clone()),
                Some([one, two, ..]) => {
                    let expected = format!(
                        "an id of one image, not of {} and {}; use a column `file`",
                        read::quote(one),
                        read::quote(two)
                    );
                    return Err(bad(image, &expected));
                }
                Some([]) => unreachable!("an id is listed with a name"),
            }
        };
        let seconds = &record[self.seconds];
        let n_seconds = seconds.text.parse::<f64>().ok().filter(|s| *s > 0.0 && *s <= MAX_SECONDS);
        let n_seconds = n_seconds.ok_or_else(|| bad(seconds, "seconds above 0, at most 864000"))?;
        let whole = |field: &Field, least: u64| {
            let number = field.text.parse::<u64>().ok().filter(|n| *n >= least);
            number.ok_or_else(|| bad(field, &format!("a whole number from {least} to {}", u64::MAX)))
        };
        let tokens = filled(self.tokens).map(|field| {
            let tokens: Option<Vec<u32>> =
                field.text.split_ascii_whitespace().map(|n| n.parse().ok()).collect();
            let tokens = tokens.filter(|tokens| (1..=MAX_TOKENS).contains(&tokens.len()));
            tokens.ok_or_else(|| bad(field, "1 to 262144 tokens, whole numbers separated by blanks"))
        });
        let (tokens, forwards) =
            (tokens.transpose()?, filled(self.forwards).map(|field| whole(field, 1)).transpose()?);
        let seed = filled(self.seed).map(|field| whole(field, 0)).transpose()?;
        let of_prompt = filled(self.prompt).or_else(|| filled(self.prompt_id)).unwrap_or(image);
        let prompt_id = match filled(self.prompt_id) {
            Some(field) => PromptId::new(field.text.as_str())
                .map_err(|e| bad(field, &format!("an id that {}", e.rule)))?,
            None => {
                let id = image_folder::id_from_name(Path::new(&image.text)).ok();
                let id = if self.is_file { id } else { PromptId::new(image.text.as_str()).ok() };
                id.ok_or_else(|| bad(image, "a name with an id in it, or a `prompt_id`"))?
            }
        };
        let prompt = filled(self.prompt).map(|field| field.text.clone());
        let cell = filled(self.cell);
        Ok(file.map(|file| ImageRow {
            place: image.place.clone(),
            cell_place: cell.map(|field| field.place.clone()),
            prompt_place: of_prompt.place.clone(),
            file,
            cell: cell.map(|field| field.text.clone()),
            prompt,
            prompt_id,
            seconds: n_seconds,
            tokens,
            forwards,
            seed,
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn read_text(names: &[&str], text: &str) -> Result<Vec<ImageRow>> {
        let folder = tempfile::tempdir().unwrap();
        let images = folder.path().join("images");
        for name in names {
            let path = images.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let table = folder.path().join("times.csv");
        std::fs::write(&table, text).unwrap();
        read(&table, &images).map(|(rows, _)| rows)
    }

    #[track_caller]
    fn check_refused(names: &[&str], text: &str, parts: &[&str]) {
        let message = read_text(names, text).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn rows_are_read_by_file_or_by_id() {
        let rows = read_text(&["a/img_007.png"], "file,prompt,seconds,tokens,forwards,seed,cell\na/img_007.png,\"a red, bus\",1.5,3 1,2,9,lantern\n").unwrap();
        let expected = ImageRow {
            place: Place::At { line: 2, column: 1 },
            cell_place: Some(Place::At { line: 2, column: 40 }),
            prompt_place: Place::At { line: 2, column: 15 },
            file: "a/img_007.png".to_owned(),
            cell: Some("lantern".to_owned()),
            prompt: Some("a red, bus".to_owned()),
            prompt_id: PromptId::number(7),
            seconds: 1.5,
            tokens: Some(vec![3, 1]),
            forwards: Some(2),
            seed: Some(9),
        };
        assert_eq!(rows, [expected]);
        let rows = read_text(&["img_007.png"], "id,prompt_id,seconds,tokens,seed\n7,12,0.5,,\n").unwrap();
        assert_eq!((rows[0].file.as_str(), rows[0].prompt_id.as_str()), ("img_007.png", "12"));
        assert_eq!((&rows[0].tokens, rows[0].seed), (&None, None));
        assert_eq!((&rows[0].cell_place, &rows[0].prompt_place), (&None, &Place::At { line: 2, column: 3 }));
        let rows = read_text(&["img_007.png"], "seconds,id,prompt_id\n0.5,7,\n").unwrap();
        assert_eq!(
            (&rows[0].place, &rows[0].prompt_place),
            (&rows[0].prompt_place, &Place::At { line: 2, column: 5 })
        );
    }

    #[test]
    fn what_lacks_on_each_side_is_listed() {
        let names = ["1.png", "2.png", "notes.txt"];
        let parts =
            ["1 row(s) without an image: `3.png` (line 3, column 1)", "1 image(s) without a row: `2.png`"];
        check_refused(&names, "file,prompt,seconds\n1.png,a,1\n3.png,b,1\n", &parts);
        let many: Vec<String> = (0..20).map(|n| format!("{n}.png")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check_refused(&many, "id,prompt,seconds\n0,a,1\n", &["19 image(s) without a row: ", " and 11 more"]);
        check_refused(&["notes.txt"], "id,prompt,seconds\n0,a,1\n", &["images"]);
    }

    #[test]
    fn a_field_that_is_wrong_is_named_with_line_and_column() {
        let row = |row: &str| format!("file,prompt,seconds,tokens,forwards,seed\n{row}\n");
        let check = |fields: &str, parts: &[&str]| check_refused(&["1.png"], &row(fields), parts);
        check("1.png,a,fast,,,", &["times.csv: line 2, column 9: expected seconds above 0", "`fast`"]);
        check("1.png,a,-1,,,", &["line 2, column 9", "`-1`"]);
        check("1.png,a,nan,,,", &["line 2, column 9"]);
        check("1.png,a,inf,,,", &["line 2, column 9"]);
        check("1.png,a,1,3 x,,", &["line 2, column 11: expected 1 to 262144 tokens", "`3 x`"]);
        check(
            "1.png,a,1,,0,",
            &["line 2, column 12: expected a whole number from 1 to 18446744073709551615"],
        );
        check(
            "1.png,a,1,,,-3",
            &["line 2, column 13: expected a whole number from 0 to 18446744073709551615"],
        );
        check("../1.png,a,1,,,", &["line 2, column 1: expected the image's path inside the folder"]);
        check("/1.png,a,1,,,", &["path inside the folder"]);
        check("1.png,\"a,1,,,", &["line 2, column 7"]);
        check("1.png,a,1,,", &["line 2, column 1: expected 6 fields"]);
        check_refused(
            &["1.png"],
            "file,prompt,seconds\n1.png,a,1\n1.png,b,1\n",
            &["1.png", "line 2, column 1", "line 3, column 1"],
        );
        check_refused(
            &["a.png"],
            "file,prompt,seconds\na.png,a,1\n",
            &["a name with an id in it, or a `prompt_id`"],
        );
        check_refused(
            &["a1.png", "b1.png"],
            "id,prompt,seconds\n1,a,1\n",
            &["an id of one image", "use a column `file`"],
        );
    }

    #[test]
    fn a_header_that_lacks_or_misspells_a_column_is_refused() {
        let check =
            |header: &str, parts: &[&str]| check_refused(&["1.png"], &format!("{header}\n1,a,1\n"), parts);
        check("id,prompt,second", &["line 1, column 11: expected the columns file, id,", "`second`"]);
        check("id,Prompt,seconds", &["expected one column named exactly `prompt`", "`Prompt`"]);
        check("id,cell,seconds", &["a column `prompt` or `prompt_id`"]);
        check("prompt_id,prompt,seconds", &["one column `file` or `id`"]);
        check("id,prompt,seed", &["a header with a column `seconds`"]);
        check_refused(&["1.png"], "", &["a header line", "an empty file"]);
        check_refused(&["1.png"], "id,prompt,seconds\n", &["1 image(s) without a row"]);
    }
}
