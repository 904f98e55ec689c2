//! The weights and data that a spec needs besides its prompts, and the size of a model's images. Needs no libtorch, so
//! that a plan can be made anywhere.

use std::{
    env,
    path::{Path, PathBuf},
};

use specimen_catalog::{
    Entry, entry,
    entry::{Origin, PublishedFile},
    hub::{Places, places::Given},
};
use specimen_datasets::{
    catalog::ENTRIES,
    data_root::DataRoot,
    error::DatasetError,
    manifest::{DataItem, ITEMS, items_of},
};
use specimen_experiments::{
    estimate::{FetchSize, Footprint, Missing},
    external::External,
    spec::{Cell, MetricSpec, ModelSpec, Spec},
};
use specimen_foundation::folders::DATA_VARIABLE;
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol};

use crate::spec_args::data_root;

/// Where published weights are looked for, as the environment says.
pub(crate) fn places() -> Places {
    places_with(data_root().as_ref())
}

fn places_with(root: Option<&DataRoot>) -> Places {
    Places::of_environment(root.map(DataRoot::path), |name| env::var_os(name).map(PathBuf::from))
}

/// Bytes of memory that the models of `spec` take before any activation, the largest of its cells; `None` where the
/// catalog does not say.
pub(crate) fn memory(spec: &Spec) -> Option<u64> {
    let of_cell = |cell: &Cell| {
        let need = cell.model.need(cell.method.drafter.head(), cell.model.dtype);
        need.map(|need| need.total())
    };
    spec.cells.iter().map(of_cell).collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Entry of the head that drafts in `cell`, where there is one and the spec names no file of its own.
fn head_of(cell: &Cell) -> Option<&'static str> {
    let (proposer, weights) = cell.method.drafter.head()?;
    if weights.is_none() && cell.model.heads.contains_key(proposer) {
        return None;
    }
    entry(&cell.model.name).ok()?.head(proposer, weights)
}

/// Bytes that a forward of `model` over a few tokens reads at least; `None` where the catalog does not say.
pub(crate) fn streamed_bytes(model: &ModelSpec) -> Option<u64> {
    entry(&model.name).ok()?.streamed_bytes(model.dtype.n_bytes())
}

/// Size of a model's output; `None` for a model that is not known here.
pub(crate) fn footprint(model: &ModelSpec) -> Option<Footprint> {
    let (_, target) = entry::target(&model.name)?;
    Some(Footprint { n_tokens: target.n_tokens, width: target.width, height: target.height })
}

/// Weights and data that `spec` needs and that are not below `root`, each once, in the order of the spec.
pub(crate) fn missing(spec: &Spec, root: Option<&DataRoot>) -> Vec<Missing> {
    let places = places_with(root);
    let by_name = names_of(spec).into_iter().flat_map(|name| unfetched(name, &places));
    let given = spec.models().into_iter().flat_map(|model| missing_of_given(model, root, &places));
    let mut missing: Vec<Missing> = Vec::new();
    let heads = spec.models().into_iter().flat_map(|model| missing_heads(model, root));
    let commands = spec.cells.iter().filter_map(|cell| absent_command(cell.external.as_ref()?));
    for entry in by_name.chain(given).chain(heads).chain(missing_data(spec, root)).chain(commands) {
        if !missing.contains(&entry) {
            missing.push(entry);
        }
    }
    missing
}

/// Names under which weights that `spec` needs are published, each once: its models, what drafts for them, and the
/// networks of its metrics. Where a path is named for one, only what that path leaves out.
pub(crate) fn weights_of<'s>(spec: &'s Spec, root: Option<&DataRoot>) -> Vec<&'s str> {
    let mut names = names_of(spec);
    for (model, given) in spec.models().into_iter().filter_map(|model| given_of(model, root)) {
        let is_whole = model.parts.iter().all(|part| given.parts.contains(&part));
        for left_out in model.with_needs().into_iter().skip(usize::from(is_whole)) {
            if !names.contains(&left_out.name.as_str()) {
                names.push(&left_out.name);
            }
        }
    }
    names
}

/// The same without what a path is named for.
fn names_of<'s>(spec: &'s Spec) -> Vec<&'s str> {
    let short = |name: &'static str| -> &'s str { name };
    let of_metric = |metric: &MetricSpec| match metric.weights {
        None => network_of(metric).and_then(|network| entry(&network).ok()),
        Some(_) => None,
    };
    let models = spec.models().into_iter().filter(|model| model.weights.is_none());
    let mut all: Vec<&str> = models.map(|model| model.name.as_str()).collect();
    all.extend(spec.cells.iter().filter_map(|cell| cell.method.drafter.model.as_deref()));
    all.extend(spec.cells.iter().filter(|cell| cell.external.is_none()).filter_map(head_of).map(short));
    all.extend(wants_lenet(spec).then_some("lenet-mnist").map(short));
    all.extend(spec.metrics.iter().filter_map(of_metric).map(|network| short(&network.name)));
    let mut names: Vec<&str> = Vec::new();
    for name in all {
        if entry::published_entry(name).is_ok() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Data besides the prompts that `spec` needs and that no command fetches, where it is absent.
pub(crate) fn missing_data(spec: &Spec, root: Option<&DataRoot>) -> Vec<Missing> {
    let mnist = items_of("mnist").filter(|_| wants_lenet(spec));
    let mnist = mnist.filter_map(|item| absent_item(item, root));
    let mut missing: Vec<Missing> = mnist.collect();
    for absent in spec.metrics.iter().flat_map(|metric| absent_paths(metric, root)) {
        // What two metrics compare with is fetched once.
        let known =
            missing.iter_mut().find(|one| (&one.remedy, &one.fetch) == (&absent.remedy, &absent.fetch));
        match known.and_then(|one| Some((one, absent.what.split_once(", for ")?.1.to_owned()))) {
            Some((one, value)) => one.what = format!("{}, {value}", one.what),
            None => missing.push(absent),
        }
    }
    missing
}

/// Files and folders of datasets that `spec` needs and that are not there: its prompts, and what metrics compare with.
pub(crate) fn absent_items(spec: &Spec, root: Option<&DataRoot>) -> Vec<&'static DataItem> {
    let mnist = items_of("mnist").filter(|_| wants_lenet(spec));
    let reals: Vec<&String> = spec.metrics.iter().filter_map(|metric| metric.real.as_ref()).collect();
    let reals = ITEMS.iter().filter(|item| reals.iter().any(|real| item.places.contains(real)));
    let mut items: Vec<&DataItem> = Vec::new();
    for item in file_of_prompts(spec).into_iter().chain(mnist).chain(reals) {
        if item.locate(root).is_err() && !items.contains(&item) {
            items.push(item);
        }
    }
    items
}

/// The published file of the dataset's prompts.
fn file_of_prompts(spec: &Spec) -> Option<&'static DataItem> {
    ENTRIES.iter().find(|entry| entry.name == spec.dataset.name)?.file()
}

/// The files of the dataset's prompts that are not there, with the command that fetches each.
pub(crate) fn absent_prompts(spec: &Spec, root: Option<&DataRoot>) -> Vec<Missing> {
    let absent = file_of_prompts(spec).into_iter().filter(|item| item.locate(root).is_err());
    let missing = |item: &DataItem| Missing {
        what: item.key.clone(),
        remedy: item.command(),
        fetch: Some(fetch_size(item)),
    };
    absent.map(missing).collect()
}

/// What fetching a dataset takes.
fn fetch_size(item: &DataItem) -> FetchSize {
    let n_bytes = item.n_bytes();
    FetchSize { n_files: 1, n_bytes: n_bytes.unwrap_or(0), n_unknown: u64::from(n_bytes.is_none()) }
}

/// The program of an external cell, where it is neither at its path nor in a folder of `PATH`.
pub(crate) fn absent_command(external: &External) -> Option<Missing> {
    let program = Path::new(external.command.first()?);
    let is_path = program.components().count() > 1;
    let is_there = match is_path {
        true => Path::new(&external.cwd).join(program).is_file(),
        false => env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .any(|folder| folder.join(program).is_file()),
    };
    let remedy = match is_path {
        true => format!("no such file in {}; mend `command` or `cwd`", external.cwd),
        false => "it is in no folder of PATH; install it, or give its path in `command`".to_owned(),
    };
    let what = format!("program {} of an external cell", program.display());
    (!is_there).then_some(Missing { what, remedy, fetch: None }).or_else(|| absent_script(external))
}

/// An argument of an external cell's command that is called like a script and is no file.
fn absent_script(external: &External) -> Option<Missing> {
    const ENDINGS: [&str; 5] = ["py", "sh", "js", "jl", "lua"];
    let is_script = |argument: &&String| {
        let ending = Path::new(argument).extension().and_then(|ending| ending.to_str());
        !argument.starts_with('-') && ending.is_some_and(|ending| ENDINGS.contains(&ending))
    };
    let is_absent = |argument: &&String| !Path::new(&external.cwd).join(argument).is_file();
    let script = external.command.iter().skip(1).filter(is_script).find(is_absent)?;
    let remedy = format!("no such file in {}; mend `command` or `cwd`", external.cwd);
    Some(Missing { what: format!("script {script} of an external cell"), remedy, fetch: None })
}

fn wants_lenet(spec: &Spec) -> bool {
    spec.metrics.iter().any(|metric| metric.name == "fd-lenet")
}

/// Whether the protocol that a metric names exists.
pub(crate) fn check_protocol(metric: &MetricSpec) -> anyhow::Result<()> {
    let Some(name) = metric.protocol.as_deref() else { return Ok(()) };
    match specimen_catalog::metric(&metric.name).is_some_and(|known| known.needs.baseline()) {
        true => drop(PairProtocol::find(name)?),
        false => drop(Protocol::find(name)?),
    }
    Ok(())
}

/// What is fetched for a metric under a protocol; `None` too where the protocol does not exist, which [`check_protocol`]
/// reports.
pub(crate) fn network_of(metric: &MetricSpec) -> Option<String> {
    let name = metric.protocol.as_deref()?;
    match PairProtocol::is_meant(name) {
        true => PairProtocol::find(name).ok()?.recipe().network().map(str::to_owned),
        false => Some(Protocol::find(name).ok()?.recipe().fetched().to_owned()),
    }
}

/// Files and folders that a metric under a protocol names and that are not there.
fn absent_paths(metric: &MetricSpec, root: Option<&DataRoot>) -> Vec<Missing> {
    if network_of(metric).is_none() {
        return Vec::new();
    }
    let value = metric.values().join(", ");
    let paths = [("weights", &metric.weights), ("images to compare with", &metric.real)];
    let mut missing = Vec::new();
    for (what, given) in paths.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?))) {
        let path = DataRoot::place(root, given);
        if !path.exists() {
            let published = ITEMS.iter().find(|item| item.places.contains(given));
            let remedy = match published {
                Some(item) => item.remedy(root),
                None => format!("put it at {}, or give another path", path.display()),
            };
            let fetch = published.map(fetch_size);
            missing.push(Missing { what: format!("{what}, for {value}"), remedy, fetch });
        }
    }
    missing
}

/// The published model of `model` and the weights that its spec names for it, if it names any.
fn given_of(model: &ModelSpec, root: Option<&DataRoot>) -> Option<(&'static Entry, Given)> {
    let path = DataRoot::place(root, model.weights.as_ref()?);
    let model = entry::published_entry(&model.name).ok()?;
    Some((model, Given::of(model, path)))
}

/// What is missing of a model whose weights its spec names: that path, or what it leaves out.
fn missing_of_given(model: &ModelSpec, root: Option<&DataRoot>, places: &Places) -> Vec<Missing> {
    let Some((entry, given)) = given_of(model, root) else { return Vec::new() };
    if !given.path.exists() {
        let remedy = format!("put them at {}, or give another path", given.path.display());
        return vec![Missing {
            what: format!("weights of {}, which the spec names", entry.name),
            remedy,
            fetch: None,
        }];
    }
    unfetched(&entry.name, &Places { given: Some(given), ..places.clone() })
}

/// Heads that the spec names for `model` and that are not there.
fn missing_heads(model: &ModelSpec, root: Option<&DataRoot>) -> Vec<Missing> {
    let absent =
        model.heads.iter().map(|(kind, head)| (kind, head.file(root))).filter(|(_, file)| !file.is_file());
    let missing = |(kind, file): (&String, PathBuf)| Missing {
        what: format!("head {kind} of {}, which the spec names", model.name),
        remedy: format!("train it by `specimen train-drafter`, and put it at {}", file.display()),
        fetch: None,
    };
    absent.map(missing).collect()
}

/// What is missing of the model `name` and of what it needs, as in [`missing_files`]; nothing for models that
/// are part of the binary.
fn unfetched(name: &str, places: &Places) -> Vec<Missing> {
    let Ok(model) = entry(name) else { return Vec::new() };
    let of_part = |part: &Entry| missing_files(part, &places.missing(part));
    model.with_needs().into_iter().flat_map(of_part).collect()
}

/// What is missing of `part`, of which these files are not there: those of its command together, and each that a program
/// cannot fetch.
fn missing_files(part: &Entry, files: &[&PublishedFile]) -> Vec<Missing> {
    let what = |n: usize| format!("weights of {}: {n} of {} files", part.name, part.files.len());
    let (mut fetch, mut by_hand) = (None, Vec::new());
    for file in files {
        match (&file.origin, file.n_bytes.get()) {
            (Origin::ByHand { by_hand: how, place }, _) => {
                let remedy = format!("{how}; put it at {place} below {DATA_VARIABLE}");
                by_hand.push(Missing { what: what(1), remedy, fetch: None });
            }
            (_, n_bytes) => {
                let all = fetch.get_or_insert_with(FetchSize::default);
                all.n_files += 1;
                all.n_bytes += n_bytes.unwrap_or(&0);
                all.n_unknown += u64::from(n_bytes.is_none());
            }
        }
    }
    let of_command = fetch.map(|fetch| Missing {
        what: what(fetch.n_files as usize),
        remedy: format!("specimen data fetch {}", part.name),
        fetch: Some(fetch),
    });
    of_command.into_iter().chain(by_hand).collect()
}

fn absent_item(item: &DataItem, root: Option<&DataRoot>) -> Option<Missing> {
    match item.locate(root) {
        Err(DatasetError::Absent { what, remedy }) => {
            Some(Missing { what, remedy, fetch: Some(fetch_size(item)) })
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_experiments::parse::SpecText;

    use super::*;

    const SPEC: &str = r#"
schema = 1
name = "t"
seed = 1
dataset = { name = "unconditional", limit = 2 }
model = { name = "igpt-mnist", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 1.0 }
timing = { warmup = 0, blocks = 1 }
cell = [
  { name = "ar" },
  { name = "sd", drafter = { proposer = "model", model = "igpt-fmnist", shape = "chain", depth = 2 } },
]
metric = [{ name = "fd-lenet", min_n = 2 }]
"#;

    #[test]
    fn every_network_of_the_metrics_can_be_fetched() {
        for network in specimen_extract::network::NetworkName::ALL {
            assert!(!network.entry().files.is_empty(), "{network}");
        }
    }

    #[test]
    fn what_two_metrics_compare_with_is_missing_once() {
        let metrics = r#"metric = [
  { name = "fid", protocol = "lantern", real = "coco/val2017", min_n = 2 },
  { name = "kid", protocol = "clean", real = "coco/val2017", min_n = 2 },
]"#;
        let text = SPEC.replace(r#"metric = [{ name = "fd-lenet", min_n = 2 }]"#, metrics);
        let spec = SpecText::parse("t.toml", &text).unwrap().resolve().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        let found: Vec<String> = missing_data(&spec, Some(&root)).into_iter().map(|one| one.what).collect();
        assert_eq!(found, ["images to compare with, for fid:lantern, kid:clean"]);
    }

    #[test]
    fn target_drafter_and_metric_weights_are_missed_once_each_with_what_to_fetch() {
        let spec = SpecText::parse("t.toml", SPEC).unwrap().resolve().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        let found = missing(&spec, Some(&root));
        let keys: Vec<&str> = found.iter().map(|entry| entry.what.as_str()).collect();
        let expected = [
            "weights of igpt-mnist: 1 of 1 files",
            "weights of igpt-fmnist: 1 of 1 files",
            "weights of lenet-mnist: 1 of 1 files",
            "mnist-test-images",
            "mnist-test-labels",
        ];
        assert_eq!(keys, expected);
        assert_eq!(weights_of(&spec, None), ["igpt-mnist", "igpt-fmnist", "lenet-mnist"]);
        assert_eq!(found[0].remedy, "specimen data fetch igpt-mnist");
        assert_eq!(found[2].remedy, "specimen data fetch lenet-mnist");
        assert!(found.iter().all(|entry| entry.fetch.is_some()), "{found:?}");
        assert!(missing(&spec, None)[3].remedy.starts_with("set SPECIMEN_DATA to"), "{found:?}");

        let file = folder.path().join("weights/igpt/mnist_gen.safetensors");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        assert_eq!(missing(&spec, Some(&root)).len(), expected.len() - 1);
    }

    #[test]
    fn files_of_a_published_model_are_missed_with_size_and_command_until_they_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { own: vec![folder.path().to_owned()], ..Places::default() };
        let found = unfetched("llamagen-t2i-xl-512", &places);
        let whats: Vec<&str> = found.iter().map(|entry| entry.what.as_str()).collect();
        let expected = [
            "weights of llamagen-t2i-xl-512: 1 of 1 files",
            "weights of llamagen-vq-t2i: 1 of 1 files",
            "weights of flan-t5-xl: 3 of 3 files",
        ];
        assert_eq!(whats, expected);
        assert_eq!(found[0].remedy, "specimen data fetch llamagen-t2i-xl-512");
        assert_eq!(found[0].fetch, Some(FetchSize { n_files: 1, n_bytes: 0, n_unknown: 1 }));
        let inception = unfetched("inception-fid", &places)[0].fetch;
        assert_eq!(inception, Some(FetchSize { n_files: 1, n_bytes: 95_628_359, n_unknown: 0 }));
        let file = folder.path().join("weights/peizesun/llamagen_t2i/t2i_XL_stage2_512.safetensors");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        assert_eq!(unfetched("llamagen-t2i-xl-512", &places).len(), expected.len() - 1);
        assert_eq!(unfetched("tiny", &places), []);
    }

    #[test]
    fn a_metric_under_a_protocol_needs_its_network_and_what_it_compares_with() {
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        let metric = r#"{ name = "fid", protocol = "lantern", real = "coco/val2017", min_n = 2 }"#;
        let with = |metric: &str| {
            let text = SPEC.replace(r#"{ name = "fd-lenet", min_n = 2 }"#, metric);
            SpecText::parse("t.toml", &text).unwrap().resolve().unwrap()
        };
        let whats = |spec: &Spec| -> Vec<String> {
            missing_data(spec, Some(&root)).into_iter().map(|entry| entry.what).collect()
        };
        assert!(weights_of(&with(metric), None).contains(&"inception-fid"));
        assert_eq!(whats(&with(metric)), ["images to compare with, for fid:lantern"]);
        std::fs::create_dir_all(folder.path().join("coco/val2017")).unwrap();
        let given = metric.replace("min_n = 2", "min_n = 2, weights = \"mine.safetensors\"");
        assert!(!weights_of(&with(&given), None).contains(&"inception-fid"));
        assert_eq!(whats(&with(&given)), ["weights, for fid:lantern"]);
        assert_eq!(whats(&with(r#"{ name = "target-nll" }"#)), [""; 0]);
    }

    #[test]
    fn a_program_of_an_external_cell_that_is_not_there_is_missed() {
        let with = |command: &str| {
            let cell = format!(r#"{{ name = "other", external = {{ command = ["{command}"] }} }},"#);
            let text = SPEC.replace("  { name = \"sd\"", &format!("  {cell}\n  {{ name = \"sd\""));
            let spec = SpecText::parse("t.toml", &text).unwrap().resolve().unwrap();
            let found = missing(&spec, None).into_iter().map(|entry| entry.what);
            let of_cell = |what: &String| what.starts_with("program") || what.starts_with("script");
            found.filter(of_cell).collect::<Vec<_>>()
        };
        assert_eq!(with("sh"), [""; 0]);
        assert_eq!(with("/bin/sh"), [""; 0]);
        for absent in ["no-such-program", "./no-such-program"] {
            assert_eq!(with(absent), [format!("program {absent} of an external cell")]);
        }
        assert_eq!(with(r#"sh", "no-such.sh"#), ["script no-such.sh of an external cell"]);
        assert_eq!(with(r#"sh", "--script=no-such.sh"#), [""; 0]);
    }

    #[test]
    fn a_head_that_nobody_publishes_is_missed_with_how_to_make_it_and_where_to_put_it() {
        let spec = SPEC.replace("igpt-mnist", "llamagen-t2i-xl-512").replace(
            "drafter = { proposer = \"model\", model = \"igpt-fmnist\",",
            "drafter = { proposer = \"eagle1\", weights = \"cascade\",",
        );
        let spec = SpecText::parse("t.toml", &spec).unwrap().resolve().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let head = |root: &DataRoot| {
            let found = missing(&spec, Some(root)).into_iter();
            found.filter(|entry| entry.what.contains("drafter")).collect::<Vec<_>>()
        };
        let root = DataRoot::new(folder.path());
        let found = head(&root);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, "weights of llamagen-t2i-xl-512-drafter-cascade: 1 of 1 files");
        let place = "weights/llamagen-t2i-xl-512/drafter-cascade/model.safetensors";
        assert!(
            found[0].remedy.starts_with("nobody publishes it: train it by `specimen train-drafter`"),
            "{found:?}"
        );
        assert!(found[0].remedy.ends_with(&format!("put it at {place} below SPECIMEN_DATA")), "{found:?}");
        let file = folder.path().join(place);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        assert_eq!(head(&root), []);
    }

    #[test]
    fn weights_that_a_spec_names_are_not_looked_for_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        let with = |name: &str| {
            let model = format!(r#"name = "{name}", dtype = "f32", weights = "mine.safetensors""#);
            let text = SPEC.replace(r#"name = "igpt-mnist", dtype = "f32""#, &model);
            let text =
                text.replace(r#"{ proposer = "model", model = "igpt-fmnist","#, r#"{ proposer = "jacobi","#);
            let text = text.replace(r#"shape = "chain", depth = 2"#, r#"window = 2, init = "random""#);
            SpecText::parse("t.toml", &text.replace(r#"{ name = "fd-lenet", min_n = 2 }"#, ""))
                .unwrap()
                .resolve()
                .unwrap()
        };
        let whats = |spec: &Spec| -> Vec<String> {
            missing(spec, Some(&root)).into_iter().map(|entry| entry.what).collect()
        };
        let own = ["weights of igpt-mnist, which the spec names"];
        assert_eq!(whats(&with("igpt-mnist")), own);
        std::fs::write(folder.path().join("mine.safetensors"), "").unwrap();
        assert_eq!(whats(&with("igpt-mnist")), [""; 0]);
        assert_eq!(weights_of(&with("igpt-mnist"), Some(&root)), [""; 0]);
        // A file is the first part of a model: what it needs besides is still fetched by name.
        let rest = ["llamagen-vq-t2i", "flan-t5-xl"];
        assert_eq!(weights_of(&with("llamagen-t2i-xl-512"), Some(&root)), rest);
        let rest = ["weights of llamagen-vq-t2i: 1 of 1 files", "weights of flan-t5-xl: 3 of 3 files"];
        assert_eq!(whats(&with("llamagen-t2i-xl-512")), rest);
        assert_eq!(weights_of(&with("lumina-mgpt-7b-768"), Some(&root)), ["lumina-mgpt-7b-768"]);
    }

    #[test]
    fn what_a_forward_reads_is_what_the_networks_ask_their_files_for() {
        use specimen_catalog::Family;
        use specimen_models::{
            families::{
                emu3::{Emu3Config, Emu3Names},
                janus::{JanusConfig, JanusNames, JanusNetwork},
                liquid::LiquidConfig,
                llamagen::{LlamaGenConfig, LlamaGenNames, LlamaGenNetwork},
            },
            files::inventory::Expected,
            llama::word_llama::WordLlama,
        };
        let n_parameters = |read: Vec<Expected>| {
            read.iter().map(|tensor| tensor.shape.iter().product::<i64>()).sum::<i64>() as u64
        };
        let of_family = |family| {
            entry::targets().filter(move |(model, target)| target.family == family && !model.files.is_empty())
        };
        let streamed = |name: &str| entry(name).unwrap().memory.unwrap().n_streamed.unwrap();
        for (model, _) in of_family(Family::Llamagen) {
            let all = LlamaGenNetwork::expected(&LlamaGenConfig::of(model), LlamaGenNames::Original).unwrap();
            let read: Vec<_> = all.into_iter().filter(|entry| !entry.name.contains("embedding")).collect();
            assert_eq!(n_parameters(read), streamed(&model.name), "{}", model.name);
        }
        let of_words = of_family(Family::Emu3)
            .map(|(model, _)| (model, Emu3Config::of(model).shape(Emu3Names::Original)))
            .chain(of_family(Family::Liquid).map(|(model, _)| (model, LiquidConfig::of(model).shape())));
        for (model, shape) in of_words {
            let mut all = WordLlama::expected(&shape).unwrap();
            let words = shape.words();
            let head = shape.head.unwrap_or(&words);
            all.retain(|entry| entry.name != words || head == words);
            for head in all.iter_mut().filter(|entry| entry.name == head) {
                head.shape[0] = shape.n_codes;
            }
            assert_eq!(n_parameters(all), streamed(&model.name), "{}", model.name);
        }
        for (model, _) in of_family(Family::Janus) {
            let all = JanusNetwork::expected(&JanusConfig::of(model), JanusNames::Original).unwrap();
            let is_table = |name: &str| name.contains("embed_tokens") || name == "gen_embed.weight";
            let read: Vec<_> = all.into_iter().filter(|entry| !is_table(&entry.name)).collect();
            assert_eq!(n_parameters(read), streamed(&model.name), "{}", model.name);
        }
    }
}
