//! `specimen doctor --weights`: whether the networks of the metrics, with the published weights that are here, say of three
//! pictures what the reference tools say.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use specimen_foundation::{fail, text::counted};
use specimen_measure::published_answers::{Answer, Checked, Difference, Of, Verdict, built_in, check, read};

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
    spec_args::data_root,
};

/// What to check.
#[derive(Clone, Debug, Args)]
pub struct WeightsArgs {
    /// Only the networks whose name, or whose protocol's name, contains this
    #[arg(long, requires = "weights", value_name = "TEXT")]
    pub network: Option<String>,
    /// Values of the reference in another file than the program's own; it may name files of weights
    #[arg(long, requires = "weights", value_name = "FILE")]
    pub values: Option<PathBuf>,
}

/// How a network did, as `--format json` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    /// Its values are those of the reference.
    Ok,
    /// They are not.
    Off,
    /// Its files are here and cannot be used.
    Refused,
    /// Its published file is here and not converted yet.
    NotConverted,
    /// Its files are not here.
    NotChecked,
    /// Its files are here, and the reference's values are not known.
    ToFill,
}

/// One network.
#[derive(Serialize)]
struct Line {
    protocol: String,
    network: String,
    of: Of,
    status: Status,
    reference: String,
    /// What makes the reference's values.
    command: String,
    tolerance: f64,
    /// The reference's values; null where they are not known.
    values: Option<Vec<f64>>,
    /// This program's; empty without weights.
    found: Vec<f64>,
    /// As a part of the largest value; null where nothing was compared.
    largest_difference: Option<f64>,
    identities: Vec<String>,
    provenance: Vec<String>,
    /// What is wrong or absent, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What to send to the authors of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_send: Option<String>,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct WeightsAnswer<'l> {
    schema: u32,
    /// Whether something was compared, and everything that was is as the reference says.
    passed: bool,
    n_compared: usize,
    n_off: usize,
    n_refused: usize,
    n_not_converted: usize,
    n_not_checked: usize,
    n_to_fill: usize,
    networks: &'l [Line],
}

/// Checks every network and prints the results. Fails if one is off or refused, or if none could be compared.
pub(crate) fn weights_checked(args: &WeightsArgs, console: &Console) -> anyhow::Result<()> {
    let answers = match &args.values {
        None => built_in(),
        Some(path) => read(path)?,
    };
    specimen_weights::use_threads(1);
    let root = data_root();
    let mut lines = Vec::new();
    for known in &answers {
        let part = args.network.as_deref().unwrap_or_default();
        let network = known.network()?;
        if !known.protocol.contains(part) && !network.contains(part) {
            continue;
        }
        console.detail(format!("{network} by {}", known.protocol));
        lines.push(line(check(known, root.as_ref().map(|root| root.path()))?));
    }
    if lines.is_empty() {
        let known: Vec<&str> = answers.iter().map(|answer| answer.protocol.as_str()).collect();
        let part = args.network.as_deref().unwrap_or_default();
        let why = format!("--network: nothing has `{part}` in its name; protocols: {}", known.join(", "));
        fail!(Usage: "{why}");
    }
    let n = |status: Status| lines.iter().filter(|line| line.status == status).count();
    let (n_off, n_refused) = (n(Status::Off), n(Status::Refused));
    let n_compared = n(Status::Ok) + n_off;
    let all = WeightsAnswer {
        schema: 1,
        passed: n_compared > 0 && n_off + n_refused == 0,
        n_compared,
        n_off,
        n_refused,
        n_not_converted: n(Status::NotConverted),
        n_not_checked: n(Status::NotChecked),
        n_to_fill: n(Status::ToFill),
        networks: &lines,
    };
    match console.format() {
        Format::Json => answer_json(&all)?,
        Format::Human => answer(&human(&all))?,
    }
    let of = counted(lines.len(), "network");
    let wrong = [
        (Status::Off, "not as the reference says"),
        (Status::Refused, "not compared, since its files cannot be used"),
    ];
    let wrong = wrong.into_iter().filter_map(|(status, words)| {
        let names = lines.iter().filter(|line| line.status == status).map(|line| line.network.as_str());
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| format!("{} of {of} {words}: {}", names.len(), names.join(", ")))
    });
    let wrong: Vec<String> = wrong.collect();
    if !wrong.is_empty() {
        fail!(Mismatch: "{}", wrong.join("; "));
    }
    if n_compared == 0 {
        let why = format!(
            "nothing was compared: {} without files, {} with files that are not converted, {} without values of the \
             reference",
            all.n_not_checked, all.n_not_converted, all.n_to_fill
        );
        fail!(Missing: "{why}");
    }
    Ok(())
}

fn line(checked: Checked) -> Line {
    let Checked { answer, network, found, identities, provenance, verdict } = checked;
    let identities: Vec<String> = identities.into_iter().filter(|one| !one.is_empty()).collect();
    let (status, largest, why) = match &verdict {
        Verdict::Agrees(Difference { part, .. }) => (Status::Ok, Some(*part), None),
        Verdict::Differs(Difference { part, at }) => {
            let value = answer.values.get().map_or(f64::NAN, |values| values[*at]);
            let ours = found.get(*at).copied().unwrap_or(f64::NAN);
            let why = format!(
                "{} is {ours}, {} has {value}; the weights are {}; `specimen data fetch {network}` fetches the published ones; \
                 if these are they, this machine or this build computes otherwise: send us this line and that of `specimen doctor`",
                answer.of.place(*at),
                answer.reference,
                provenance.join(" and "),
            );
            (Status::Off, Some(*part), Some(why))
        }
        Verdict::Unfilled => (Status::ToFill, None, None),
        Verdict::Unconverted(why) => (Status::NotConverted, None, Some(why.clone())),
        Verdict::Absent(why) => (Status::NotChecked, None, Some(why.clone())),
        Verdict::Refused(why) => (Status::Refused, None, Some(why.clone())),
    };
    let to_send = (status == Status::ToFill).then(|| to_send(&answer, &found, &identities, &provenance));
    Line {
        network,
        status,
        largest_difference: largest.filter(|part| part.is_finite()),
        values: answer.values.get().cloned(),
        protocol: answer.protocol,
        of: answer.of,
        reference: answer.reference,
        command: answer.command,
        tolerance: answer.tolerance,
        found,
        identities,
        provenance,
        why,
        to_send,
    }
}

/// This program's values, and what makes the reference's.
fn to_send(answer: &Answer, found: &[f64], identities: &[String], provenance: &[String]) -> String {
    let numbers: Vec<String> = found.iter().map(ToString::to_string).collect();
    format!(
        "protocol   {}\nours       [{}]\nby         specimen {}, {}\nweights    {}\nreference  what `{}` prints, by {}\n",
        answer.protocol,
        numbers.join(", "),
        env!("CARGO_PKG_VERSION"),
        identities.join(" + "),
        provenance.join(" and "),
        answer.command,
        answer.reference,
    )
}

fn human(all: &WeightsAnswer<'_>) -> String {
    let width = all.networks.iter().map(|line| line.protocol.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for line in all.networks {
        let Line { protocol, network, status, reference, tolerance, .. } = line;
        let largest = || line.largest_difference.map_or("no number".to_owned(), |part| format!("{part:.1e}"));
        let why = line.why.as_deref().unwrap_or_default();
        let (mark, said) = match status {
            Status::Ok => (
                "ok         ",
                format!("largest difference {} (at most {tolerance:.0e}), {reference}", largest()),
            ),
            Status::Off => {
                ("OFF        ", format!("largest difference {} (at most {tolerance:.0e}): {why}", largest()))
            }
            Status::Refused => ("REFUSED    ", why.to_owned()),
            Status::NotConverted => ("unconverted", why.to_owned()),
            Status::NotChecked => ("not checked", why.to_owned()),
            Status::ToFill => {
                let lines: String = line
                    .to_send
                    .iter()
                    .flat_map(|text| text.lines())
                    .map(|line| format!("\n    {line}"))
                    .collect();
                (
                    "to fill    ",
                    format!(
                        "no value of the reference is known: to be filled by whoever has the file; please send us{lines}"
                    ),
                )
            }
        };
        let by_heads = if line.of == Of::DistancesByHeads { ", heads alone" } else { "" };
        text.push_str(&format!("{mark}  {protocol:width$}  {network}{by_heads}: {said}\n"));
    }
    let WeightsAnswer { n_compared, n_off, n_refused, n_not_converted, n_not_checked, n_to_fill, .. } = all;
    text.push_str(&format!(
        "{n_compared} compared, {n_off} off, {n_refused} refused, {n_not_converted} not converted, {n_not_checked} not checked, {n_to_fill} to fill\n"
    ));
    text
}
