//! What two runs must have in common so that their numbers can be compared.

use specimen_record::{CellSummary, Origin, Summary, UNKNOWN_DATASET, UNKNOWN_DEVICE};

/// Why times of the two runs do not belong into one table; `None` where they do.
pub fn other_device(a: &Summary, b: &Summary) -> Option<String> {
    differing(&[
        ("machine", a.machine(), b.machine()),
        ("threads", a.threads.to_string(), b.threads.to_string()),
        ("processor features", a.cpu_features.join(" "), b.cpu_features.join(" ")),
    ])
}

/// Why two cells are not known to be the same experiment; `None` where they are. Method, model, dataset, sampling, kind of
/// number and device are looked at. Of imported images method and device are not known, nor the dataset where none was named.
pub fn other_identity(a: (&Summary, &CellSummary), b: (&Summary, &CellSummary)) -> Option<String> {
    let text = |cell: &CellSummary| {
        let s = &cell.sampling;
        format!("T {} top-k {} top-p {} guidance {}", s.temperature, s.top_k, s.top_p, s.guidance)
    };
    let (one, two) = (a.1, b.1);
    let facts = [
        ("method", a.0.made_by(one), b.0.made_by(two)),
        ("model", one.model.clone(), two.model.clone()),
        ("dataset", one.dataset.clone(), two.dataset.clone()),
        ("sampling", text(one), text(two)),
        ("dtype", one.dtype.clone(), two.dtype.clone()),
        ("device", one.device.clone(), two.device.clone()),
    ];
    let (mut words, mut known) = (Vec::new(), facts.to_vec());
    // Two imports of one table are as much the same as they say; an import and a run of this program are not.
    for (side, cell, other) in [("A", one, two), ("B", two, one)] {
        if is_imported(cell) && !is_imported(other) {
            let unknown = unknown_of(cell);
            known.retain(|(name, ..)| !unknown.contains(name));
            words.push(format!("of {side}, which is imported, these are not known: {}", unknown.join(", ")));
        }
    }
    words.extend(differing(&known));
    (!words.is_empty()).then(|| words.join("; "))
}

fn is_imported(cell: &CellSummary) -> bool {
    cell.origin == Some(Origin::Imported)
}

/// What an import does not say of a cell.
fn unknown_of(cell: &CellSummary) -> Vec<&'static str> {
    let facts = [
        ("method", true),
        ("dataset", cell.dataset == UNKNOWN_DATASET),
        ("device", cell.device == UNKNOWN_DEVICE),
    ];
    facts.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(name, _)| name).collect()
}

fn differing(facts: &[(&str, String, String)]) -> Option<String> {
    let differ = facts.iter().filter(|(_, a, b)| a != b);
    let facts: Vec<String> = differ.map(|(name, a, b)| format!("{name}: A has {a}, B has {b}")).collect();
    (!facts.is_empty()).then(|| facts.join("; "))
}
