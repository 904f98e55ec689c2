//! Known answers: each metric on numbers so small that the answer is exact arithmetic, through the same files, protocol
//! and code as a real measurement. They take milliseconds and need no weights.

use std::path::{Path, PathBuf};

use specimen_pixels::Image;
use specimen_stats::npy_write::{Values, write_npy};

use crate::clip_score::clip_score_of_rows;
use crate::cmmd::cmmd;
use crate::error::MeasureError;
use crate::fid::fid;
use crate::inception_score::inception_score;
use crate::kid::kid;
use crate::meter::Meter;
use crate::network::NoNetworks;
use crate::prdc::prdc;
use crate::protocol::Protocol;
use crate::vendi::vendi;

/// A value and what it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownAnswer {
    /// The metric.
    pub metric: &'static str,
    /// By exact arithmetic.
    pub expected: f64,
    /// What this machine computes.
    pub found: f64,
}

impl KnownAnswer {
    /// Whether the two agree but for rounding.
    #[must_use]
    pub fn is_right(&self) -> bool {
        (self.found - self.expected).abs() <= 1e-9 * self.expected.abs().max(1.0)
    }
}

/// Every metric has its table, those of KID and of precision to be filled in; its steps and its network are not used.
const PROTOCOL: &str = r#"
schema = 1
name = "known-answers"
about = "Small numbers."
source = "exact arithmetic"
pixels = [{ step = "resize", to = { square = 1 }, by = { engine = "pil-u8", filter = "box" } }]
network = { name = "none", layer = "none", dtype = "f32" }
fid = { ddof = 1 }
kid = KID
prdc = { k = 3, rule = "RULE" }
is = { layer = "none", n_splits = 1 }
cmmd = { kernel = "gaussian-10" }
vendi = { kernel = "cosine" }
clip-score = { scaling = "clipscore" }
"#;

/// The estimator of torch-fidelity, over subsets of two rows.
const SUBSETS: &str = r#"{ estimator = "subsets", draw = "torch-fidelity", first = "generated", n_subsets = 3, subset_size = 2, seed = 7 }"#;

/// Computes every known answer.
///
/// # Errors
/// A metric that fails; no folder for small files.
pub fn known_answers() -> Result<Vec<KnownAnswer>, MeasureError> {
    let temporary = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(|e| MeasureError::io(&temporary, "make a folder in", e))?;
    let protocol = |kid: &str, rule: &str| {
        Protocol::parse("known answers", &PROTOCOL.replace("KID", kid).replace("RULE", rule))
    };
    let mut meter = Meter::new(protocol(r#"{ estimator = "all-pairs" }"#, "<=")?, &NoNetworks);
    let mut other = Meter::new(protocol(SUBSETS, "<")?, &NoNetworks);
    let rows = |name: &str, d: usize, values: &[f32]| file(folder.path(), name, d, values);
    let mut answers = Vec::new();
    let mut answer = |metric, expected, found| answers.push(KnownAnswer { metric, expected, found });

    // Means (1, 1) and (5, 2), covariances 4/3 and 16/3 of the identity.
    let small = rows("small", 2, &[0., 0., 2., 0., 0., 2., 2., 2.])?;
    let large = rows("large", 2, &[3., 0., 7., 0., 3., 4., 7., 4.])?;
    answer("fid", 17.0 + 8.0 / 3.0, fid(&mut meter, &small, &large)?.value);

    // (x y + 1)^3: 1 within, 27 within, 37/4 between.
    let (low, high) = (rows("low", 1, &[0., 1.])?, rows("high", 1, &[1., 2.])?);
    answer("kid", 9.5, kid(&mut meter, &low, &high)?.value);
    // A subset of all rows is all rows, whatever is drawn.
    answer("kid over subsets", 9.5, kid(&mut other, &low, &high)?.value);

    // Radii 3, 2, 2, 3 on the real side; half of the other side lies far away.
    let real = rows("real", 1, &[0., 1., 2., 3.])?;
    let generated = rows("generated", 1, &[1.5, 2.5, 20., 21.])?;
    let expected = [0.5, 1.0, 2.0 / 3.0, 1.0];
    for (measured, expected) in prdc(&mut meter, &real, &generated)?.iter().zip(expected) {
        answer(measured.metric, expected, measured.value);
    }
    // One row lies on the edge of a radius, and does not count where `<` is the rule.
    let edge = rows("edge", 1, &[1., 6., 20., 21.])?;
    let names = ["precision by <", "recall by <", "density by <", "coverage by <"];
    let measured = prdc(&mut other, &real, &edge)?;
    for ((measured, name), expected) in measured.iter().zip(names).zip([0.25, 1.0, 1.0 / 3.0, 1.0]) {
        answer(name, expected, measured.value);
    }

    // Unit vectors at a right angle.
    let (across, up) = (rows("across", 2, &[5., 0.])?, rows("up", 2, &[0., 0.1])?);
    answer("cmmd", 2000.0 * (1.0 - (-0.01_f64).exp()), cmmd(&mut meter, &across, &up)?.value);
    let axes = rows("axes", 3, &[2., 0., 0., 0., 3., 0., 0., 0., 4.])?;
    answer("vendi", 3.0, vendi(&mut meter, &axes)?.value);

    // Two pictures, each surely of a class of its own.
    let logits = rows("logits", 2, &[1000., 0., 0., 1000.])?;
    answer("is", 2.0, inception_score(&mut meter, &logits)?.value);

    // Cosines 24/25 and -1, which is clamped.
    let (pictures, texts) = (rows("pictures", 2, &[3., 4., 1., 0.])?, rows("texts", 2, &[4., 3., -1., 0.])?);
    answer("clip-score", 1.2, clip_score_of_rows(&mut meter, &pictures, &texts)?.value);
    Ok(answers)
}

fn file(folder: &Path, name: &str, d: usize, values: &[f32]) -> Result<PathBuf, MeasureError> {
    let path = folder.join(name).with_extension("npy");
    let bytes = write_npy(&[values.len() / d, d], Values::F32(values));
    std::fs::write(&path, bytes).map_err(|e| MeasureError::io(&path, "write", e))?;
    Ok(path)
}

/// Beginning of the BLAKE3 of what each protocol's steps make of [`picture`], as computed where this program was tested
/// against the reference tools. A machine that disagrees computes other pixels.
const PIXELS: [(&str, &str); 17] = [
    ("clean", "86f68fab2f4a"),
    ("clean-legacy-pytorch", "c01f553dd059"),
    ("clean-legacy-tf", "0e665c3ddf01"),
    ("clipscore", "c57f5d688662"),
    ("cmmd", "c1e85ed3fdde"),
    ("fd-dinov2", "d6806e8c2d91"),
    ("lantern", "502a09db97b6"),
    ("lantern-clip", "fc04714a57e2"),
    ("lantern-pr", "cb287d136827"),
    ("prdc", "cb287d136827"),
    ("pytorch-fid", "20b0a4c87c2b"),
    ("sjd", "20b0a4c87c2b"),
    ("sjd-clip", "56d2f290b044"),
    ("sjd-is", "54a07cb1d4d0"),
    ("tf1", "0e665c3ddf01"),
    ("torchmetrics-1.8", "1102ab3bcde5"),
    ("torchmetrics-clip", "c57f5d688662"),
];

/// Returns the protocols whose steps make other pixels of a small picture on this machine than where this program
/// was tested; none on a sound one.
///
/// # Errors
/// A step that fails.
pub fn wrong_pixels() -> Result<Vec<&'static str>, MeasureError> {
    let mut wrong = Vec::new();
    for (name, expected) in PIXELS {
        let protocol = Protocol::named(name)?;
        let made = protocol.recipe().pixels.apply(picture());
        let made = made.map_err(|source| MeasureError::Step { path: name.into(), source })?;
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
