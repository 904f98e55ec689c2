//! The curve of a stage: one CSV row now and then, and a line with the time left on stderr.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;

/// Collects reports and writes their means.
pub struct Journal {
    path: PathBuf,
    names: Vec<&'static str>,
    sums: Vec<f64>,
    n: u64,
    n_steps: u64,
    started: Instant,
    first_step: u64,
    every: u64,
}

impl Journal {
    /// Opens `path` for rows from `first_step` on: a new file gets a header, a resumed one loses rows past
    /// the state it resumes from.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn open(
        path: &Path,
        names: &[&'static str],
        first_step: u64,
        n_steps: u64,
        every: u64,
    ) -> anyhow::Result<Self> {
        let mut text = format!("step,seconds,{}\n", names.join(","));
        if first_step > 0
            && let Ok(old) = std::fs::read_to_string(path)
        {
            let kept = old.lines().skip(1).filter(|line| {
                line.split(',')
                    .next()
                    .and_then(|step| step.parse::<u64>().ok())
                    .is_some_and(|s| s <= first_step)
            });
            kept.for_each(|line| text.push_str(&format!("{line}\n")));
        }
        std::fs::write(path, text).with_context(|| format!("{}: cannot write the curve", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            names: names.to_vec(),
            sums: vec![0.0; names.len()],
            n: 0,
            n_steps,
            started: Instant::now(),
            first_step,
            every,
        })
    }

    /// Takes in one step's values, in the order of the names; `step` counts from 1.
    ///
    /// # Errors
    /// A file that cannot be written, or a value that is not finite: training diverged.
    pub fn add(&mut self, step: u64, values: &[f64]) -> anyhow::Result<()> {
        self.sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        self.n += 1;
        if !step.is_multiple_of(self.every) && step != self.n_steps {
            return Ok(());
        }
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / self.n as f64).collect();
        anyhow::ensure!(
            means.iter().all(|mean| mean.is_finite()),
            "training diverged at step {step}: {:?} = {means:?}; lower the learning rate",
            self.names
        );
        let seconds = self.started.elapsed().as_secs_f64();
        let left = seconds / (step - self.first_step).max(1) as f64 * (self.n_steps - step) as f64;
        let row: Vec<String> = means.iter().map(|mean| format!("{mean:.5}")).collect();
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        writeln!(file, "{step},{seconds:.1},{}", row.join(","))?;
        let shown: Vec<String> = self.names.iter().zip(&means).map(|(n, m)| format!("{n} {m:.4}")).collect();
        let mut err = std::io::stderr().lock();
        writeln!(err, "step {step}/{}  {}  {left:.0} s left", self.n_steps, shown.join("  "))?;
        self.sums.fill(0.0);
        self.n = 0;
        Ok(())
    }
}

impl Journal {
    /// Writes the stage's measured results beside its curve, as `<stage>.results.json`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn result(&self, values: &[(impl AsRef<str>, f64)]) -> anyhow::Result<()> {
        let map: serde_json::Map<String, serde_json::Value> = values
            .iter()
            .map(|(name, value)| (name.as_ref().to_owned(), serde_json::json!((value * 1e5).round() / 1e5)))
            .collect();
        let path = self.path.with_extension("results.json");
        let text = serde_json::to_string_pretty(&map).context("results are plain numbers")? + "\n";
        std::fs::write(&path, &text).with_context(|| format!("{}: cannot write", path.display()))?;
        std::io::stderr().lock().write_all(text.as_bytes()).context("stderr is writable")
    }
}
