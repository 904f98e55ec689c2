//! What every stage does beside its loss: resume, save, log, write the final weights.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context;
use serde::Serialize;
use specimen_foundation::{fail, whole_file::write_whole};
use specimen_weights::write_safetensors;
use tch::{Kind, Tensor};

use crate::{
    engine::{Engine, StepReport},
    journal::Journal,
};

/// Where a stage keeps its files.
pub struct StageFiles {
    /// Name of the stage, the stem of every file.
    pub name: &'static str,
    /// Folder of weights, configuration and results.
    pub weights: PathBuf,
    /// Folder of the resumable state and the curve.
    pub work: PathBuf,
    /// The file of the configuration, where it is not named after the weights.
    config: Option<PathBuf>,
}

impl StageFiles {
    /// Names the files of stage `name`, making the folders.
    pub fn new(name: &'static str, weights: &Path, work: &Path) -> anyhow::Result<Self> {
        for folder in [weights, work] {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("{}: cannot make the folder", folder.display()))?;
        }
        Ok(Self { name, weights: weights.to_owned(), work: work.to_owned(), config: None })
    }

    /// The same with the configuration in `path`.
    pub fn with_config(self, path: PathBuf) -> Self {
        Self { config: Some(path), ..self }
    }

    /// The final bf16 weights.
    pub fn weights_file(&self) -> PathBuf {
        self.weights.join(format!("{}.safetensors", self.name))
    }

    /// The resumable state.
    pub fn state_file(&self) -> PathBuf {
        self.work.join(format!("{}.state.safetensors", self.name))
    }

    /// The training curve.
    pub fn curve_file(&self) -> PathBuf {
        self.weights.join(format!("{}.csv", self.name))
    }
}

/// A stage under way.
pub struct Stage<'a> {
    files: &'a StageFiles,
    journal: Journal,
    save: Save,
    saved: Instant,
}

/// How often the state is saved.
#[derive(Clone, Copy, Debug)]
pub enum Save {
    /// When so much time has passed.
    After(Duration),
    /// After every so many steps.
    Steps(u64),
}

impl Save {
    /// Every two minutes.
    pub const TWO_MINUTES: Self = Self::After(Duration::from_secs(120));

    /// Steps between rows of the curve: a state is saved where a row ends, so that a curve that is continued has the rows of
    /// one that was not cut.
    fn row_every(self) -> u64 {
        match self {
            Self::Steps(steps) if !steps.is_multiple_of(50) => steps,
            _ => 50,
        }
    }
}

impl<'a> Stage<'a> {
    /// Continues `engine` from a saved state if there is one, and opens the curve.
    pub fn resume<M>(
        files: &'a StageFiles,
        engine: &mut Engine<M>,
        names: &[&'static str],
        n_steps: u64,
        save: Save,
    ) -> anyhow::Result<Self> {
        if files.state_file().exists() {
            engine.load_state(&files.state_file())?;
        }
        let journal = Journal::open(&files.curve_file(), names, engine.step, n_steps, save.row_every())?;
        Ok(Self { files, journal, save, saved: Instant::now() })
    }

    /// Logs a step and saves the state now and then. A step whose loss or gradient is no number ends the training before it
    /// is saved.
    pub fn after_step<M>(&mut self, engine: &Engine<M>, report: &StepReport) -> anyhow::Result<()> {
        let is_finite = report.grad_norm.is_finite() && report.values.iter().all(|value| value.is_finite());
        if !is_finite {
            fail!(Failed: "step {}: the loss is {} and the gradient is {} long: training diverged; lower \
                schedule.learning_rate or raise schedule.n_warmup, and remove {} to begin again", engine.step,
                report.values.first().copied().unwrap_or(f64::NAN), report.grad_norm,
                self.files.state_file().display());
        }
        self.journal.add(engine.step, &report.values)?;
        let is_due = match self.save {
            Save::After(time) => self.saved.elapsed() >= time,
            Save::Steps(steps) => engine.step.is_multiple_of(steps),
        };
        if is_due {
            engine.save_state(&self.files.state_file())?;
            self.saved = Instant::now();
        }
        Ok(())
    }

    /// Writes the state, the bf16 weights and the configuration beside them.
    pub fn finish<M>(&mut self, engine: &Engine<M>, config: &impl Serialize) -> anyhow::Result<()> {
        self.finish_with(engine, &engine.weights(Kind::BFloat16), config)
    }

    /// The same with other tensors for the file of weights.
    pub fn finish_with<M>(
        &mut self,
        engine: &Engine<M>,
        tensors: &BTreeMap<String, Tensor>,
        config: &impl Serialize,
    ) -> anyhow::Result<()> {
        engine.save_state(&self.files.state_file())?;
        let path = self.files.weights_file();
        let config_path = self.files.config.clone().unwrap_or_else(|| path.with_extension("json"));
        write_safetensors(&path, tensors)
            .with_context(|| format!("{}: cannot write the weights", path.display()))?;
        let text = serde_json::to_string_pretty(config).context("a configuration is plain data")? + "\n";
        write_whole(&config_path, text.as_bytes())
            .with_context(|| format!("{}: cannot write", config_path.display()))
    }

    /// The curve, for a stage's closing results.
    pub fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }
}
