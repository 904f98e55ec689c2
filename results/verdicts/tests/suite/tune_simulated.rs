//! Tunings of grids whose truth is known: how often the best setting inside the budget survives the rungs and is chosen,
//! and how many images that takes. Every number is drawn from a counter, so a run gives the table of the one before; it
//! stands in `docs/sweeps-and-tune.md`.

use std::fmt::Write;

use specimen_experiments::goal::{Constraint, Goal, Side};
use specimen_stats::counter_rng::CounterRng;
use specimen_verdicts::{
    tune::{
        bound::{BoundCheck, Sides},
        rung::place,
        sample::Sample,
        schedule::Schedule,
        trial::Evidence,
        tuning::{Rung, Setting, Tuning},
    },
    values::ByPrompt,
};

/// Tunings of a row of the table.
const N_TUNINGS: u64 = 100;

/// A setting as it truly is.
#[derive(Clone, Copy)]
struct Truth {
    speedup: f64,
    /// How far inside the bound of bits a token it is, and inside that of the cosine.
    slack: [f64; 2],
    is_exact: bool,
}

/// A grid of settings.
struct Grid {
    name: &'static str,
    truths: Vec<Truth>,
    /// Whether the values of prompts have a long tail to one side.
    is_skewed: bool,
}

const EXACT: Truth = Truth { speedup: 1.6, slack: [0.35, 0.03], is_exact: true };

/// The exact setting, and a grid of thresholds: the larger, the faster and the farther from the target. The settings
/// cross the first bound at `edge` and the second later.
fn grid(name: &'static str, edge: f64, step: f64) -> Grid {
    let relaxed = (0..15).map(|at| {
        let strength = f64::from(at);
        Truth {
            speedup: 1.65 + 0.08 * strength,
            slack: [step * (edge - strength), 0.004 * (edge + 3.0 - strength)],
            is_exact: false,
        }
    });
    Grid { name, truths: std::iter::once(EXACT).chain(relaxed).collect(), is_skewed: false }
}

fn grids() -> Vec<Grid> {
    vec![
        grid("bounds far from every setting", 7.5, 0.12),
        grid("settings close to the bounds", 7.2, 0.04),
        Grid { is_skewed: true, ..grid("the same with a long tail", 7.2, 0.04) },
        grid("only the exact setting meets them", -0.5, 0.12),
    ]
}

impl Grid {
    fn best(&self) -> usize {
        let meets = |truth: &Truth| truth.slack.iter().all(|slack| *slack >= 0.0);
        let inside = (0..self.truths.len()).filter(|&at| meets(&self.truths[at]));
        inside.max_by(|&a, &b| self.truths[a].speedup.total_cmp(&self.truths[b].speedup)).unwrap()
    }
}

/// Standard deviations over prompts: of a speedup, and of paired differences of bits and cosines.
const SPREAD: [f64; 3] = [0.25, 0.3, 0.05];

/// A draw of mean 0 and variance 1, addressed by its place.
fn noise(rng: &CounterRng, place: [u64; 3], is_skewed: bool) -> f64 {
    let counter = 2 * ((place[0] * 64 + place[1]) * 4096 + place[2]);
    // Box and Muller.
    let (radius, angle) = (rng.uniform(counter).max(1e-300), rng.uniform(counter + 1));
    let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
    match is_skewed {
        false => normal,
        // A shifted log-normal of deviation 1.
        true => {
            let sigma: f64 = 0.6;
            let (mean, variance) = ((sigma * sigma / 2.0).exp(), (sigma * sigma).exp());
            ((sigma * normal).exp() - mean) / (mean * (variance - 1.0).sqrt())
        }
    }
}

/// What one tuning found.
struct Outcome {
    survived: bool,
    chosen: bool,
    is_inside: bool,
    n_images: u64,
    n_whole: u64,
}

fn goal() -> Goal {
    let constraint = |text: &str, measure: &str, side, plus| Constraint {
        text: text.into(),
        measure: measure.into(),
        side,
        of_baseline: 1.0,
        plus,
    };
    Goal {
        objective: "speedup".into(),
        higher_is_better: Some(true),
        budget: vec![
            constraint("target-nll<=ar+0.35", "target-nll", Side::AtMost, 0.35),
            constraint("scene-clip>=ar-0.03", "scene-clip", Side::AtLeast, -0.03),
        ],
    }
}

/// The evidence of a setting on the first `n` prompts.
fn evidence(grid: &Grid, at: usize, n: usize, seed: u64, tuning: &Tuning) -> Evidence {
    let (rng, truth) = (CounterRng::new(seed), grid.truths[at]);
    let values = |of: u64, shared: f64, mean: f64| -> Sample {
        let value = |prompt: usize| {
            // What prompts share, settings share.
            let common = noise(&rng, [of, 63, prompt as u64], grid.is_skewed);
            let own = noise(&rng, [of, at as u64, prompt as u64], grid.is_skewed);
            let spread = SPREAD[of as usize];
            mean + spread * (shared.sqrt() * common + (1.0 - shared).sqrt() * own)
        };
        Sample::Prompts((0..n).map(|prompt| (format!("{prompt:05}"), value(prompt))).collect::<ByPrompt>())
    };
    let baseline = Sample::Prompts((0..n).map(|prompt| (format!("{prompt:05}"), 0.0)).collect());
    let goal = goal();
    let held = goal.budget.iter().enumerate().map(|(which, constraint)| {
        let difference = constraint.plus.abs() - truth.slack[which];
        let sign = if constraint.side == Side::AtMost { 1.0 } else { -1.0 };
        let value = values(1 + which as u64, 0.3, sign * difference);
        let sides = Sides {
            value: &value,
            baseline: &baseline,
            is_by_construction: truth.is_exact,
            is_nearer: false,
        };
        BoundCheck::of(constraint, sides, &tuning.level()).unwrap()
    });
    Evidence::new(&at.to_string(), values(0, 0.7, truth.speedup), held.collect()).unwrap()
}

fn tune(grid: &Grid, n_prompts: usize, seed: u64) -> Outcome {
    let settings: Vec<Setting> =
        (0..grid.truths.len()).map(|at| Setting { name: at.to_string(), method: String::new() }).collect();
    let mut tuning = Tuning::new("simulated", &goal(), settings, Schedule::of(n_prompts, None).unwrap());
    while tuning.wants_rung() {
        let prompts = tuning.schedule.prompts(tuning.rungs.len());
        let left: Vec<usize> = tuning.left().iter().map(|name| name.parse().unwrap()).collect();
        let found = left.iter().map(|&at| evidence(grid, at, prompts[1], seed, &tuning)).collect();
        let n_images = ((prompts[1] - prompts[0]) * (left.len() + 1)) as u64;
        let trials = place(found, &tuning.round()).unwrap();
        tuning.rungs.push(Rung {
            run: String::new(),
            result_digest: String::new(),
            prompts,
            n_images,
            trials,
        });
    }
    let best = grid.best().to_string();
    let chosen = tuning.best().map(|placed| placed.trial.setting.clone());
    let last = &tuning.rungs.last().unwrap().trials;
    let is_there = |name: &str| {
        let placed = last.iter().find(|placed| placed.trial.setting == name);
        placed.is_some_and(|placed| {
            placed.fate.is_kept() || placed.fate == specimen_verdicts::tune::rung::TrialOutcome::NotChosen
        })
    };
    let is_inside = chosen.as_ref().is_some_and(|name| {
        grid.truths[name.parse::<usize>().unwrap()].slack.iter().all(|slack| *slack >= 0.0)
    });
    let (n_images, n_whole) = tuning.images();
    Outcome {
        survived: is_there(&best),
        chosen: chosen.as_ref() == Some(&best),
        is_inside,
        n_images,
        n_whole,
    }
}

#[test]
fn the_best_setting_inside_the_budget_survives_in_95_of_100_tunings() {
    let mut table = String::from(
        "| grid of 16 settings | prompts | survives | is chosen | the chosen is inside | images | of the whole grid |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for grid in grids() {
        for n_prompts in [18, 48, 96] {
            let outcomes: Vec<Outcome> = (0..N_TUNINGS).map(|seed| tune(&grid, n_prompts, seed)).collect();
            let share = |of: &dyn Fn(&Outcome) -> bool| {
                100.0 * outcomes.iter().filter(|one| of(one)).count() as f64 / N_TUNINGS as f64
            };
            let n_images = outcomes.iter().map(|one| one.n_images).sum::<u64>() / N_TUNINGS;
            let survived = share(&|one| one.survived);
            let _ = writeln!(
                table,
                "| {} | {n_prompts} | {survived:.0} % | {:.0} % | {:.0} % | {n_images} | {:.0} % |",
                grid.name,
                share(&|one| one.chosen),
                share(&|one| one.is_inside),
                100.0 * n_images as f64 / outcomes[0].n_whole as f64,
            );
            assert!(survived >= 95.0, "{}, {n_prompts} prompts: {survived} %", grid.name);
        }
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweeps-and-tune.md");
    assert!(
        std::fs::read_to_string(page).unwrap().contains(&table),
        "docs/sweeps-and-tune.md should have\n{table}"
    );
}
