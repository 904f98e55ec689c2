//! The table `[slurm]`: how a cluster is asked for workers. It is no part of the resolved spec, so neither the plan
//! nor a run's identity depends on it; a profile, which is a file with that table alone, overrides it key by key.

use std::path::Path;

use serde::Serialize;

use crate::{
    document::{Entry, Node, Value},
    error::SpecError,
    fields::{self, Fields, out_of_range},
    parse::{SpecText, text_of},
};

/// The name of the table.
pub(crate) const TABLE: &str = "slurm";
pub(crate) const TIMING: &str = "timing";
pub(crate) const SLURM_KEYS: &[&str] = &[
    "partition",
    "account",
    "qos",
    "constraint",
    "gres",
    "time",
    "mem",
    "cpus",
    "exclusive",
    "throttle",
    "setup",
    "extra",
    "max_attempts",
    "signal_s",
    "lag_s",
    TIMING,
];
pub(crate) const TIMING_KEYS: &[&str] = &[
    "partition",
    "account",
    "qos",
    "constraint",
    "gres",
    "time",
    "mem",
    "cpus",
    "exclusive",
    "throttle",
    "extra",
];

/// How a cluster is asked for workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlurmSpec {
    /// What a worker of blocks that are not timed asks for.
    pub quality: Ask,
    /// What a worker of timed blocks asks for: the same, but for what `[slurm.timing]` says.
    pub timing: Ask,
    /// Lines of shell before the worker starts: modules, environments.
    pub setup: Vec<String>,
    /// Attempts at a shard in a row that end badly without making an image; after these it is given up. At least 1.
    pub max_attempts: u32,
    /// Seconds before the time limit at which a worker is asked to finish its image and stop; up to 60 s earlier,
    /// as Slurm's resolution has it.
    pub signal_s: u32,
    /// Seconds to wait for a marker on a shared file system after the queue says that a worker is gone.
    pub lag_s: u32,
}

/// What is asked of `sbatch` for the workers of one kind; what is absent is the cluster's absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// `--partition`
    pub partition: Option<String>,
    /// `--account`
    pub account: Option<String>,
    /// `--qos`
    pub qos: Option<String>,
    /// `--constraint`
    pub constraint: Option<String>,
    /// `--gres`, as in `gpu:1`.
    pub gres: Option<String>,
    /// `--time`, as Slurm writes it: `90` (minutes), `4:00:00`, `1-12`.
    pub time: Option<String>,
    /// `--mem`, as in `16G`.
    pub mem: Option<String>,
    /// `--cpus-per-task`, at least 1.
    pub cpus: Option<u32>,
    /// `--exclusive`: nobody else on the node.
    pub exclusive: bool,
    /// Workers of an array at a time, at least 1; absent: as many as the cluster starts.
    pub throttle: Option<u32>,
    /// Further flags of `sbatch`, each begins with a hyphen.
    pub extra: Vec<String>,
}

impl SlurmSpec {
    /// What an absent table means: every choice is the cluster's, three attempts, a signal two minutes before a time
    /// limit.
    pub fn of_the_cluster() -> Self {
        let nothing = Ask {
            partition: None,
            account: None,
            qos: None,
            constraint: None,
            gres: None,
            time: None,
            mem: None,
            cpus: None,
            exclusive: false,
            throttle: None,
            extra: Vec::new(),
        };
        Self {
            quality: nothing.clone(),
            timing: nothing,
            setup: Vec::new(),
            max_attempts: 3,
            signal_s: 120,
            lag_s: 60,
        }
    }
}

impl SpecText {
    /// The table `[slurm]`; `None` where there is none.
    pub fn slurm(&self) -> Result<Option<SlurmSpec>, SpecError> {
        self.root.get(TABLE).map(slurm).transpose()
    }

    /// Takes the table `[slurm]` of a profile, whose keys count before those that are there.
    pub fn overlay_slurm(&mut self, profile: &Path) -> Result<(), SpecError> {
        let file = profile.display().to_string();
        let root = Node::parse(&file, &text_of(profile)?)?;
        let fields = Fields::new(&root, "a profile", "", &[TABLE])?;
        let over = fields.required(TABLE, "a profile holds nothing else")?;
        slurm(over)?;
        let Value::Table(entries) = &mut self.root.value else { return Ok(()) };
        match entries.iter_mut().find(|entry| entry.key == TABLE) {
            Some(below) => overlay(&mut below.node, over),
            None => {
                let entry = Entry { key: TABLE.to_owned(), place: over.place.clone(), node: over.clone() };
                entries.push(entry);
            }
        }
        Ok(())
    }
}

/// Puts the entries of one table over those of another; tables in them likewise.
fn overlay(below: &mut Node, over: &Node) {
    let Value::Table(entries) = &mut below.value else {
        *below = over.clone();
        return;
    };
    for entry in over.entries() {
        match entries.iter_mut().find(|known| known.key == entry.key) {
            Some(known) if matches!(entry.node.value, Value::Table(_)) => {
                overlay(&mut known.node, &entry.node)
            }
            Some(known) => *known = entry.clone(),
            None => entries.push(entry.clone()),
        }
    }
}

fn slurm(node: &Node) -> Result<SlurmSpec, SpecError> {
    let fields = Fields::new(node, "[slurm]", TABLE, SLURM_KEYS)?;
    let absent = SlurmSpec::of_the_cluster();
    let quality = ask(&fields, &absent.quality)?;
    let timing = match fields.get(TIMING) {
        None => quality.clone(),
        Some(node) => ask(&Fields::new(node, "[slurm.timing]", "slurm.timing", TIMING_KEYS)?, &quality)?,
    };
    let number =
        |key: &str, least: i64, default: u32| whole(&fields, key, least).map(|n| n.unwrap_or(default));
    Ok(SlurmSpec {
        quality,
        timing,
        setup: lines(&fields, "setup", |_| true, "one line of shell without a line end")?.unwrap_or_default(),
        max_attempts: number("max_attempts", 1, absent.max_attempts)?,
        signal_s: number("signal_s", 0, absent.signal_s)?,
        lag_s: number("lag_s", 0, absent.lag_s)?,
    })
}

/// What a table asks for; what it does not say is as in `otherwise`.
fn ask(fields: &Fields<'_>, otherwise: &Ask) -> Result<Ask, SpecError> {
    let word = |key: &str, otherwise: &Option<String>| match fields.get(key) {
        None => Ok(otherwise.clone()),
        Some(node) => word(node, &fields.path(key)).map(Some),
    };
    let number = |key: &str, otherwise: Option<u32>| whole(fields, key, 1).map(|n| n.or(otherwise));
    let exclusive = fields.get("exclusive").map(|node| fields::flag(node, &fields.path("exclusive")));
    let is_flag = |line: &str| line.starts_with('-');
    let extra = lines(fields, "extra", is_flag, "a flag of sbatch, as in \"--reservation=mine\"")?;
    Ok(Ask {
        partition: word("partition", &otherwise.partition)?,
        account: word("account", &otherwise.account)?,
        qos: word("qos", &otherwise.qos)?,
        constraint: word("constraint", &otherwise.constraint)?,
        gres: word("gres", &otherwise.gres)?,
        time: time(fields)?.or_else(|| otherwise.time.clone()),
        mem: word("mem", &otherwise.mem)?,
        cpus: number("cpus", otherwise.cpus)?,
        exclusive: exclusive.transpose()?.unwrap_or(otherwise.exclusive),
        throttle: number("throttle", otherwise.throttle)?,
        extra: extra.unwrap_or_else(|| otherwise.extra.clone()),
    })
}

/// A number of minutes, or what Slurm takes.
fn time(fields: &Fields<'_>) -> Result<Option<String>, SpecError> {
    let Some(node) = fields.get("time") else { return Ok(None) };
    let path = fields.path("time");
    if let Value::Integer(_) = node.value {
        return fields::integer(node, &path, 1..=i64::MAX).map(|minutes| Some(minutes.to_string()));
    }
    let text = word(node, &path)?;
    let fits = text.chars().all(|c| c.is_ascii_digit() || c == ':' || c == '-');
    if fits {
        return Ok(Some(text));
    }
    Err(out_of_range(node, &path, "minutes, or as in \"4:00:00\" and \"1-12\"", format!("{text:?}")))
}

/// Text that is not empty and holds no space or control character.
fn word(node: &Node, path: &str) -> Result<String, SpecError> {
    let text = fields::text(node, path)?;
    if !text.is_empty() && text.chars().all(|c| !c.is_whitespace() && !c.is_control()) {
        return Ok(text.to_owned());
    }
    Err(out_of_range(node, path, "a text without spaces", format!("{text:?}")))
}

fn whole(fields: &Fields<'_>, key: &str, least: i64) -> Result<Option<u32>, SpecError> {
    let Some(node) = fields.get(key) else { return Ok(None) };
    let number = fields::integer(node, &fields.path(key), least..=i64::from(u32::MAX))?;
    Ok(u32::try_from(number).ok())
}

/// The texts of a list, each of one line and as `fits` wants it; `None` where it is not given.
fn lines(
    fields: &Fields<'_>,
    key: &str,
    fits: impl Fn(&str) -> bool,
    expected: &str,
) -> Result<Option<Vec<String>>, SpecError> {
    if fields.get(key).is_none() {
        return Ok(None);
    }
    let line = |(index, node): (usize, &Node)| {
        let path = format!("{}.{index}", fields.path(key));
        let text = fields::text(node, &path)?;
        match text.chars().all(|c| !c.is_control() || c == '\t') && fits(text) {
            true => Ok(text.to_owned()),
            false => Err(out_of_range(node, &path, expected, format!("{text:?}"))),
        }
    };
    fields.list(key)?.iter().enumerate().map(line).collect::<Result<_, _>>().map(Some)
}
