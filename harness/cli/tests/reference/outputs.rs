//! The page of the files of a run, from the schemas of the types that write them.

use std::{collections::BTreeSet, fmt::Write};

use serde_json::Value;
use specimen_experiments::measures::{MEASURES, Measure};
use specimen_record::{PublishedSchema, schemas};
use specimen_report::{image_columns, table_columns};

use crate::{code, table};

/// The page.
pub(crate) fn outputs() -> String {
    let mut text = "# Files of a run\nEvery JSON file that `specimen run` writes, with the type and the meaning of its fields: what \
                    the program's own types say. A `*` is a number or a name. A file `.jsonl` has one such object a line. \
                    Names that end in `_ns` are nanoseconds, in `_s` seconds, in `_mb` mebibytes. A field that may be `null` \
                    or absent says when. The same as JSON Schema: [results/record/schema](../../results/record/schema).\n\n\
                    What is where: [ARCHITECTURE.md](../../ARCHITECTURE.md).\n"
        .to_owned();
    let mut shared = BTreeSet::new();
    let all = schemas();
    for PublishedSchema { file, describes, schema } in &all {
        let about = in_one_line(schema["description"].as_str().unwrap_or_default());
        write!(text, "\n## {describes}\n{about} ([schema](../../results/record/schema/{file}))\n\n").unwrap();
        text.push_str(&fields(schema));
        for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
            // One part is in several files.
            if shared.insert(name.clone()) {
                let about = in_one_line(part["description"].as_str().unwrap_or_default());
                write!(text, "\n### {name}\n{about}\n\n{}", fields(part)).unwrap();
            }
        }
    }
    columns(&mut text);
    text
}

/// The columns of the files that are tables.
fn columns(text: &mut String) {
    text.push_str(
        "\n## Measures of a cell\nWhat `measures` of a cell in `summary.json` has by these names. Goals of `tune`, rules of gates, \
         `[[expect]]` of specs and claims of papers take the same names, those under a cost table apart. One that does not \
         apply to a cell is not there; one without a value says why.\n\n",
    );
    let row = |measure: &Measure| {
        let better = measure.higher_is_better().map_or("", |higher| if higher { "higher" } else { "lower" });
        let times = if measure.of_times { "yes" } else { "" };
        [&code(&measure.key), measure.unit.as_str(), better, times, &measure.what].map(str::to_owned).to_vec()
    };
    let heads = ["measure", "unit", "better", "from times", "what it is"];
    text.push_str(&table(&heads, MEASURES.iter().map(row)));
    text.push_str(
        "\n## report/table.csv\nOne row a cell. A measure with an interval has its ends in `NAME_lo` and `NAME_hi`. All \
         measures of the run are there, whatever columns the printed table shows; one that no cell has, or that is another's in every cell, is not. `speedup_e2e` and `e2e_s_per_image` are there where another program made a cell; `summary.json` always has both. Metrics follow under their own names, and `METRIC_distance` where nearer to the \
         baseline is better.\n\n",
    );
    let row = |(name, unit, what): (String, String, &str)| vec![code(&name), unit, what.to_owned()];
    text.push_str(&table(&["column", "unit", "what it is"], table_columns().into_iter().map(row)));
    text.push_str(
        "\n## Images as a table\n`specimen records RUN… --out FILE.csv|FILE.parquet`: one row an image. Further columns: \
         `param:NAME`, a setting of an axis, or a number in which cells of one kind of method differ; `prompt:NAME`, a fact of the prompt from its dataset, such as its \
         category; `score:METRIC@PROTOCOL`. `report/images.csv` has columns of the same names; its `image` is the path from \
         the report.\n\n",
    );
    let row = |(name, kind, what): (&str, String, &str)| vec![code(name), kind, what.to_owned()];
    text.push_str(&table(&["column", "type", "what it is"], image_columns().map(row)));
}

/// The fields of an object, or the values of what is none.
fn fields(schema: &Value) -> String {
    if let Some(variants) = schema["oneOf"].as_array() {
        let row = |variant: &Value| {
            let names = variant["properties"].as_object().into_iter().flatten().map(|(name, _)| code(name));
            let values = variant["const"].as_str().or(variant["enum"][0].as_str()).map(code);
            let value = values.unwrap_or_else(|| names.collect::<Vec<_>>().join(", "));
            vec![value, in_one_line(variant["description"].as_str().unwrap_or_default())]
        };
        return table(&["value", "what it is"], variants.iter().map(row));
    }
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty())
    else {
        return format!("A value of type {}.\n", type_of(schema));
    };
    let required = schema["required"].as_array();
    let row = |(name, field): (&String, &Value)| {
        let is_required = required.is_some_and(|required| required.iter().any(|one| one == name.as_str()));
        let absent = if is_required { "" } else { ", may be absent" };
        let about = in_one_line(field["description"].as_str().unwrap_or_default());
        vec![code(name), format!("{}{absent}", type_of(field)), about]
    };
    table(&["field", "type", "what it is"], properties.iter().map(row))
}

/// The type of a field in words; that of a part by its name.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(several) = schema["anyOf"].as_array() {
        return several.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    let names = match &schema["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return "any".to_owned(),
    };
    let of = |name: &&str| match *name {
        "array" => match (&schema["items"], &schema["prefixItems"]) {
            (Value::Object(_), _) => format!("list of {}", type_of(&schema["items"])),
            (_, Value::Array(items)) => format!("{} of {}", items.len(), type_of(&items[0])),
            _ => "list".to_owned(),
        },
        "object" => match &schema["additionalProperties"] {
            Value::Object(_) => format!("object of {}", type_of(&schema["additionalProperties"])),
            _ => "object".to_owned(),
        },
        other => other.to_owned(),
    };
    names.iter().map(of).collect::<Vec<_>>().join(" or ")
}

/// A doc comment without line ends, and without the brackets of its links.
fn in_one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("[`", "`").replace("`]", "`")
}
