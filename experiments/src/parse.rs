//! The text of a spec, with overrides applied, and its resolution into a [`Spec`]. Each error names file,
//! line and column, or the argument that is wrong.

use std::{io::Read, path::Path};

use specimen_catalog::{METRICS, Metric, metric};
use specimen_datasets::CaptionPolicy;
use specimen_foundation::names::nearest;

use crate::{
    blame::Before,
    bundled::{BUNDLED, bundled, last_part},
    cells::batch,
    document::{Entry, Node, Value},
    error::{Fault, SpecError},
    expect,
    fields::{self, Fields, out_of_range, unknown_name},
    matrix,
    names::{DIAGNOSTICS, MOST_DIAGNOSED, UNCONDITIONAL, datasets, is_prompt_file},
    place::Place,
    slurm,
    spec::{DatasetSpec, DiagnosticSpec, MetricSpec, SCHEMA, Spec, Timing},
};

/// Bytes of a spec, at most.
pub const MAX_SPEC_BYTES: u64 = 4 << 20;

/// Keys at the top of a spec.
pub(crate) const SPEC_KEYS: &[&str] = &[
    "schema",
    "name",
    "seed",
    "analysis",
    "sources",
    "dataset",
    "model",
    "sampling",
    "timing",
    "cell",
    "axes",
    "exclude",
    "metric",
    "diagnostic",
    "published",
    "expect",
    slurm::TABLE,
];
pub(crate) const DATASET_KEYS: &[&str] = &["name", "limit", "subset_seed", "part", "caption", "samples"];
pub(crate) const TIMING_KEYS: &[&str] = &["warmup", "blocks", "batch"];
pub(crate) const DIAGNOSTIC_KEYS: &[&str] = &["name", "images"];
pub(crate) const METRIC_KEYS: &[&str] = &["name", "min_n", "protocol", "real", "weights", "device"];

/// A spec as written, before it is resolved. Overrides ([`set`](Self::set), [`sweep`](Self::sweep)) act here.
#[derive(Clone, Debug)]
pub struct SpecText {
    // Invariant: a table, whose `axes`, if that is a table, has one entry per axis under its dotted path.
    pub(crate) root: Node,
    /// The spec before each override, in their order.
    pub(crate) before: Vec<Before>,
}

impl SpecText {
    /// Takes the text of a spec; `file` is its name in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, SpecError> {
        let mut root = Node::parse(file, text)?;
        matrix::flatten_axes(&mut root);
        Ok(Self { root, before: Vec::new() })
    }

    /// Reads a spec file. A name without an ending, `quickstart` say, is a spec of [`bundled`] unless a file has it; a folder
    /// of that name, as its run has, is no spec.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let spec = path.to_str().filter(|_| !path.is_file()).and_then(bundled);
        match spec {
            Some(spec) => Self::parse(&format!("{}.toml (in the program)", spec.name), spec.text),
            None => Self::parse(&path.display().to_string(), &text_of(path)?),
        }
    }

    /// Checks every value and multiplies out models and axes.
    pub fn resolve(&self) -> Result<Spec, SpecError> {
        self.resolved().map_err(|error| self.blamed(error))
    }

    /// The same, with the place of the table that is wrong.
    pub(crate) fn resolved(&self) -> Result<Spec, SpecError> {
        let fields = Fields::new(&self.root, "the spec", "", SPEC_KEYS)?;
        let schema = fields.integer(
            "schema",
            0..=i64::MAX,
            "it says which grammar the spec follows; write schema = 1",
        )?;
        if schema != i64::from(SCHEMA) {
            let node = fields.required("schema", "it was read above")?;
            let expected = format!("{SCHEMA}, the schema that this version reads");
            return Err(out_of_range(node, "schema", &expected, schema.to_string()));
        }
        let name = name(&fields, "it names the run and its folder")?;
        // No part of the spec, but a mistake in it is reported before anything runs, wherever that is.
        self.slurm()?;
        let seed = fields.integer(
            "seed",
            0..=i64::MAX,
            "there is no default, because a run without a recorded seed cannot be repeated; \
             write for instance seed = 42",
        )?;
        let (timing, common_batch) =
            timing(fields.required("timing", "it says how timed cells are interleaved")?)?;
        let mut cells = matrix::cells(&fields)?;
        for model in cells.iter_mut().map(|cell| &mut cell.model) {
            // One at a time is the same however it is said.
            model.batch = model.batch.or(common_batch).filter(|&n| n > 1);
        }
        let metrics = metrics(&fields)?;
        let published = fields.list("published")?.iter().enumerate();
        let published = published
            .map(|(index, node)| expect::published(node, index, &cells))
            .collect::<Result<_, _>>()?;
        let expectations = fields.list("expect")?.iter().enumerate();
        let expectations = expectations
            .map(|(index, node)| expect::expectation(node, index, &cells, &metrics))
            .collect::<Result<_, _>>()?;
        Ok(Spec {
            schema: SCHEMA,
            name,
            seed: seed.unsigned_abs(),
            analysis: optional_text(&fields, "analysis")?.unwrap_or_default(),
            sources: sources(&fields)?,
            dataset: dataset(fields.required("dataset", "it says what the models are asked")?)?,
            timing,
            cells,
            metrics,
            diagnostics: diagnostics(&fields)?,
            published,
            expect: expectations,
        })
    }
}

/// The text of a spec or profile file.
pub(crate) fn text_of(path: &Path) -> Result<String, SpecError> {
    let file = path.display().to_string();
    let unreadable = |reason: String| {
        Fault::new(format!("the spec cannot be read: {reason}")).at(Place::WholeFile(file.as_str().into()))
    };
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(|error| unreadable(unopened(path, &error)))?;
    let read = opened.take(MAX_SPEC_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_SPEC_BYTES {
        return Err(unreadable(format!("it has more than {MAX_SPEC_BYTES} bytes; is it the right file?")));
    }
    String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))
}

/// Why a file cannot be opened, with the file beside it or the spec in the program that was probably meant.
fn unopened(path: &Path, error: &std::io::Error) -> String {
    let near = match beside(path) {
        Some(name) => format!("did you mean `{}`? ", path.with_file_name(name).display()),
        None => bundled_near(path)
            .map_or_else(String::new, |name| format!("did you mean `{name}`, which is in the program? ")),
    };
    format!("{error}; {near}`specimen specs list` names the specs in the program")
}

/// The name in the folder of `path` that is nearest to its own.
fn beside(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))
        .first()
        .map(|name| (*name).to_owned())
}

/// The spec in the program whose name is nearest.
fn bundled_near(path: &Path) -> Option<&'static str> {
    let typed = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let names = BUNDLED.iter().flat_map(|spec| [spec.name, last_part(spec.name)]);
    match bundled(typed) {
        Some(spec) => Some(spec.name),
        None => nearest(typed, names).first().copied(),
    }
}

/// A name that is also a file name: 1 to 64 of `a-z 0-9 . _ + -`, a letter or digit first.
pub(crate) fn name(fields: &Fields<'_>, why: &str) -> Result<String, SpecError> {
    let node = fields.required("name", why)?;
    let name = fields::text(node, &fields.path("name"))?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._+-".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if starts && name.len() <= 64 && name.chars().all(fits) {
        return Ok(name.to_owned());
    }
    let expected = "1 to 64 of the characters a-z 0-9 . _ + -, a letter or digit first";
    Err(out_of_range(node, &fields.path("name"), expected, format!("{name:?}")))
}

pub(crate) fn optional_text(fields: &Fields<'_>, key: &str) -> Result<Option<String>, SpecError> {
    fields.get(key).map(|node| fields::text(node, &fields.path(key)).map(str::to_owned)).transpose()
}

/// One of several named values.
pub(crate) fn choice<T: Copy>(
    node: &Node,
    path: &str,
    what: &'static str,
    choices: &[(&'static str, T)],
) -> Result<T, SpecError> {
    let found = fields::text(node, path)?;
    let chosen = choices.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
    chosen.ok_or_else(|| unknown_name(node, path, what, found, choices.iter().map(|(name, _)| *name)))
}

fn sources(fields: &Fields<'_>) -> Result<Vec<String>, SpecError> {
    let texts = fields.list("sources")?.iter().enumerate();
    texts.map(|(index, node)| fields::text(node, &format!("sources.{index}")).map(str::to_owned)).collect()
}

fn dataset(node: &Node) -> Result<DatasetSpec, SpecError> {
    let fields = Fields::new(node, "[dataset]", "dataset", DATASET_KEYS)?;
    let name = fields.text("name", "it names the prompts")?.to_owned();
    if !datasets().any(|known| known == name) && !is_prompt_file(&name) {
        let node = fields.required("name", "it was read above")?;
        let what = "dataset (and no path of a .txt, .csv, .tsv, .json or .jsonl file)";
        return Err(unknown_name(node, "dataset.name", what, &name, datasets()));
    }
    let whole = |key: &str, range: std::ops::RangeInclusive<i64>| {
        fields.get(key).map(|node| fields::integer(node, &fields.path(key), range)).transpose()
    };
    let limit = whole("limit", 1..=1_000_000)?.map(|n| n.unsigned_abs() as usize);
    let subset_seed = whole("subset_seed", 0..=i64::MAX)?.map(i64::unsigned_abs);
    let samples = whole("samples", 1..=1_000_000)?.unwrap_or(1);
    let policies = CaptionPolicy::ALL.map(|policy| (policy.name(), policy));
    let caption = fields
        .get("caption")
        .map(|node| choice(node, "dataset.caption", "caption rule", &policies))
        .transpose()?;
    let samples = u32::try_from(samples).expect("the range was checked");
    let part = fields.get("part").map(|node| part(node, limit)).transpose()?;
    let dataset = DatasetSpec { name, limit, subset_seed, part, caption, samples };
    if let Some((key, conflict, remedy)) = dataset_conflict(&dataset) {
        let place = fields.get(key).map_or(&node.place, |node| &node.place).clone();
        return Err(crate::error::conflict(conflict, remedy).at(place));
    }
    Ok(dataset)
}

/// Two positions, of which the second is excluded and at most the limit.
fn part(node: &Node, limit: Option<usize>) -> Result<[usize; 2], SpecError> {
    let end = limit.unwrap_or(1_000_000);
    let position =
        |node| fields::integer(node, "dataset.part", 0..=1_000_000).map(|n| n.unsigned_abs() as usize);
    let ends = fields::list(node, "dataset.part")?;
    let ends: Vec<usize> = ends.iter().map(position).collect::<Result<_, _>>()?;
    match ends[..] {
        [from, to] if from < to && to <= end => Ok([from, to]),
        _ => {
            let expected = format!("two positions [from, to] with 0 <= from < to <= {end}");
            Err(out_of_range(node, "dataset.part", &expected, format!("{ends:?}")))
        }
    }
}

/// Which key of a dataset is at odds with the others, how, and what to do.
fn dataset_conflict(dataset: &DatasetSpec) -> Option<(&'static str, &'static str, &'static str)> {
    let is_unconditional = dataset.name == UNCONDITIONAL;
    match (dataset.limit, dataset.subset_seed) {
        (None, _) if is_unconditional => {
            Some(("name", "`unconditional` has no prompts to count", "give `limit`, the number of images"))
        }
        (_, Some(_)) if is_unconditional => {
            Some(("subset_seed", "`unconditional` has no prompts to choose from", "remove `subset_seed`"))
        }
        (None, Some(_)) => Some((
            "subset_seed",
            "`subset_seed` chooses `limit` prompts, but there is no `limit`",
            "give both or neither",
        )),
        _ => None,
    }
}

/// How timed cells are interleaved, and the batch of models that say none.
fn timing(node: &Node) -> Result<(Timing, Option<u32>), SpecError> {
    let fields = Fields::new(node, "[timing]", "timing", TIMING_KEYS)?;
    let warmup =
        fields.integer("warmup", 0..=1000, "it is the number of images made before the clock counts")?;
    let blocks =
        fields.integer("blocks", 1..=1_000_000, "it is the number of prompts per interleaved block")?;
    let whole = |number: i64| u32::try_from(number).expect("the range was checked");
    Ok((Timing { warmup: whole(warmup), blocks: whole(blocks) }, batch(&fields)?))
}

fn metrics(fields: &Fields<'_>) -> Result<Vec<MetricSpec>, SpecError> {
    let mut metrics: Vec<(MetricSpec, Place)> = Vec::new();
    for (index, node) in fields.list("metric")?.iter().enumerate() {
        let fields = Fields::new(node, "[[metric]]", &format!("metric.{index}"), METRIC_KEYS)?;
        let name_node = fields.required("name", "it says what is computed")?;
        let name = fields::text(name_node, &fields.path("name"))?;
        let Some(known) = metric(name) else {
            let known = METRICS.iter().map(|metric| metric.name.as_str());
            return Err(unknown_name(name_node, &fields.path("name"), "metric", name, known));
        };
        let min_n = fields
            .get("min_n")
            .map(|node| fields::integer(node, &fields.path("min_n"), 1..=i64::from(u32::MAX)));
        let min_n = min_n.transpose()?.map(|n| n.unsigned_abs() as usize);
        let metric = MetricSpec {
            name: name.to_owned(),
            min_n,
            protocol: needed(&fields, "protocol", known.needs.protocol(), &protocol_why(known))?,
            real: needed(&fields, "real", known.needs.real(), REAL_WHY)?,
            weights: fields.get("weights").map(|node| filled(node, &fields.path("weights"))).transpose()?,
            device: crate::cells::device(&fields)?,
        };
        for (key, is_given) in [("weights", metric.weights.is_some()), ("device", metric.device.is_some())] {
            if !known.needs.protocol() && is_given {
                return Err(no_use(&fields, key, name));
            }
        }
        if let Some((_, first)) = metrics.iter().find(|(other, _)| other.values() == metric.values()) {
            return Err(duplicate("metric", &metric.values().join(", "), &name_node.place, first));
        }
        metrics.push((metric, name_node.place.clone()));
    }
    Ok(metrics.into_iter().map(|(metric, _)| metric).collect())
}

fn diagnostics(fields: &Fields<'_>) -> Result<Vec<DiagnosticSpec>, SpecError> {
    let mut found: Vec<(DiagnosticSpec, Place)> = Vec::new();
    for (index, node) in fields.list("diagnostic")?.iter().enumerate() {
        let fields = Fields::new(node, "[[diagnostic]]", &format!("diagnostic.{index}"), DIAGNOSTIC_KEYS)?;
        let name_node = fields.required("name", "it says what is looked at")?;
        let choices = DIAGNOSTICS.iter().map(|(name, _)| (*name, *name)).collect::<Vec<_>>();
        let name = choice(name_node, &fields.path("name"), "diagnostic", &choices)?;
        if let Some((_, first)) = found.iter().find(|(other, _)| other.name == name) {
            return Err(duplicate("diagnostic", name, &name_node.place, first));
        }
        let why = "it is the number of images of each cell that are looked at";
        let images = fields.integer("images", 1..=MOST_DIAGNOSED as i64, why)?.unsigned_abs() as usize;
        found.push((DiagnosticSpec { name: name.to_owned(), images }, name_node.place.clone()));
    }
    Ok(found.into_iter().map(|(diagnostic, _)| diagnostic).collect())
}

/// Why `known` needs a protocol, with the line to write.
fn protocol_why(known: &Metric) -> String {
    let why = "values under two protocols are not comparable; it names one, or a .toml file";
    match &known.command {
        Some(command) => {
            format!("{why}: `protocol = \"{}\"` is that of `specimen {}`", command.protocol, known.name)
        }
        None => why.to_owned(),
    }
}

const REAL_WHY: &str = "it is the path of what the images are compared with";

/// The text under `key`, which must be there if `is_needed`, and must not otherwise.
fn needed(
    fields: &Fields<'_>,
    key: &'static str,
    is_needed: bool,
    why: &str,
) -> Result<Option<String>, SpecError> {
    match fields.get(key) {
        None if is_needed => Err(fields.required(key, why).expect_err("it is not there")),
        None => Ok(None),
        Some(node) if is_needed => filled(node, &fields.path(key)).map(Some),
        Some(_) => Err(no_use(fields, key, fields.text("name", "it was read before")?)),
    }
}

/// A text that is not empty.
fn filled(node: &Node, path: &str) -> Result<String, SpecError> {
    match fields::text(node, path)? {
        "" => Err(fields::out_of_range(node, path, "a name or a path", "an empty text".to_owned())),
        text => Ok(text.to_owned()),
    }
}

/// The error for a key that the metric `name` does not have.
fn no_use(fields: &Fields<'_>, key: &'static str, name: &str) -> SpecError {
    let node = fields.get(key).expect("the caller has seen it");
    crate::error::conflict(format!("the metric `{name}` has no `{key}`"), "remove it").at(node.place.clone())
}

/// The error for a name given twice.
pub(crate) fn duplicate(what: &'static str, name: &str, place: &Place, first: &Place) -> SpecError {
    Fault::new(format!("{what} `{name}` is already there at {first}; names must differ")).at(place.clone())
}

/// A table node made of entries that were written elsewhere.
pub(crate) fn table(place: &Place, entries: Vec<Entry>) -> Node {
    Node { place: place.clone(), value: Value::Table(entries) }
}
