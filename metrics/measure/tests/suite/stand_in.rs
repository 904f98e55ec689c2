//! Networks without weights, and folders of pictures without files from outside.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use specimen_measure::error::MeasureError;
use specimen_measure::metrics::clip_score::ClipScoreRule;
use specimen_measure::network::{
    Batch, FeatureNetwork, NetworkFault, NetworkRule, Networks, Opened, Part, TextNetwork,
};

/// Width of the stand-in's rows.
pub(crate) const N_DIMS: usize = 6;

/// Opens stand-ins, and counts what went through them.
#[derive(Default)]
pub(crate) struct StandIns {
    /// Passes of networks for pictures.
    pub(crate) n_passes: std::sync::Arc<AtomicUsize>,
}

impl StandIns {
    pub(crate) fn passes(&self) -> usize {
        self.n_passes.load(Ordering::SeqCst)
    }
}

impl Networks for StandIns {
    fn images(&self, rule: &NetworkRule, layers: &[&str]) -> Result<Opened, MeasureError> {
        let identity = |layer: &&str| format!("{}-{layer}-{}@0123456789ab", rule.name, rule.dtype.name());
        let identities = layers.iter().map(identity).collect();
        let network = Box::new(Sums { identities, n_passes: self.n_passes.clone() });
        Ok(Opened { network, provenance: None })
    }

    fn n_dims(&self, _: &NetworkRule) -> Option<usize> {
        Some(N_DIMS)
    }

    fn texts(&self, _: &NetworkRule, texts: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        Ok(Box::new(Letters { prefix: texts.prefix.clone() }))
    }
}

/// Weighted sums of each plane; those of a layer of logits are divided by 7.
struct Sums {
    /// Of each layer.
    identities: Vec<String>,
    n_passes: std::sync::Arc<AtomicUsize>,
}

impl FeatureNetwork for Sums {
    fn parts(&self) -> Vec<Part> {
        let part = |identity: &String| Part { identity: identity.clone(), n_dims: N_DIMS };
        self.identities.iter().map(part).collect()
    }

    fn rows(&self, batch: &Batch) -> Result<Vec<f32>, NetworkFault> {
        self.n_passes.fetch_add(1, Ordering::SeqCst);
        let plane = batch.height * batch.width;
        let rows = batch.values.chunks_exact(3 * plane).flat_map(|picture| {
            self.identities.iter().flat_map(move |identity| {
                let scale = if identity.contains("logits") { 7.0 } else { 1.0 };
                picture.chunks_exact(plane).flat_map(move |plane| {
                    let mean = plane.iter().sum::<f32>() / plane.len() as f32;
                    let wave: f32 =
                        plane.iter().enumerate().map(|(at, x)| x * ((at % 101) as f32 - 50.0)).sum::<f32>();
                    [mean / scale, wave / 1000.0 / scale]
                })
            })
        });
        Ok(rows.collect())
    }
}

/// Sums over the letters.
struct Letters {
    prefix: String,
}

impl TextNetwork for Letters {
    fn identity(&self) -> String {
        "letters-f32@0123456789ab".to_owned()
    }

    fn logit_scale(&self) -> f64 {
        1.5
    }

    fn n_dims(&self) -> usize {
        N_DIMS
    }

    fn counts(&self, texts: &[String]) -> Vec<(&'static str, usize)> {
        let n = |is_so: fn(&&String) -> bool| texts.iter().filter(is_so).count();
        vec![("captions_cut", n(|text| text.len() > 40))]
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<f32>, NetworkFault> {
        let row = |text: &String| {
            let text = format!("{}{text}", self.prefix);
            let mut row = [0.1_f32; N_DIMS];
            text.bytes().enumerate().for_each(|(at, byte)| row[at % N_DIMS] += f32::from(byte) / 100.0);
            row
        };
        Ok(texts.iter().flat_map(row).collect())
    }
}

/// Writes a picture of its own for each of `names` below `folder`, in that order; their sizes differ.
pub(crate) fn pictures(folder: &Path, names: &[&str]) -> PathBuf {
    for name in names {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, picture(seed_of(name))).unwrap();
    }
    folder.to_owned()
}

/// A picture that only its name decides.
fn seed_of(name: &str) -> usize {
    name.bytes().fold(7, |seed, byte| (seed * 31 + usize::from(byte)) % 10_007)
}

/// A binary PPM with smooth colours and some noise.
fn picture(seed: usize) -> Vec<u8> {
    let (width, height) = (20 + seed % 17, 15 + seed % 11);
    let mut file = format!("P6 {width} {height} 255\n").into_bytes();
    let byte = |at: usize| ((at / 3 % width) * (seed % 9) + at * (seed % 5 + 1) + seed * 13) as u8;
    file.extend((0..width * height * 3).map(byte));
    file
}

/// Names of `n` pictures.
pub(crate) fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i:04}.ppm")).collect()
}

/// A folder with `n` pictures.
pub(crate) fn folder_of(root: &Path, name: &str, n: usize) -> PathBuf {
    let names = names(&format!("{name}_"), n);
    pictures(&root.join(name), &names.iter().map(String::as_str).collect::<Vec<_>>())
}
