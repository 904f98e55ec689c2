//! One image by another process: started when a worker first needs it, asked by the protocol of
//! `specimen-external`, timed by this program's clock, and its picture checked and written anew like every
//! other.
//!
//! The bytes it wrote are removed once they are read: what counts is the record and the PNG of the run.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use specimen_experiments::{
    external::External,
    spec::{Cell, Spec},
};
use specimen_foundation::{fail, failure};
use specimen_models::seam::loaded_model::Picture;
use specimen_record::{Item, Manifest, RunDir, WeightsDigest, file_digest, read_document, run_progress};

use crate::external::{
    Answer, ExternalError, Image, Made, PROTOCOL, Process, Request, Sampling, Scratch, Start, message::Model,
    picture, scratch::remove_dead,
};
use crate::{error::RunError, plan::stored_plan::word_of, process::shell_word};

/// Bytes of one declared file, at most: what is larger belongs into the process' own checks.
const MAX_FILE_BYTES: u64 = 64 << 30;

/// Bytes of an argument that counts as a script, at most.
const MAX_SCRIPT_BYTES: u64 = 64 << 20;

/// What is between a cell and its file in the names of digests.
const FILE_OF: &str = " file ";

/// Bytes that must be free before a failure is a process' own: a picture of 512x512 without compression.
const BYTES_OF_A_PICTURE: usize = 768 << 10;

/// The processes of a worker, by cell.
pub(crate) struct ExternalProcesses {
    running: BTreeMap<String, Process>,
    /// The folder that `folder` is made in.
    place: PathBuf,
    /// Where each request has a folder of its own for its image; removed with this. Made for the first.
    folder: Option<Scratch>,
    /// Where their standard error goes.
    log: PathBuf,
}

/// What a process made of one item.
pub(crate) struct ExternalImage {
    /// The pixels.
    pub(crate) picture: Picture,
    /// What it reports of them.
    pub(crate) made: Made,
    /// Nanoseconds from request to answer.
    pub(crate) wall_ns: u64,
}

impl ExternalProcesses {
    /// None started yet; what they say on standard error is added to `log`, and their images are written
    /// below `place`, from which the folders of workers that were killed are removed.
    pub(crate) fn new(log: PathBuf, place: PathBuf) -> Self {
        remove_dead(&place);
        Self { running: BTreeMap::new(), place, folder: None, log }
    }

    /// The folder of this worker's images.
    fn folder(&mut self) -> Result<PathBuf, RunError> {
        let scratch = match self.folder.take() {
            Some(scratch) => scratch,
            None => Scratch::below(&self.place).map_err(|error| match error {
                ExternalError::Io { path, what, source } => RunError::io(&path, what)(source),
                other => failure!(Environment: "{other}").into(),
            })?,
        };
        Ok(self.folder.insert(scratch).path().to_owned())
    }

    /// Whether the cell's process is there, so that its next image is none that it starts with.
    pub(crate) fn is_running(&self, cell: &Cell) -> bool {
        self.running.contains_key(&cell.name)
    }

    /// Asks the cell's process, which is started if it is not there, for the image of `item`. A process that
    /// did not answer as it should is not asked again: the next image starts another.
    pub(crate) fn make(
        &mut self,
        cell: &Cell,
        external: &External,
        item: &Item,
    ) -> Result<Result<ExternalImage, ExternalError>, RunError> {
        let made = self.ask(cell, external, item)?;
        if made.is_err() {
            check_disk(&self.folder()?)?;
        }
        Ok(made)
    }

    fn ask(
        &mut self,
        cell: &Cell,
        external: &External,
        item: &Item,
    ) -> Result<Result<ExternalImage, ExternalError>, RunError> {
        let mut process = match self.running.remove(&cell.name) {
            Some(process) => process,
            None => self.start(cell, external)?,
        };
        // What another cell's process left, or writes late, must never be this one's answer.
        let all = self.folder()?;
        let own = tempfile::Builder::new().prefix("item-").tempdir_in(&all);
        let own = own.map_err(RunError::io(&all, "make a folder in"))?;
        let folder = own.path();
        let answered = match process.ask(&request(cell, item, folder)?) {
            Ok(answered) => answered,
            Err(error) => return Ok(Err(error)),
        };
        self.running.insert(cell.name.clone(), process);
        let made = match answered.answer {
            Answer::Refused(why) => return Ok(Err(ExternalError::Refused(why))),
            Answer::Made(made) => made,
        };
        let image = match picture::read(folder, &made.image) {
            Ok(image) => image,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(ExternalImage { picture: picture_of(image), made, wall_ns: answered.wall_ns }))
    }

    fn start(&self, cell: &Cell, external: &External) -> Result<Process, RunError> {
        let log = File::options().create(true).append(true).open(&self.log);
        let stderr = Stdio::from(log.map_err(RunError::io(&self.log, "open"))?);
        let env: Vec<(String, String)> =
            external.variables().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let start = Start {
            command: &external.command,
            cwd: Path::new(&external.cwd),
            env: &env,
            stderr,
            start_timeout: Duration::from_secs_f64(external.start_timeout_s),
            timeout: Duration::from_secs_f64(external.timeout_s),
        };
        Process::start(start).map_err(|error| failure!(Environment: "cell `{}`: {error}", cell.name).into())
    }
}

/// An image that was read, as the runner holds pictures.
pub(crate) fn picture_of(image: Image) -> Picture {
    let side = |pixels: usize| u32::try_from(pixels).expect("sides are bounded where pictures are read");
    let (width, height) = (side(image.width()), side(image.height()));
    Picture { width, height, rgb: image.into_rgb() }
}

/// Refuses a folder on a disk that has no space for a picture.
fn check_disk(folder: &Path) -> Result<(), RunError> {
    let write = || {
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(&vec![1; BYTES_OF_A_PICTURE])?;
        file.sync_all()
    };
    write().map_err(RunError::io(folder, "write a picture into"))
}

fn request(cell: &Cell, item: &Item, folder: &Path) -> Result<Request, RunError> {
    let sampling = &cell.sampling;
    Ok(Request {
        protocol: PROTOCOL,
        id: item.key.to_string(),
        prompt: item.prompt.clone(),
        seed: item.seed.0,
        sampling: Sampling {
            temperature: sampling.temperature,
            top_k: sampling.top_k,
            top_p: sampling.top_p,
            guidance: sampling.guidance,
            filter_order: word_of(&sampling.filter_order)?,
        },
        model: Model {
            name: cell.model.name.clone(),
            dtype: word_of(&cell.model.dtype)?,
            device: cell.model.device.clone(),
        },
        folder: folder.display().to_string(),
    })
}

/// The files that decide what an external cell makes: those that it declares, and arguments of its command that are
/// files of at most [`MAX_SCRIPT_BYTES`], which are scripts as a rule.
fn named_files(external: &External) -> Vec<String> {
    let mut names = external.files.clone();
    let (program, arguments) = external.command.split_first().expect("a command has a program");
    let own = Some(program).filter(|program| program.starts_with('.'));
    for argument in own.into_iter().chain(arguments) {
        let path = Path::new(&external.cwd).join(argument);
        let name = if external.cwd == "." { argument.clone() } else { path.display().to_string() };
        let is_script = std::fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= MAX_SCRIPT_BYTES);
        if is_script && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The digests of the files of external cells, as the manifest keeps them next to those of weights.
pub fn files_of(spec: &Spec) -> Result<Vec<WeightsDigest>, RunError> {
    let mut files = Vec::new();
    for cell in &spec.cells {
        for name in &cell.external.iter().flat_map(named_files).collect::<Vec<_>>() {
            let path = Path::new(name);
            let metadata = std::fs::metadata(path).map_err(|e| absent(cell, name, &e.to_string()))?;
            if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
                return Err(absent(cell, name, "it is no regular file of at most 64 GiB"));
            }
            let file =
                path.file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
            files.push(WeightsDigest {
                name: format!("{}{FILE_OF}{name}", cell.base),
                file,
                blake3: file_digest(path)?,
            });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup();
    Ok(files)
}

/// Takes over declared files that changed, as `now` has them, of cells that have made nothing with the old
/// ones. Whether there were any.
pub(crate) fn renew_files(
    run: &RunDir,
    then: &mut [WeightsDigest],
    now: &[WeightsDigest],
) -> Result<bool, RunError> {
    let mut is_renewed = false;
    for entry in then {
        let Some((cell, file)) = entry.name.split_once(FILE_OF) else { continue };
        let Some(now) = now.iter().find(|now| now.name == entry.name && now.blake3 != entry.blake3) else {
            continue;
        };
        let is_of_cell = |name: &str| name == cell || name.starts_with(&format!("{cell}["));
        let progress = run_progress(run, &read_document(&run.plan())?)?;
        let n_images: u64 = progress.cells.iter().filter(|of| is_of_cell(&of.cell)).map(|of| of.n_ok).sum();
        if n_images > 0 {
            fail!(Missing: "{}: cell `{cell}` has made {n_images} images with another {file} (blake3 {}, now \
                {}); an image of another script is never put next to these. Restore that file, or make a new \
                run: {}", run.manifest().display(), entry.blake3.as_str(), now.blake3.as_str(),
                new_run(run)?);
        }
        *entry = now.clone();
        is_renewed = true;
    }
    Ok(is_renewed)
}

/// The command that made `run`, as it was typed, for a folder that is not there yet.
fn new_run(run: &RunDir) -> Result<String, RunError> {
    let manifest: Manifest = read_document(&run.manifest())?;
    let is_free = |n: &u32| !Path::new(&format!("{}-{n}", run.root().display())).exists();
    let number = (2..).find(is_free).expect("some folder is not there");
    let out = format!("{}-{number}", run.root().display());
    let mut typed = manifest.argv.iter().skip(1);
    let mut words = vec!["specimen".to_owned()];
    while let Some(word) = typed.next() {
        match word.as_str() {
            "--resume" => {}
            "--out" => drop(typed.next()),
            other if other.starts_with("--out=") => {}
            other => words.push(shell_word(other)),
        }
    }
    words.extend(["--out".to_owned(), shell_word(&out)]);
    Ok(format!("`{}`", words.join(" ")))
}

fn absent(cell: &Cell, name: &str, why: &str) -> RunError {
    failure!(Spec: "cell `{}`: the file `{name}` that `external.files` names cannot be read: {why}; relative \
        paths start at the folder that specimen is started in", cell.name)
    .into()
}

/// Refuses declared files of a cell that are not those that the run began with.
pub(crate) fn check_files(path: &Path, manifest: &Manifest, spec: &Spec) -> Result<(), RunError> {
    for file in files_of(spec)? {
        let then = manifest.weights.iter().find(|entry| entry.name == file.name);
        if let Some(entry) = then.filter(|entry| entry.blake3 != file.blake3) {
            let (expected, found) = (entry.blake3.to_string(), file.blake3.to_string());
            return Err(crate::error::other_weights(path, &file.name, expected, found));
        }
    }
    Ok(())
}
