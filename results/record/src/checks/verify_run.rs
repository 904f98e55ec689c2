//! Everything that can be checked of a run, in one pass that continues after each complaint: every file
//! read, every record checked against the plan, every image against its record, every digest that was
//! noted against the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use specimen_foundation::failure;

use crate::checks::pixels::check_pixels;
use crate::checks::rows::{Counts, Times};
use crate::checks::seal;
use crate::files::atomic::is_unfinished;
use crate::files::canonical_row::{OpenFiles, RowPlace};
use crate::files::read::file_digest;
use crate::files::read::for_each_line;
use crate::merging::attempts::{conflict, contradicted};
use crate::run::run_dir::entries;
use crate::{
    Digest, Document, Environment, Item, ItemKey, Lease, MachineRow, Manifest, MetricFile, Part, PlanFile,
    Record, RecordError, RunDir, Status, StepsRow, Submissions, Summary, TimingRow, TornTail, WorkerEnd,
    has_list, read_document, unfinished_files, verify_plan, verify_shard,
};

/// What a check of a run found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Items of the plan.
    pub n_planned: u64,
    /// Items with a record.
    pub n_records: u64,
    /// Images whose pixels are those of their record.
    pub n_images: u64,
    /// Shards with a marker.
    pub n_finished: u64,
    /// Whether the manifest is sealed; a run under way is checked as far as it is.
    pub sealed: bool,
    /// Whether the sealed run has a list of checksums, or should have one. A run that an earlier version
    /// sealed without one is read, but fields of its manifest, traces and timings cannot be compared with
    /// what was written.
    pub has_checksums: bool,
    /// Digest of the merged records, where they are.
    pub result_digest: Option<Digest>,
    /// Files that a dead process left under way: the trace of a crash, not a complaint.
    pub unfinished: Vec<PathBuf>,
    /// Rows that were never finished: the trace of a crash, not a complaint.
    pub torn: Vec<TornTail>,
    /// All that is wrong, each with its file; empty for a good run.
    pub complaints: Vec<RecordError>,
}

/// Checks a run.
///
/// A run that is not sealed may lack records; a sealed one may lack nothing.
pub fn verify_run(run: &RunDir) -> Verified {
    let mut check =
        Check { run, found: Verified::default(), winners: BTreeMap::new(), images: BTreeSet::new() };
    let manifest: Option<Manifest> = check.document(&run.manifest());
    check.found.sealed = manifest.as_ref().is_some_and(|manifest| manifest.sealed.is_some());
    // Plan and manifest hold each other; where one of them is broken, the other is all there is.
    let plan = match verify_plan(run) {
        Ok(plan) => Some(plan),
        Err(error) if manifest.is_some() => {
            check.found.complaints.push(error);
            read_document(&run.plan()).ok()
        }
        Err(_) => check.document(&run.plan()),
    };
    check.shards(plan.as_ref());
    if check.found.sealed {
        check.strays();
    }
    if let Some(plan) = &plan {
        check.against_plan(plan);
    }
    check.merged(plan.as_ref(), manifest.as_ref());
    check.scores();
    if let Some(seal) = manifest.as_ref().and_then(|manifest| manifest.sealed.as_ref()) {
        check.found.has_checksums = has_list(run, seal);
        check.found.complaints.extend(seal::complaints(run, seal, Part::All));
    }
    check.found.unfinished = check.kept(unfinished_files(run.root())).unwrap_or_default();
    check.found.complaints = said_once(check.found.complaints);
    check.found
}

/// The complaints without those that add nothing: the same one again, a digest where the file has a complaint before, and
/// the pixels of an item with two results, of which only one can be the image's.
fn said_once(complaints: Vec<RecordError>) -> Vec<RecordError> {
    let mut said: Vec<String> = Vec::new();
    let of_conflict = |complaint: &RecordError| match complaint {
        RecordError::Conflict { key, .. } => Some(key.clone()),
        _ => None,
    };
    let conflicts: BTreeSet<ItemKey> = complaints.iter().filter_map(of_conflict).collect();
    let mut is_new = |complaint: &RecordError| {
        let words = complaint.to_string();
        let is_new = match complaint {
            RecordError::OtherPixels { key, .. } if conflicts.contains(key) => false,
            RecordError::DigestMismatch { path, .. } => {
                let place = format!("{}:", path.display());
                !said.iter().any(|earlier| earlier.starts_with(&place))
            }
            _ => !said.contains(&words),
        };
        said.push(words);
        is_new
    };
    complaints.into_iter().filter(|complaint| is_new(complaint)).collect()
}

struct Check<'a> {
    run: &'a RunDir,
    found: Verified,
    winners: BTreeMap<ItemKey, Won>,
    /// Names of the images that some record has.
    images: BTreeSet<String>,
}

/// The record that counts for an item.
struct Won {
    shard: u32,
    attempt: u32,
    place: RowPlace,
    /// Its trace, where the attempt has one.
    trace: Option<RowPlace>,
    status: Status,
}

impl Check<'_> {
    /// What is there, or nothing and a complaint.
    fn kept<T>(&mut self, result: Result<T, RecordError>) -> Option<T> {
        result.map_err(|error| self.found.complaints.push(error)).ok()
    }

    fn document<T: Document>(&mut self, path: &Path) -> Option<T> {
        self.kept(read_document(path))
    }

    fn document_if_there<T: Document>(&mut self, path: &Path) -> Option<T> {
        if path.is_file() { self.document(path) } else { None }
    }

    /// Row after row; a bad one is a complaint, and the next is read.
    fn rows<T: Document>(&mut self, path: &Path, mut take: impl FnMut(&mut Self, T, RowPlace)) {
        if !path.is_file() {
            return;
        }
        let torn = for_each_line(path, |line, place| {
            let row = RowPlace::of::<T>(line, path, place);
            if let Some((row, place)) = self.kept(row) {
                take(self, row, place);
            }
            Ok(())
        });
        let torn = self.kept(torn).flatten();
        self.found.torn.extend(torn);
    }

    fn shards(&mut self, plan: Option<&PlanFile>) {
        let planned: BTreeMap<&ItemKey, &Item> =
            plan.iter().flat_map(|plan| plan.items.iter().map(|item| (&item.key, item))).collect();
        self.document_if_there::<Submissions>(&self.run.submissions());
        let shards = self.kept(self.run.shards()).unwrap_or_default();
        for k in shards {
            let n_before = self.found.complaints.len();
            let lease = self.document_if_there::<Lease>(&self.run.lease(k));
            if let Some(found) = lease.map(|lease| lease.shard).filter(|shard| *shard != k) {
                let reason = format!("`shard` is {found}, in the folder of shard {k}");
                let path = self.run.lease(k);
                self.found.complaints.push(RecordError::Inconsistent {
                    path,
                    line: 1,
                    kind: Lease::KIND,
                    reason,
                });
            }
            self.document_if_there::<WorkerEnd>(&self.run.worker_end(k));
            let attempts = self.kept(self.run.attempts(k)).unwrap_or_default();
            for n in attempts {
                self.attempt(k, n, plan.is_some(), &planned);
            }
            if self.run.done(k).is_file() {
                self.found.n_finished += 1;
                // The marker's digests cover the rows and files together; what is wrong with one of them
                // has been said more precisely.
                let verified = verify_shard(self.run, k);
                if self.found.complaints.len() == n_before {
                    self.kept(verified);
                }
            }
        }
    }

    fn attempt(&mut self, k: u32, n: u32, has_plan: bool, planned: &BTreeMap<&ItemKey, &Item>) {
        let path = self.run.attempt_records(k, n);
        let (mut n_failed, mut made) = (0, Vec::new());
        self.rows::<Record>(&path, |check, record, place| {
            check.image(k, &record);
            let complaint = match planned.get(&record.key) {
                None if has_plan => Some(RecordError::NotInPlan {
                    path: path.clone(),
                    line: place.line(),
                    key: record.key.clone(),
                }),
                Some(item) if item.seed != record.seed => {
                    Some(crate::error::wrong_seed(&path, place.line(), &record.key, item.seed, record.seed))
                }
                _ => None,
            };
            check.found.complaints.extend(complaint);
            match record.status {
                Status::Ok => made.push((record.key.clone(), place, Counts::of_record(&record))),
                Status::Err => n_failed += 1,
            }
            check.win(record.key, Won { shard: k, attempt: n, place, trace: None, status: record.status });
        });
        // After the records: a worker that is still at work writes the record of an image last.
        self.traces(k, n, &made);
        self.times(k, n, n_failed, &made);
        self.document_if_there::<Environment>(&self.run.attempt_env(k, n));
    }

    /// The traces of an attempt, and the counts of its images against them.
    fn traces(&mut self, k: u32, n: u32, made: &[(ItemKey, RowPlace, Counts)]) {
        let mut traces = BTreeMap::new();
        self.rows::<StepsRow>(&self.run.attempt_steps(k, n), |_, row, place| {
            let counts = Counts::of_trace(&row);
            traces.insert(row.key, (place, counts));
        });
        let path = self.run.attempt_records(k, n);
        for (key, place, counts) in made {
            let what = match traces.get(key) {
                Some((trace, expected)) => {
                    if let Some(won) =
                        self.winners.get_mut(key).filter(|won| (won.shard, won.attempt) == (k, n))
                    {
                        won.trace = Some(*trace);
                    }
                    counts.contradiction(expected)
                }
                None => Some("steps.jsonl of its attempt has no row of it".to_owned()),
            };
            self.found.complaints.extend(what.map(|what| contradicted(&path, *place, key, what)));
        }
    }

    /// The times of an attempt, in the order in which it worked.
    fn times(&mut self, k: u32, n: u32, n_failed: u32, made: &[(ItemKey, RowPlace, Counts)]) {
        let path = self.run.attempt_timing(k, n);
        let mut timed = Vec::new();
        self.rows::<TimingRow>(&path, |_, row, place| timed.push((row, place)));
        // Afterwards: a worker may end a block meanwhile, and times nothing of the next one before it noted that.
        let mut ended = BTreeSet::new();
        self.rows::<MachineRow>(&self.run.attempt_machine(k, n), |_, row, _| {
            ended.insert(row.block);
        });
        let mut times = Times::new(n, n_failed, ended);
        for (row, place) in timed {
            let wrong = times.add(&row).map_err(|what| contradicted(&path, place, &row.key, what));
            self.found.complaints.extend(wrong.err());
        }
        let path = self.run.attempt_records(k, n);
        for (key, place, _) in made.iter().filter(|(key, _, _)| !times.has(key)) {
            self.found.complaints.push(contradicted(
                &path,
                *place,
                key,
                "timing.jsonl of its attempt has no row of it".to_owned(),
            ));
        }
    }

    /// Files among the images of a sealed run that no record names: whoever reads the folder would count them.
    fn strays(&mut self) {
        for k in self.kept(self.run.shards()).unwrap_or_default() {
            for path in self.kept(entries(&self.run.images_dir(k))).unwrap_or_default() {
                let name = path.file_name().and_then(|name| name.to_str());
                if !is_unfinished(&path) && !name.is_some_and(|name| self.images.contains(name)) {
                    self.found.complaints.push(
                        failure!(Missing: "{}: no record names this file, and it is among the images",
                            path.display())
                        .into(),
                    );
                }
            }
        }
    }

    /// The first success counts, or else the last failure; a second success must be the same.
    fn win(&mut self, key: ItemKey, later: Won) {
        match self.winners.get(&key) {
            Some(earlier) if earlier.status == Status::Ok => {
                if later.status == Status::Ok && later.place.digest != earlier.place.digest {
                    let of = |won: &Won| (self.run.attempt_records(won.shard, won.attempt), won.place);
                    let (Ok(complaint) | Err(complaint)) = conflict(&key, [of(earlier), of(&later)]);
                    self.found.complaints.push(complaint);
                }
            }
            _ => {
                self.winners.insert(key, later);
            }
        }
    }

    fn image(&mut self, k: u32, record: &Record) {
        let Some(name) = &record.image else { return };
        self.images.insert(name.clone());
        let Some(path) = self.kept(self.run.image(k, name)) else {
            return;
        };
        match check_pixels(&path, record) {
            Ok(()) => self.found.n_images += 1,
            Err(complaint) => self.found.complaints.push(complaint),
        }
    }

    fn against_plan(&mut self, plan: &PlanFile) {
        self.found.n_planned = plan.items.len() as u64;
        let missing = || plan.items.iter().filter(|item| !self.winners.contains_key(&item.key));
        self.found.n_records = (plan.items.len() - missing().count()) as u64;
        let incomplete = missing()
            .next()
            .map(|first| crate::error::incomplete(missing().count(), plan.items.len(), &first.key));
        if self.found.sealed {
            self.found.complaints.extend(incomplete);
        }
    }

    /// Merged records against the seal, and against the records they were merged from.
    fn merged(&mut self, plan: Option<&PlanFile>, manifest: Option<&Manifest>) {
        let path = self.run.merged_records();
        let seal = manifest.and_then(|manifest| manifest.sealed.as_ref());
        if let Some(seal) = seal
            && plan.is_some()
            && seal.n_records != self.found.n_planned
        {
            let (expected, found) = (seal.n_records, self.found.n_planned);
            let path = self.run.manifest();
            self.found.complaints.push(crate::error::wrong_count(&path, "records", expected, found));
        }
        if !path.is_file() && seal.is_none() {
            return;
        }
        self.rows::<StepsRow>(&self.run.merged_steps(), |_, _, _| {});
        let Some(found) = self.kept(file_digest(&path)) else {
            return;
        };
        let mut compare = |what, expected: Digest| {
            if expected != found {
                let (path, found) = (path.clone(), found.clone());
                self.found.complaints.push(RecordError::DigestMismatch { path, what, expected, found });
            }
        };
        if let Some(seal) = seal {
            compare("the merged records", seal.result_digest.clone());
        }
        let of_shards = plan.map(|plan| {
            let records = merge_digest::<Record>(plan, &self.winners, |won| {
                Some((self.run.attempt_records(won.shard, won.attempt), won.place))
            });
            let steps = merge_digest::<StepsRow>(plan, &self.winners, |won| {
                Some((self.run.attempt_steps(won.shard, won.attempt), won.trace?))
            });
            (records, steps)
        });
        let (records, steps) = of_shards.unwrap_or_default();
        if let Some(expected) = records {
            compare("the merged records compared with those of the shards", expected);
        }
        self.found.result_digest = Some(found);
        let path = self.run.merged_steps();
        if let (Some(expected), Ok(found)) = (steps, file_digest(&path))
            && expected != found
        {
            let what = "the merged traces compared with those of the shards";
            self.found.complaints.push(RecordError::DigestMismatch { path, what, expected, found });
        }
    }

    /// What was computed from the images; it can be read, and computed again.
    fn scores(&mut self) {
        let summary = self.run.summary();
        // One of an earlier version is no damage: the rows give a newer one.
        match summary.is_file().then(|| read_document::<Summary>(&summary)) {
            None | Some(Err(RecordError::OlderSchema { .. })) => {}
            Some(read) => drop(self.kept(read)),
        }
        let metrics = self.kept(self.run.metric_files()).unwrap_or_default();
        for path in metrics {
            let Some(file) = self.document::<MetricFile>(&path) else { continue };
            if self.run.metrics(&file.metric, &file.cell) != path {
                let reason = format!("it is `{}` of cell `{}`, by its place another", file.metric, file.cell);
                self.found.complaints.push(RecordError::Inconsistent {
                    path,
                    line: 1,
                    kind: MetricFile::KIND,
                    reason,
                });
            }
        }
    }
}

/// The digest of the rows that a merge would write, from the file and place of each winner's; `None` where an item has no
/// record, or a row cannot be read again. A failed item has no trace.
fn merge_digest<T: Document>(
    plan: &PlanFile,
    winners: &BTreeMap<ItemKey, Won>,
    row: impl Fn(&Won) -> Option<(PathBuf, RowPlace)>,
) -> Option<Digest> {
    let mut hasher = blake3::Hasher::new();
    let mut files = OpenFiles::default();
    for item in &plan.items {
        let won = winners.get(&item.key)?;
        match row(won) {
            None if won.status == Status::Err => {}
            row => {
                let (path, place) = row?;
                hasher.update(files.canonical::<T>(&path, place).ok()?);
            }
        }
    }
    Some(Digest::from(hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_results_of_an_item_none_is_said_to_have_a_changed_image() {
        let pixels = |key: &str| RecordError::OtherPixels {
            path: "a.png".into(),
            key: ItemKey::new("ar", key, 0),
            expected: Digest::of(b"a"),
            found: Digest::of(b"b"),
        };
        let both = RecordError::Conflict {
            key: ItemKey::new("ar", "1", 0),
            field: "tokens".to_owned(),
            first: "first".into(),
            first_line: 1,
            second: "second".into(),
            second_line: 1,
        };
        let said: Vec<String> =
            said_once(vec![pixels("1"), both, pixels("2")]).iter().map(ToString::to_string).collect();
        assert!(said.len() == 2 && said[0].contains("two results") && said[1].contains("ar/2/0"), "{said:?}");
    }
}
