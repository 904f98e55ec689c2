//! Models x axes x cells, minus exclusions: the cells of a run. An axis is a list of values for one path; it
//! multiplies only the cells that it touches. A cell's name is its base name with what sets it apart in
//! brackets, `cascade[model=tiny,tau_pos=0.85]`, and does not depend on other cells' axes.

use std::collections::BTreeMap;

use crate::{
    axes::{self, Axis, Target},
    cells,
    document::{Entry, Node, Value},
    error::SpecError,
    exclude::{self, Exclusion},
    fields::{self, Fields, out_of_range},
    parse::duplicate,
    place::Place,
    set::assign,
    spec::Cell,
};

/// The most cells a spec may have; more is taken for a mistake in the axes.
pub const MAX_CELLS: usize = 4096;

/// A model of the spec with what its cells carry in brackets: nothing unless it is one of several.
struct Model<'n> {
    node: &'n Node,
    path: String,
    labels: Vec<String>,
}

/// One value for each axis that touches a cell, in the order of the axes.
type Combination<'n> = Vec<(&'n Axis<'n>, usize)>;

/// Replaces tables nested in `axes` by one entry per list under its dotted path.
pub(crate) fn flatten_axes(root: &mut Node) {
    let Value::Table(entries) = &mut root.value else { return };
    for entry in entries.iter_mut().filter(|entry| entry.key == "axes") {
        if let Value::Table(axes) = &mut entry.node.value {
            *axes = std::mem::take(axes).into_iter().flat_map(flattened).collect();
        }
    }
}

fn flattened(entry: Entry) -> Vec<Entry> {
    let Value::Table(inner) = entry.node.value else { return vec![entry] };
    let prefixed = |inner: Entry| Entry { key: format!("{}.{}", entry.key, inner.key), ..inner };
    inner.into_iter().map(prefixed).flat_map(flattened).collect()
}

/// The cells of a spec, all models' cells of one model together, cells in the order of the text.
pub(crate) fn cells(spec: &Fields<'_>) -> Result<Vec<Cell>, SpecError> {
    let models = models(spec.required("model", "it names the network that generates")?)?;
    let sampling = spec.required("sampling", "published settings differ, so there are no defaults")?;
    let cell_nodes = cell_nodes(spec)?;
    let axes = axes::read(spec, models.iter().map(|model| model.node).collect(), cell_nodes)?;
    let exclusions = exclude::read(spec, &axes)?;
    let mut excluding = vec![false; exclusions.len()];
    let mut cells: Vec<(Cell, Place)> = Vec::new();
    for (model_idx, model) in models.iter().enumerate() {
        for (cell_idx, node) in cell_nodes.iter().enumerate() {
            let touching = touching(&axes, model_idx, cell_idx, node);
            let n_combinations = touching.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
            if n_combinations.is_none_or(|n| cells.len() + n > MAX_CELLS) {
                return Err(too_many(spec, &node.place));
            }
            for combination in combinations(&touching) {
                if is_excluded(&exclusions, &mut excluding, model, node, &combination) {
                    continue;
                }
                let of = |combination: &Combination<'_>| resolved(model, sampling, node, combination);
                let cell = of(&combination).map_err(|error| blamed(error, &combination, of))?;
                if let Some((_, first)) = cells.iter().find(|(other, _)| other.name == cell.name) {
                    return Err(duplicate("cell", &cell.name, &node.place, first));
                }
                cells.push((cell, node.place.clone()));
            }
        }
    }
    let cells: Vec<Cell> = cells.into_iter().map(|(cell, _)| cell).collect();
    check_exclusions(&exclusions, &excluding, cell_nodes, &cells)?;
    Ok(cells)
}

/// Whether any exclusion fits; `excluding` notes which did.
fn is_excluded(
    exclusions: &[Exclusion<'_>],
    excluding: &mut [bool],
    model: &Model<'_>,
    cell: &Node,
    combination: &Combination<'_>,
) -> bool {
    let mut is_excluded = false;
    for (exclusion, has_fitted) in exclusions.iter().zip(excluding) {
        let fits = matches(exclusion, model, cell, combination);
        *has_fitted |= fits;
        is_excluded |= fits;
    }
    is_excluded
}

/// Refuses an exclusion that fits nothing, which is misspelt, and a cell of which nothing is left.
fn check_exclusions(
    exclusions: &[Exclusion<'_>],
    excluding: &[bool],
    cell_nodes: &[Node],
    cells: &[Cell],
) -> Result<(), SpecError> {
    let conflict = |place: &Place, conflict: String, remedy: &str| {
        Err(crate::error::conflict(conflict, remedy).at(place.clone()))
    };
    if let Some((idle, _)) = exclusions.iter().zip(excluding).find(|(_, has_fitted)| !**has_fitted) {
        let problem = "this exclusion excludes nothing".to_owned();
        return conflict(&idle.place, problem, "correct its values, or remove it");
    }
    let is_left = |node: &&Node| cells.iter().any(|cell| Some(cell.base.as_str()) == node.name());
    match cell_nodes.iter().find(|node| !is_left(node)) {
        Some(gone) => {
            let name = gone.name().unwrap_or_default();
            let problem = format!("the exclusions leave nothing of the cell `{name}`");
            conflict(&gone.place, problem, "remove the cell, or exclude less")
        }
        None => Ok(()),
    }
}

/// The `[[cell]]` tables: at least one, with names that differ.
fn cell_nodes<'n>(spec: &Fields<'n>) -> Result<&'n [Node], SpecError> {
    let node = spec.required("cell", "a spec needs at least one [[cell]]")?;
    let nodes = fields::list(node, "cell")?;
    if nodes.is_empty() {
        return Err(out_of_range(node, "cell", "at least one [[cell]]", "an empty list".to_owned()));
    }
    let mut seen: BTreeMap<&str, &Place> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        // Axes and messages address cells by name, so names come before everything else.
        let name = match node.get("name") {
            Some(name) => fields::text(name, &format!("cell.{index}.name"))?,
            // Reading the cell gives the error: its keys are checked, and that there is a name.
            None => {
                return Err(cells::cell(node, &format!("cell.{index}")).err().expect("a cell needs a name"));
            }
        };
        let place = node.get("name").map_or(&node.place, |name| &name.place);
        if let Some(first) = seen.insert(name, place) {
            return Err(duplicate("cell", name, place, first));
        }
    }
    Ok(nodes)
}

fn models(node: &Node) -> Result<Vec<Model<'_>>, SpecError> {
    let nodes = match &node.value {
        Value::List(nodes) if nodes.is_empty() => {
            return Err(out_of_range(node, "model", "at least one model", "an empty list".to_owned()));
        }
        Value::List(nodes) => nodes.as_slice(),
        _ => return Ok(vec![Model { node, path: "model".to_owned(), labels: Vec::new() }]),
    };
    for (idx, node) in nodes.iter().enumerate() {
        if let Some(first) = nodes[..idx].iter().find(|first| first.same_value(node)) {
            return Err(crate::error::conflict(
                format!("this model is the same as the one at {}", first.place),
                "remove one of them",
            )
            .at(node.place.clone()));
        }
    }
    let differs = |key: &str| {
        nodes.iter().any(|other| other.get(key).map(Node::to_json) != nodes[0].get(key).map(Node::to_json))
    };
    let labelling = [
        ("name", "model"),
        ("dtype", "dtype"),
        ("device", "device"),
        ("weights", "weights"),
        ("heads", "heads"),
    ];
    let labelling: Vec<_> = labelling.into_iter().filter(|(key, _)| differs(key)).collect();
    let model = |(index, node): (usize, &'_ Node)| {
        let label = |(key, label): &(&str, &str)| {
            let value =
                node.get(key).map_or_else(|| "default".to_owned(), |value| axes::value_label(value, index));
            format!("{label}={value}")
        };
        labelling.iter().map(label).collect()
    };
    let of = |(index, node)| Model { node, path: format!("model.{index}"), labels: model((index, node)) };
    Ok(nodes.iter().enumerate().map(of).collect())
}

/// The axes that touch a cell on a model. A sampling key that the cell sets itself is its own.
fn touching<'a, 'n>(axes: &'a [Axis<'n>], model: usize, cell: usize, node: &Node) -> Vec<&'a Axis<'n>> {
    let sets_itself = |key: &str| {
        let by_axis = |axis: &Axis<'_>| axis.target == Target::Cell(cell) && axis.rest == ["sampling", key];
        node.get("sampling").is_some_and(|own| own.get(key).is_some()) || axes.iter().any(by_axis)
    };
    let touches = |axis: &&Axis<'_>| match axis.target {
        Target::Model(target) => target == model,
        Target::Cell(target) => target == cell,
        Target::Sampling => !sets_itself(&axis.rest[0]),
    };
    axes.iter().filter(touches).collect()
}

/// All combinations of values; the last axis varies fastest.
fn combinations<'n>(axes: &[&'n Axis<'n>]) -> Vec<Combination<'n>> {
    axes.iter().fold(vec![Vec::new()], |combinations, &axis| {
        let longer = |combination: Combination<'n>| {
            (0..axis.values.len())
                .map(move |value| combination.iter().copied().chain([(axis, value)]).collect())
        };
        combinations.into_iter().flat_map(longer).collect()
    })
}

fn matches(exclusion: &Exclusion<'_>, model: &Model<'_>, cell: &Node, combination: &Combination<'_>) -> bool {
    let has_value = |(path, value): &(&str, &Node)| {
        combination.iter().any(|(axis, idx)| axis.path == *path && axis.values[*idx].same_value(value))
    };
    let names_cell = |name: &str| {
        cell.name() == Some(name) || full_name(model, cell, combination).as_deref() == Some(name)
    };
    exclusion.cell.is_none_or(names_cell)
        && exclusion.model.is_none_or(|name| model.node.name() == Some(name))
        && exclusion.values.iter().all(has_value)
}

/// The cell's name with what sets it apart in brackets.
fn full_name(model: &Model<'_>, cell: &Node, combination: &Combination<'_>) -> Option<String> {
    Some(named(cell.name()?, &labels(model, combination)))
}

fn named(base: &str, labels: &[String]) -> String {
    if labels.is_empty() { base.to_owned() } else { format!("{base}[{}]", labels.join(",")) }
}

/// What stands in the brackets: the model's labels, then `axis=value` in the order of the axes.
fn labels(model: &Model<'_>, combination: &Combination<'_>) -> Vec<String> {
    let touching: Vec<&Axis<'_>> = combination.iter().map(|(axis, _)| *axis).collect();
    let label = |(axis, at): &(&Axis<'_>, usize)| {
        format!("{}={}", axes::short_name(axis, &touching), axes::value_label(&axis.values[*at], *at))
    };
    model.labels.iter().cloned().chain(combination.iter().map(label)).collect()
}

fn resolved(
    model: &Model<'_>,
    sampling: &Node,
    cell: &Node,
    combination: &Combination<'_>,
) -> Result<Cell, SpecError> {
    let (mut model_node, mut sampling, mut cell) = (model.node.clone(), sampling.clone(), cell.clone());
    let mut params = BTreeMap::new();
    let touching: Vec<&Axis<'_>> = combination.iter().map(|(axis, _)| *axis).collect();
    for (axis, value_idx) in combination {
        let value = &axis.values[*value_idx];
        let node = match axis.target {
            Target::Model(_) => &mut model_node,
            Target::Sampling => &mut sampling,
            Target::Cell(_) => &mut cell,
        };
        let rest: Vec<&str> = axis.rest.iter().map(String::as_str).collect();
        assign(node, &rest, axis.path, value.clone())?;
        params.insert(axes::short_name(axis, &touching), value.to_json());
    }
    let path = format!("cell.{}", cell.name().unwrap_or_default());
    let body = cells::cell(&cell, &path)?;
    let name = named(&body.name, &labels(model, combination));
    Ok(Cell {
        name,
        base: body.name,
        params,
        model: cells::model(&model_node, &model.path)?,
        sampling: cells::sampling(&sampling, cell.get("sampling"), &path)?,
        method: body.method,
        external: body.external,
        imported: None,
        timed: body.timed,
    })
}

/// The error of a cell at the place of the axis value without which there is none, if there is such a value.
fn blamed(
    error: SpecError,
    combination: &Combination<'_>,
    cell: impl Fn(&Combination<'_>) -> Result<Cell, SpecError>,
) -> SpecError {
    let places: Vec<&Place> = combination.iter().map(|(axis, at)| &axis.values[*at].place).collect();
    let is_at_fault = |at: &usize| {
        let mut others = combination.clone();
        others.remove(*at);
        cell(&others).is_ok()
    };
    if places.contains(&&error.place) {
        return error;
    }
    match (0..places.len()).find(is_at_fault) {
        Some(at) => SpecError { place: places[at].clone(), ..error },
        None => error,
    }
}

fn too_many(spec: &Fields<'_>, cell: &Place) -> SpecError {
    crate::error::conflict(
        format!("models and axes multiply to more than {MAX_CELLS} cells"),
        "sweep fewer values at a time",
    )
    .at(spec.get("axes").map_or(cell, |axes| &axes.place).clone())
}
