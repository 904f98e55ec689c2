//! Known answers: each metric on numbers so small that the answer is exact arithmetic, through the same files, protocol
//! and code as a real measurement. They take milliseconds and need no weights.

use std::path::PathBuf;

use specimen_pixels::Image;
use specimen_stats::npy_write::{Values, write_npy};

use crate::error::MeasureError;
use crate::meter::Meter;
use crate::metrics::{METRICS, PAIR_METRICS, PairMetric};
use crate::network::{Networks, NoNetworks};
use crate::pair_protocol::PairProtocol;
use crate::protocol::Protocol;

/// A value and what it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownAnswer {
    /// The value, and the rule where there are several.
    pub metric: &'static str,
    /// By exact arithmetic.
    pub expected: f64,
    /// What this machine computes.
    pub found: f64,
}

impl KnownAnswer {
    /// Whether the two agree but for rounding.
    pub fn is_right(&self) -> bool {
        (self.found - self.expected).abs() <= 1e-9 * self.expected.abs().max(1.0)
    }
}

/// Its steps and its network are not used.
const PROTOCOL: &str = r#"
schema = 1
name = "known-answers"
about = "Small numbers."
source = "exact arithmetic"
pixels = [{ step = "resize", to = { square = 1 }, by = { engine = "pil-u8", filter = "box" } }]
network = { name = "none", layer = "none", dtype = "f32" }
"#;

/// Where metrics put the small numbers that they measure, and their answers.
#[derive(Debug)]
pub(crate) struct Known {
    folder: tempfile::TempDir,
    answers: Vec<KnownAnswer>,
}

impl Known {
    /// A meter under a protocol with this table.
    pub(crate) fn meter(&self, table: &str) -> Result<Meter<'static>, MeasureError> {
        self.meter_by(table, &NoNetworks)
    }

    /// The same with these networks.
    pub(crate) fn meter_by(
        &self,
        table: &str,
        networks: &'static dyn Networks,
    ) -> Result<Meter<'static>, MeasureError> {
        Ok(Meter::new(Protocol::parse("known answers", &format!("{PROTOCOL}{table}\n"))?, networks))
    }

    /// A file of rows, `[n, d]`.
    pub(crate) fn rows(&self, name: &str, d: usize, values: &[f32]) -> Result<PathBuf, MeasureError> {
        let path = self.folder.path().join(name).with_extension("npy");
        let bytes = write_npy(&[values.len() / d, d], Values::F32(values));
        std::fs::write(&path, bytes).map_err(|e| MeasureError::io(&path, "write", e))?;
        Ok(path)
    }

    /// A folder of pictures of one pixel, by their names.
    pub(crate) fn pictures(&self, pictures: &[(&str, [u8; 3])]) -> Result<PathBuf, MeasureError> {
        let folder = self.folder.path().join("pictures");
        std::fs::create_dir_all(&folder).map_err(|e| MeasureError::io(&folder, "make the folder", e))?;
        for (name, rgb) in pictures {
            let path = folder.join(name);
            let file = [b"P6 1 1 255\n", &rgb[..]].concat();
            std::fs::write(&path, file).map_err(|e| MeasureError::io(&path, "write", e))?;
        }
        Ok(folder)
    }

    /// The value of a metric of pairs under a protocol with this table and by these networks, of two pictures of `width`
    /// pixels a row.
    pub(crate) fn pair(
        &self,
        metric: &PairMetric,
        (table, networks): (&str, &dyn Networks),
        width: usize,
        pictures: [&[u8]; 2],
    ) -> Result<f64, MeasureError> {
        let head = "schema = 1\nname = \"known-answers\"\nabout = \"\"\nsource = \"exact arithmetic\"\n";
        let protocol = PairProtocol::parse("known answers", &format!("{head}{table}\n"))?;
        let image = |rgb: &[u8]| Image::new(width, rgb.len() / 3 / width, rgb.to_vec());
        let scores = (metric.open)(&protocol, networks)?.scores(&[pictures.map(image)]);
        let why = match scores.into_iter().next() {
            Some(Ok(Some(score))) => return Ok(score),
            Some(Err(why)) => why,
            _ => "it has no finite value".to_owned(),
        };
        Err(MeasureError::DoesNotApply { why: format!("{}: {why}", metric.name) })
    }

    /// Notes what a metric must be and what was found.
    pub(crate) fn answer(&mut self, metric: &'static str, expected: f64, found: f64) {
        self.answers.push(KnownAnswer { metric, expected, found });
    }
}

/// Computes every known answer.
pub fn known_answers() -> Result<Vec<KnownAnswer>, MeasureError> {
    let temporary = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(|e| MeasureError::io(&temporary, "make a folder in", e))?;
    let mut known = Known { folder, answers: Vec::new() };
    METRICS.iter().try_for_each(|metric| (metric.known_answers)(&mut known))?;
    PAIR_METRICS.iter().try_for_each(|metric| (metric.known_answers)(&mut known))?;
    Ok(known.answers)
}

/// Returns the built-in protocols whose steps make other pixels of a small picture on this machine than where this program
/// was tested; none on a sound one.
pub fn wrong_pixels() -> Result<Vec<&'static str>, MeasureError> {
    let mut wrong = Vec::new();
    for name in Protocol::names() {
        let protocol = Protocol::named(name)?;
        let Some(expected) = protocol.known_pixels() else { continue };
        let made = protocol.recipe().pixels.apply(picture());
        let made = made.map_err(|source| crate::error::step(name.as_ref(), source))?;
        let bytes: Vec<u8> = made.into_float().values().iter().flat_map(|x| x.to_le_bytes()).collect();
        if !blake3::hash(&bytes).to_hex().starts_with(expected) {
            wrong.push(name);
        }
    }
    Ok(wrong)
}

/// A picture of 37x23 pixels without a file.
fn picture() -> Image {
    let (width, height) = (37, 23);
    let byte = |at: usize| (at * at * 31 + at * 7) as u8;
    Image::new(width, height, (0..width * height * 3).map(byte).collect())
}
