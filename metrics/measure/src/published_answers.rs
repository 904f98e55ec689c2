//! Known answers of published weights: what the reference tools say of three small pictures, and what this program says.
//!
//! The values are in one file, `metrics/measure/answers/published.toml`, or in another of the same format. A value that nobody
//! could obtain is `unknown` there, never a guess; `scripts/reference_values.py` makes it for who has the weights. The
//! pictures are drawn by integer arithmetic, here and in the script.

mod picture;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use specimen_catalog::entry::Known;
use specimen_extract::weights_lookup::LookupError;
use specimen_foundation::failure;
use specimen_pixels::Image;

use crate::bounded;
use crate::error::MeasureError;
use crate::images::Event;
use crate::meter::Meter;
use crate::metrics::lpips::Lpips;
use crate::metrics::{CaptionsOf, PAIR_METRICS, Sides};
use crate::network::Provenance;
use crate::pair_protocol::PairProtocol;
use crate::pairs::PairMeasure;
use crate::protocol::Protocol;
use crate::protocol_head::parse_toml;
use crate::published::Published;

pub use picture::{PROMPTS, pictures};

/// The values that this program comes with.
const BUILT_IN: (&str, &str) =
    ("metrics/measure/answers/published.toml", include_str!("../answers/published.toml"));
/// Most bytes of such a file.
const MAX_BYTES: u64 = 1 << 20;

/// Numbers of a row of features that are compared: its root mean square, then its first, middle and last number, and a sum
/// that depends on their order.
const OF_A_ROW: usize = 5;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// Of each picture's features the root mean square, the first, the middle and the last number, and the sum in which
    /// every number has a weight of its place.
    Features,
    /// The score of each picture, with its prompt where the metric takes one; of `clip-score` the cosine.
    Scores,
    /// The distances of the first picture and the second, of the second and the third, of the third and the first.
    Distances,
    /// The same by the published heads of LPIPS on a trunk whose weights are made by recipe.
    DistancesByHeads,
}

impl Of {
    /// How many numbers that is.
    pub fn n_values(self) -> usize {
        if self == Self::Features { 3 * OF_A_ROW } else { 3 }
    }

    /// Number `at` in words.
    pub fn place(self, at: usize) -> String {
        match self {
            Self::Features => {
                let what =
                    ["root mean square", "first number", "middle number", "last number", "weighted sum"];
                format!("the {} of picture {}", what[at % OF_A_ROW], at / OF_A_ROW + 1)
            }
            Self::Scores => format!("the score of picture {}", at + 1),
            Self::Distances | Self::DistancesByHeads => {
                format!("the distance of pictures {} and {}", at + 1, (at + 1) % 3 + 1)
            }
        }
    }
}

/// What the reference says of one network.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The protocol by which the pictures reach the network.
    pub protocol: String,
    /// What is compared.
    pub of: Of,
    /// The tool that gave the values or can give them, with its version.
    pub reference: String,
    /// What was run or is to be run.
    pub command: String,
    /// Largest difference, as a part of the largest value.
    pub tolerance: f64,
    /// The values, or that nobody could obtain them yet.
    pub values: Known<Vec<f64>>,
    /// A file of weights in place of the published ones.
    pub weights: Option<PathBuf>,
}

impl Answer {
    /// The catalog's entry that has the weights: what `specimen data fetch` takes.
    pub fn network(&self) -> Result<String, MeasureError> {
        Ok(match self.of {
            Of::Features | Of::Scores => Protocol::named(&self.protocol)?.recipe().fetched().to_owned(),
            Of::Distances | Of::DistancesByHeads => {
                PairProtocol::named(&self.protocol)?.recipe().network().unwrap_or_default().to_owned()
            }
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    schema: u32,
    answer: Vec<Answer>,
}

/// How a network did.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Its values are those of the reference.
    Agrees(Difference),
    /// They are not.
    Differs(Difference),
    /// There are weights, and no value to compare with.
    Unfilled,
    /// Weights or a vocabulary are not here: nothing was checked.
    Absent(String),
    /// The published file is here, and not converted yet: nothing was checked.
    Unconverted(String),
    /// What is here cannot be used.
    Refused(String),
}

/// The largest difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// As a part of the largest value; infinite where something is no number.
    pub part: f64,
    /// Which of the values.
    pub at: usize,
}

/// A network that was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What the reference says.
    pub answer: Answer,
    /// The catalog's entry that has the weights: what `specimen data fetch` takes.
    pub network: String,
    /// What this program computes; none without weights.
    pub found: Vec<f64>,
    /// Identities of the networks that were opened.
    pub identities: Vec<String>,
    /// Where the weights came from.
    pub provenance: Vec<String>,
    /// How it did.
    pub verdict: Verdict,
}

/// The values that the program comes with.
///
/// # Panics
/// Where the file that is built in is none, which a test excludes.
pub fn built_in() -> Vec<Answer> {
    parse(BUILT_IN.0, BUILT_IN.1).expect("the file that is built in is tested")
}

/// The values in the file at `path`; paths of weights in it are beside it.
pub fn read(path: &Path) -> Result<Vec<Answer>, MeasureError> {
    let mut answers = parse(&path.display().to_string(), &bounded::read_text(path, MAX_BYTES)?)?;
    for answer in &mut answers {
        answer.weights = answer.weights.take().map(|weights| path.with_file_name("").join(weights));
    }
    Ok(answers)
}

fn parse(place: &str, text: &str) -> Result<Vec<Answer>, MeasureError> {
    let fault = |(place, reason): (String, String)| failure!(Spec: "values {place}: {reason}");
    let Wire { schema, answer: answers } = parse_toml(place, text).map_err(fault)?;
    let fault = |reason: String| fault((place.to_owned(), reason));
    if schema != 1 {
        return Err(fault(format!("schema = {schema}; this program reads schema 1")).into());
    }
    for Answer { protocol, of, tolerance, values, .. } in &answers {
        let expected = of.n_values();
        if let Some(found) = values.get().map(Vec::len).filter(|&found| found != expected) {
            return Err(fault(format!("`{protocol}` has {found} values, expected {expected}")).into());
        }
        let is_finite = values.get().is_none_or(|values| values.iter().all(|value| value.is_finite()));
        if !is_finite || !tolerance.is_finite() || *tolerance <= 0.0 {
            return Err(fault(format!(
                "`{protocol}`: values are finite numbers, and a tolerance is above 0"
            ))
            .into());
        }
    }
    Ok(answers)
}

/// Compares what the reference says with what the networks say whose weights are below `data`, in the folder or cache that
/// the environment names, or where the answer says.
pub fn check(answer: &Answer, data: Option<&Path>) -> Result<Checked, MeasureError> {
    let networks = Published::new(data, answer.weights.clone());
    let seen = RefCell::new(Vec::new());
    let network = answer.network()?;
    let found = match answer.of {
        Of::Features | Of::Scores => {
            of_pictures(answer.of, Protocol::named(&answer.protocol)?, &networks, &seen)
        }
        Of::Distances | Of::DistancesByHeads => {
            distances(answer.of, &PairProtocol::named(&answer.protocol)?, &networks, &seen)
        }
    };
    let (found, verdict) = match found {
        Ok(found) => {
            let verdict = answer.values.get().map_or(Verdict::Unfilled, |values| {
                let difference = difference(values, &found);
                match difference.part <= answer.tolerance {
                    true => Verdict::Agrees(difference),
                    false => Verdict::Differs(difference),
                }
            });
            (found, verdict)
        }
        Err(error) => (Vec::new(), refused(error)?),
    };
    let (identities, provenance): (Vec<String>, Vec<Option<Provenance>>) =
        seen.into_inner().into_iter().unzip();
    let provenance = provenance.into_iter().flatten().map(|known| known.to_string()).collect();
    Ok(Checked { answer: answer.clone(), network, found, identities, provenance, verdict })
}

/// Identities of opened networks, and where their weights came from.
type Seen = RefCell<Vec<(String, Option<Provenance>)>>;

fn of_pictures(
    of: Of,
    protocol: Protocol,
    networks: &Published,
    seen: &Seen,
) -> Result<Vec<f64>, MeasureError> {
    let temporary = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(|e| MeasureError::io(&temporary, "make a folder in", e))?;
    let mut captions = BTreeMap::new();
    for (at, (picture, prompt)) in pictures().iter().zip(PROMPTS).enumerate() {
        let name = format!("{}.ppm", at + 1);
        let path = folder.path().join(&name);
        let head = format!("P6 {} {} 255\n", picture.width(), picture.height());
        let bytes = [head.as_bytes(), picture.rgb()].concat();
        std::fs::write(&path, bytes).map_err(|e| MeasureError::io(&path, "write", e))?;
        captions.insert(name, prompt.to_owned());
    }
    let metrics = protocol.recipe().metrics();
    let mut meter = Meter::new(protocol, networks);
    meter.listen(|_, event| {
        if let Event::Opened { identity, provenance } = event {
            seen.borrow_mut().push((identity, provenance));
        }
    });
    if of == Of::Features {
        let rows = meter.rows(folder.path(), "features")?.features;
        return Ok((0..rows.n()).flat_map(|at| summary(rows.row(at))).collect());
    }
    let sides = Sides { captions: Some(CaptionsOf::Names(&captions)), ..Sides::one(folder.path()) };
    let outcome = (metrics[0].run)(&mut meter, &sides)?;
    Ok(outcome.pictures.iter().map(|picture| picture.score).collect())
}

fn summary(row: &[f32]) -> [f64; OF_A_ROW] {
    let n = row.len() as f64;
    let squares: f64 = row.iter().map(|&x| f64::from(x).powi(2)).sum();
    let weighted: f64 = (0..).zip(row).map(|(place, &x)| weight(place) * f64::from(x)).sum();
    let at = |at: usize| f64::from(row[at]);
    [(squares / n).sqrt(), at(0), at(row.len() / 2), at(row.len() - 1), weighted / n.sqrt()]
}

/// The weight of the number at `place` of a row, from -1 to 1; those of neighbours are far apart, so that no two numbers
/// change their places unseen. By whole numbers, so that it is the same in every language.
fn weight(place: u64) -> f64 {
    (place * 40_503 % 65_536) as f64 / 32_768.0 - 1.0
}

fn distances(
    of: Of,
    protocol: &PairProtocol,
    networks: &Published,
    seen: &Seen,
) -> Result<Vec<f64>, MeasureError> {
    let measure: Box<dyn PairMeasure> = match of {
        Of::DistancesByHeads => {
            Box::new(Lpips::of(networks.lpips_by_heads(protocol.recipe().network().unwrap_or_default())?))
        }
        _ => {
            let lpips = PAIR_METRICS.into_iter().find(|metric| metric.name == "lpips");
            (lpips.expect("LPIPS is a metric of pairs").open)(protocol, networks)?
        }
    };
    let first = measure.extractor().unwrap_or_default();
    seen.borrow_mut().push((first, measure.provenance().first().cloned()));
    let rest = measure.provenance().iter().skip(1).cloned();
    seen.borrow_mut().extend(rest.map(|known| (String::new(), Some(known))));
    let pictures = pictures();
    let pair = |at: usize| -> [Image; 2] { [pictures[at].clone(), pictures[(at + 1) % 3].clone()] };
    let scores = measure.scores(&[0, 1, 2].map(pair)).into_iter();
    let one = |score: Result<Option<f64>, String>| match score {
        Ok(score) => Ok(score.unwrap_or(f64::INFINITY)),
        Err(why) => Err(MeasureError::DoesNotApply { why }),
    };
    scores.map(one).collect()
}

fn difference(values: &[f64], found: &[f64]) -> Difference {
    let largest = values.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let part = |at: usize| {
        let part = found.get(at).map_or(f64::INFINITY, |found| (found - values[at]).abs() / largest);
        Difference { part: if part.is_nan() { f64::INFINITY } else { part }, at }
    };
    let all = (0..values.len()).map(part);
    all.max_by(|a, b| a.part.total_cmp(&b.part)).expect("an answer has at least three values")
}

/// What stands in the way of a network; an error where it is no matter of its files.
fn refused(error: MeasureError) -> Result<Verdict, MeasureError> {
    let why = error.to_string();
    let source = match &error {
        MeasureError::Network { source, .. } => source,
        // Weights that give no numbers: the other networks are compared all the same.
        MeasureError::Statistic { .. }
        | MeasureError::NotFinite { .. }
        | MeasureError::DoesNotApply { .. } => {
            return Ok(Verdict::Refused(why));
        }
        _ => return Err(error),
    };
    Ok(match source.downcast_ref::<LookupError>() {
        // Where it was looked for is the same for every network, and long.
        Some(LookupError::Absent { network, .. }) => Verdict::Absent(format!(
            "no weights of {network}; `specimen data fetch {network}` fetches and converts them"
        )),
        Some(LookupError::Unconverted { .. }) => Verdict::Unconverted(why),
        Some(LookupError::NoVocabulary { .. } | LookupError::AbsentBeside { .. }) => Verdict::Absent(why),
        _ => Verdict::Refused(why),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn every_answer_that_is_built_in_names_a_protocol_and_a_command() {
        let answers = built_in();
        for Answer { protocol, of, command, weights, .. } in &answers {
            match of {
                Of::Features => assert!(Protocol::named(protocol).is_ok(), "{protocol}"),
                Of::Scores => {
                    let metric = Protocol::named(protocol).unwrap().recipe().metrics()[0].name;
                    let scores =
                        ["clip-score", "aesthetic", "pickscore", "hpsv2.0", "hpsv2.1", "imagereward"];
                    assert!(scores.contains(&metric), "{protocol}");
                }
                Of::Distances | Of::DistancesByHeads => {
                    assert!(
                        PairProtocol::named(protocol).unwrap().recipe().network().is_some(),
                        "{protocol}"
                    );
                }
            }
            assert!(command.starts_with("python scripts/reference_values.py "), "{command}");
            assert_eq!(*weights, None, "{protocol}");
        }
        // Every network of a metric is among them.
        let named: Vec<&str> = answers.iter().map(|answer| answer.protocol.as_str()).collect();
        for name in Protocol::names() {
            let fetched = |name: &str| Protocol::named(name).unwrap().recipe().fetched().to_owned();
            let is_named = |known: &&&str| {
                Protocol::named(known).is_ok_and(|known| known.recipe().fetched() == fetched(name))
            };
            assert!(named.iter().find(is_named).is_some(), "the network of {name}");
        }
    }

    #[test]
    fn files_of_values_that_make_no_sense_are_refused() {
        let answer = |rest: &str| {
            format!(
                "schema = 1\n[[answer]]\nprotocol = \"pytorch-fid\"\nof = \"scores\"\nreference = \"r\"\ncommand = \"c\"\n{rest}"
            )
        };
        let refused = |text: &str| parse("v.toml", text).unwrap_err().to_string();
        let few = refused(&answer("tolerance = 1e-4\nvalues = [1.0, 2.0]\n"));
        assert!(few.contains("v.toml") && few.contains("has 2 values, expected 3"), "{few}");
        assert!(refused(&answer("tolerance = 0.0\nvalues = \"unknown\"\n")).contains("above 0"));
        assert!(refused(&answer("tolerance = 1e-4\nvalues = [nan, 1.0, 1.0]\n")).contains("finite"));
        assert!(refused("schema = 2\nanswer = []\n").contains("schema = 2"));
        assert!(refused(&answer("tolerance = 1e-4\nvalues = \"unknown\"\nvalue = 1\n")).contains("value"));
    }

    #[test]
    fn numbers_of_a_row_in_another_order_are_another_summary() {
        // As many as a row of Inception, most of them small, as behind its pooling.
        let row: Vec<f32> = (0..2048_u64).map(|at| ((at * at * 31 + 7 * at) % 997) as f32 / 997.0).collect();
        let apart = |other: &[f32]| difference(&summary(&row), &summary(other)).part;
        assert_eq!(apart(&row), 0.0);
        let tolerance = built_in().iter().map(|answer| answer.tolerance).fold(0.0, f64::max);
        for n in [2, 3, 319] {
            for from in [1, 500, 1025, 1700] {
                let mut turned = row.clone();
                turned[from..from + n].rotate_left(1);
                let [before, after] = [&row, &turned].map(|row| summary(row));
                assert!(
                    before[1..4] == after[1..4] && (before[0] - after[0]).abs() < 1e-12,
                    "only the order is another"
                );
                assert!(apart(&turned) > tolerance, "{n} from {from}: {:e}", apart(&turned));
            }
        }
    }

    #[test]
    fn the_largest_difference_is_a_part_of_the_largest_value() {
        let found = difference(&[1.0, -4.0, 2.0], &[1.5, -4.0, 2.25]);
        assert_eq!(found, Difference { part: 0.125, at: 0 });
        assert_eq!(difference(&[1.0, 1.0, 1.0], &[1.0, f64::NAN, 1.0]).at, 1);
        assert_eq!(Of::Features.place(7), "the middle number of picture 2");
        assert_eq!(Of::Features.place(14), "the weighted sum of picture 3");
        assert_eq!(Of::Distances.place(2), "the distance of pictures 3 and 1");
    }
}
