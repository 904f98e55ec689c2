//! The curve of a stage: one CSV row now and then, and a line with the time left on stderr.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use specimen_foundation::{bounded_read::read_text, whole_file::write_whole};

/// Most bytes of a curve: a row of 100 bytes for every step of the longest training.
const MOST_BYTES: u64 = 64 << 20;

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
    pub fn open(
        path: &Path,
        names: &[&'static str],
        first_step: u64,
        n_steps: u64,
        every: u64,
    ) -> anyhow::Result<Self> {
        let header = format!("step,seconds,{}", names.join(","));
        let mut text = format!("{header}\n");
        // A network that is trained anew begins a curve of its own.
        if first_step > 0 {
            kept(path, &header, first_step)?.iter().for_each(|row| text.push_str(&format!("{row}\n")));
        }
        write_whole(path, text.as_bytes())
            .with_context(|| format!("{}: cannot write the curve", path.display()))?;
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
        file.write_all(format!("{step},{seconds:.1},{}\n", row.join(",")).as_bytes())?;
        // The state that is saved next must not be ahead of its curve.
        file.sync_data()?;
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
    pub fn result(&self, values: &[(impl AsRef<str>, f64)]) -> anyhow::Result<()> {
        let map: serde_json::Map<String, serde_json::Value> = values
            .iter()
            .map(|(name, value)| (name.as_ref().to_owned(), serde_json::json!((value * 1e5).round() / 1e5)))
            .collect();
        let path = self.path.with_extension("results.json");
        let text = serde_json::to_string_pretty(&map).context("results are plain numbers")? + "\n";
        write_whole(&path, text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
        std::io::stderr().lock().write_all(text.as_bytes()).context("stderr is writable")
    }
}

/// The rows of the curve at `path` up to `last_step`. A training that continues must not lose the rows it has written.
fn kept(path: &Path, header: &str, last_step: u64) -> anyhow::Result<Vec<String>> {
    const REMEDY: &str = "put the curve back beside its state, or remove the state to train from the start";
    let old = read_text(path, MOST_BYTES).with_context(|| {
        format!("{}: cannot read the curve of the state that is resumed; {REMEDY}", path.display())
    })?;
    // A crash may tear the last row; it is past the state then, and is made again.
    let whole = old.rfind('\n').map_or("", |end| &old[..end]);
    let mut lines = whole.lines();
    anyhow::ensure!(
        lines.next() == Some(header),
        "{}: the curve does not begin with `{header}`; {REMEDY}",
        path.display()
    );
    let mut rows = Vec::new();
    for (n, line) in lines.enumerate() {
        let step = line.split(',').next().and_then(|step| step.parse::<u64>().ok());
        match step {
            Some(step) if step <= last_step => rows.push(line.to_owned()),
            Some(_) => {}
            None => anyhow::bail!("{}: line {} is no row of a curve; {REMEDY}", path.display(), n + 2),
        }
    }
    Ok(rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn open(path: &Path, first_step: u64) -> anyhow::Result<Journal> {
        Journal::open(path, &["loss"], first_step, 1000, 50)
    }

    #[test]
    fn a_resumed_curve_keeps_its_rows_up_to_the_state_and_a_new_one_begins_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target.csv");
        std::fs::write(&path, "step,seconds,loss\n50,1.0,2.0\n100,2.0,1.5\n150,3.0,1.2\n").unwrap();
        open(&path, 100).unwrap();
        let text = || std::fs::read_to_string(&path).unwrap();
        assert_eq!(text(), "step,seconds,loss\n50,1.0,2.0\n100,2.0,1.5\n");
        open(&path, 0).unwrap();
        assert_eq!(text(), "step,seconds,loss\n");
    }

    #[test]
    fn a_curve_that_cannot_be_resumed_is_an_error_that_names_it_and_leaves_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target.csv");
        let check_refused = |part: &str| {
            let before = std::fs::read(&path).ok();
            let message = format!("{:#}", open(&path, 100).map(drop).unwrap_err());
            assert!(message.contains(part) && message.contains("target.csv"), "{message}");
            assert!(message.contains("remove the state to train from the start"), "{message}");
            assert_eq!(std::fs::read(&path).ok(), before);
        };
        check_refused("cannot read the curve");
        for (text, part) in [
            (&b"step,seconds,loss\n\xff\n"[..], "cannot read the curve"),
            (b"step,seconds,other\n50,1.0,2.0\n", "does not begin with `step,seconds,loss`"),
            (b"step,seconds,loss\n50,1.0,2.0\nno row\n", "line 3 is no row"),
        ] {
            std::fs::write(&path, text).unwrap();
            check_refused(part);
        }
    }
}
