//! What every stage does beside its loss: resume, save, log, write the final weights.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context;
use serde::Serialize;
use specimen_foundation::whole_file::write_whole;
use specimen_weights::write_safetensors;
use tch::Kind;

use crate::{engine::Engine, journal::Journal};

/// Where a stage keeps its files.
pub struct StageFiles {
    /// Name of the stage, the stem of every file.
    pub name: &'static str,
    /// Folder of weights, configuration and results.
    pub weights: PathBuf,
    /// Folder of the resumable state and the curve.
    pub work: PathBuf,
}

impl StageFiles {
    /// Names the files of stage `name`, making the folders.
    ///
    /// # Errors
    /// Folders that cannot be made.
    pub fn new(name: &'static str, weights: &Path, work: &Path) -> anyhow::Result<Self> {
        for folder in [weights, work] {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("{}: cannot make the folder", folder.display()))?;
        }
        Ok(Self { name, weights: weights.to_owned(), work: work.to_owned() })
    }

    /// The final bf16 weights.
    #[must_use]
    pub fn weights_file(&self) -> PathBuf {
        self.weights.join(format!("{}.safetensors", self.name))
    }

    /// The resumable state.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.work.join(format!("{}.state.safetensors", self.name))
    }

    /// The training curve.
    #[must_use]
    pub fn curve_file(&self) -> PathBuf {
        self.weights.join(format!("{}.csv", self.name))
    }
}

/// A stage under way.
pub struct Stage<'a> {
    files: &'a StageFiles,
    journal: Journal,
    saved: Instant,
}

/// Seconds between saves of the state.
const SAVE_EVERY: Duration = Duration::from_secs(120);

impl<'a> Stage<'a> {
    /// Continues `engine` from a saved state if there is one, and opens the curve.
    ///
    /// # Errors
    /// A damaged state, or files that cannot be written.
    pub fn resume<M: Send>(
        files: &'a StageFiles,
        engine: &mut Engine<M>,
        names: &[&'static str],
        n_steps: u64,
    ) -> anyhow::Result<Self> {
        if files.state_file().exists() {
            engine.load_state(&files.state_file())?;
        }
        let journal = Journal::open(&files.curve_file(), names, engine.step, n_steps, 50)?;
        Ok(Self { files, journal, saved: Instant::now() })
    }

    /// Logs a step and saves the state now and then.
    ///
    /// # Errors
    /// Divergence, or files that cannot be written.
    pub fn after_step<M: Send>(&mut self, engine: &Engine<M>, values: &[f64]) -> anyhow::Result<()> {
        self.journal.add(engine.step, values)?;
        if self.saved.elapsed() >= SAVE_EVERY {
            engine.save_state(&self.files.state_file())?;
            self.saved = Instant::now();
        }
        Ok(())
    }

    /// Writes the state, the bf16 weights and the configuration beside them.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn finish<M: Send>(&mut self, engine: &Engine<M>, config: &impl Serialize) -> anyhow::Result<()> {
        engine.save_state(&self.files.state_file())?;
        let path = self.files.weights_file();
        write_safetensors(&path, &engine.weights(Kind::BFloat16))
            .with_context(|| format!("{}: cannot write the weights", path.display()))?;
        let config_path = path.with_extension("json");
        let text = serde_json::to_string_pretty(config).context("a configuration is plain data")? + "\n";
        write_whole(&config_path, text.as_bytes())
            .with_context(|| format!("{}: cannot write", config_path.display()))
    }

    /// The curve, for a stage's closing results.
    pub fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }
}
