//! What two runs must have in common so that their numbers can be compared.

use specimen_record::{CellSummary, Summary};

/// Why times of the two runs do not belong into one table; `None` where they do.
#[must_use]
pub fn other_device(a: &Summary, b: &Summary) -> Option<String> {
    differing(&[
        ("machine", a.machine(), b.machine()),
        ("threads", a.threads.to_string(), b.threads.to_string()),
        ("processor features", a.cpu_features.join(" "), b.cpu_features.join(" ")),
    ])
}

/// Why two cells are not the same experiment; `None` where they are. Method, model, dataset, sampling, kind of number and
/// device are looked at.
#[must_use]
pub fn other_identity(a: (&Summary, &CellSummary), b: (&Summary, &CellSummary)) -> Option<String> {
    let text = |cell: &CellSummary| {
        let s = &cell.sampling;
        format!("T {} top-k {} top-p {} guidance {}", s.temperature, s.top_k, s.top_p, s.guidance)
    };
    let (one, two) = (a.1, b.1);
    differing(&[
        ("method", a.0.made_by(one), b.0.made_by(two)),
        ("model", one.model.clone(), two.model.clone()),
        ("dataset", one.dataset.clone(), two.dataset.clone()),
        ("sampling", text(one), text(two)),
        ("dtype", one.dtype.clone(), two.dtype.clone()),
        ("device", one.device.clone(), two.device.clone()),
    ])
}

fn differing(facts: &[(&str, String, String)]) -> Option<String> {
    let differ = facts.iter().filter(|(_, a, b)| a != b);
    let facts: Vec<String> = differ.map(|(name, a, b)| format!("{name}: A has {a}, B has {b}")).collect();
    (!facts.is_empty()).then(|| facts.join("; "))
}
