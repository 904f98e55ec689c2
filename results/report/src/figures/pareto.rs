//! The data of the Pareto plot: speed against one quality metric, which cells are dominated, and which
//! have no point and why.

use specimen_foundation::names::known_names;
use specimen_record::{Better, CellSummary, Guarantee, MetricSummary, Summary, VsBaseline};

use specimen_stats::rounding::is_equal;

use crate::ReportError;
use crate::drawing::charts::scatter::{Dot, Scatter};
use crate::drawing::families::{FamilyStyle, style_of};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::by_reason;
use crate::figures::hypervolume::{Trade, hypervolume};
use crate::figures::setting_lines::{lines, place};
use crate::table::CsvText;
use crate::table::fixed;
use crate::tables::conditions::{baselines, conditions};
use crate::tables::frame::guarantee;
use crate::tables::ranking::missing_items;

/// The quantity on the vertical axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quality {
    /// A metric minus the baseline's, paired by prompt.
    Difference(String),
    /// A metric itself.
    Value(String),
}

/// Number of cells that the plane of a summary over this quality shows.
pub fn n_drawn(summary: &Summary, quality: &Quality) -> Result<usize, String> {
    Pareto::of(summary, quality).map(|pareto| pareto.points.len())
}

/// One cell in the plane.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) cell: String,
    pub(crate) is_baseline: bool,
    pub(crate) family: FamilyStyle,
    pub(crate) guarantee: Guarantee,
    /// Model, dataset and baseline; only cells that share them compete.
    group: (String, String, Option<String>),
    pub(crate) speedup: f64,
    pub(crate) speedup_ci95: Option<[f64; 2]>,
    pub(crate) quality: f64,
    pub(crate) quality_ci95: Option<[f64; 2]>,
    /// Difference of the metric from the baseline's, paired by prompt, with its interval, absolute where nearer to the
    /// baseline is better; 0 for the baseline itself, absent where the metric has no value for each prompt.
    paired: Option<(f64, Option<[f64; 2]>)>,
    /// A cell of the frontier dominates it, see [`Pareto::dominates`].
    pub(crate) is_dominated: bool,
    /// How many items failed or are missing, where some did: such a cell is not ranked. `None` for the baseline, which all
    /// are compared with.
    missing: Option<String>,
}

impl Point {
    fn is_on_frontier(&self) -> bool {
        !self.is_dominated && self.missing.is_none()
    }
}

/// What every CSV of points has of one, see [`Pareto::point_fields`].
pub(crate) const POINT_COLUMNS: [&str; 9] = [
    "speedup",
    "speedup_lo",
    "speedup_hi",
    "metric",
    "quantity",
    "unit",
    "quality",
    "quality_lo",
    "quality_hi",
];

/// The plane.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pareto {
    pub(crate) metric: String,
    pub(crate) unit: String,
    pub(crate) is_difference: bool,
    /// `None` only where every cell is exact, so that quality decides nothing.
    pub(crate) better: Option<Better>,
    /// Whether speedups are from the prompt to the image, since a cell has no other.
    pub(crate) is_end_to_end: bool,
    pub(crate) points: Vec<Point>,
    /// Cells without a point, and the reason.
    pub(crate) left_out: Vec<(String, String)>,
}

/// Whether another program made the images, so that only end-to-end times can be compared.
fn has_whole_time_only(cell: &CellSummary) -> bool {
    cell.origin.is_some()
        && cell.value("speedup").is_none()
        && cell.value("speedup_e2e").is_some()
        && !cell.is_baseline()
}

impl Quality {
    fn metric(&self) -> &str {
        match self {
            Quality::Difference(metric) | Quality::Value(metric) => metric,
        }
    }
}

impl Pareto {
    /// The plane of a summary, or the reason why there is none.
    pub(crate) fn of(summary: &Summary, quality: &Quality) -> Result<Pareto, String> {
        let name = quality.metric();
        let metrics = summary.cells.iter().flat_map(|c| &c.metrics);
        let Some(first) = metrics.clone().find(|m| m.metric == name) else {
            let mut known: Vec<&str> = metrics.map(|m| m.metric.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            let known =
                if known.is_empty() { "no metric at all".to_owned() } else { known_names(name, known) };
            return Err(format!("no cell has the metric `{name}`; the run has {known}"));
        };
        let better = summary.better(name);
        if better.is_none() && summary.cells.iter().any(|cell| cell.guarantee != Guarantee::Exact) {
            return Err(format!("neither direction of `{name}` is better, so nothing dominates"));
        }
        let mut pareto = Pareto {
            metric: name.to_owned(),
            unit: first.unit.clone(),
            is_difference: matches!(quality, Quality::Difference(_)),
            better,
            is_end_to_end: summary.cells.iter().any(has_whole_time_only),
            points: Vec::new(),
            left_out: Vec::new(),
        };
        for cell in &summary.cells {
            let metric = cell.metrics.iter().find(|m| m.metric == name && m.protocol == first.protocol);
            match pareto.point(summary, cell, metric) {
                Ok(point) => pareto.points.push(point),
                Err(why) => pareto.left_out.push((cell.id.clone(), why)),
            }
        }
        if pareto.points.iter().all(|p| p.is_baseline) {
            let reasons = by_reason(&pareto.left_out);
            return Err(format!("no cell but the baseline has both a speedup and `{name}` ({reasons})"));
        }
        pareto.mark_dominated();
        Ok(pareto)
    }

    fn point(
        &self,
        summary: &Summary,
        cell: &CellSummary,
        metric: Option<&MetricSummary>,
    ) -> Result<Point, String> {
        let is_baseline = cell.is_baseline();
        let because =
            |why: &Option<String>, what: &str| why.clone().unwrap_or_else(|| format!("it has no {what}"));
        // The baseline is 1 times as fast as itself and does not differ from itself, by definition.
        let whole = cell.measured("speedup_e2e");
        let ratio = if self.is_end_to_end { whole.clone() } else { cell.measured("speedup") };
        let (speedup, speedup_ci95) = match ratio.value {
            _ if is_baseline => (1.0, None),
            Some(value) => (value, ratio.ci95),
            None if cell.n_images == 0 => return Err("it has no image".to_owned()),
            // Of another program's images only the whole time could have a ratio.
            None if cell.origin.is_some() => return Err(because(&whole.why, "speedup")),
            None => return Err(because(&ratio.why, "speedup")),
        };
        let metric = metric.ok_or_else(|| format!("`{}` was not scored", self.metric))?;
        let (quality, quality_ci95) = match (self.is_difference, metric.vs_baseline, metric.value) {
            (true, _, Some(_)) if is_baseline => (0.0, None),
            (true, Some(versus), _) => self.apart(versus),
            (true, None, _) => {
                return Err(because(&metric.why, "comparison with the baseline for this metric"));
            }
            (false, _, Some(value)) => (value, metric.ci95),
            (false, _, None) => return Err(because(&metric.why, "value for this metric")),
        };
        Ok(Point {
            cell: cell.id.clone(),
            is_baseline,
            family: style_of(cell),
            guarantee: cell.guarantee,
            group: (cell.model.clone(), cell.dataset.clone(), cell.baseline.clone()),
            speedup,
            speedup_ci95,
            quality,
            quality_ci95,
            paired: match metric.vs_baseline {
                _ if is_baseline => Some((0.0, None)),
                versus => versus.map(|versus| self.apart(versus)),
            },
            is_dominated: false,
            missing: missing_items(summary, cell).filter(|_| !is_baseline),
        })
    }

    /// How far a cell is from its baseline: the difference, or how large it is where nearer is better.
    fn apart(&self, versus: VsBaseline) -> (f64, Option<[f64; 2]>) {
        match self.better {
            Some(Better::NearerToBaseline) => versus.distance(),
            Some(Better::Higher | Better::Lower) | None => (versus.difference, versus.ci95),
        }
    }

    /// From fast to slow, so that only a cell of the frontier dominates another: "not shown to be better" does not carry over
    /// from one pair to the next.
    fn mark_dominated(&mut self) {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        order.sort_by(|&a, &b| self.points[b].speedup.total_cmp(&self.points[a].speedup));
        for (nth, &at) in order.iter().enumerate() {
            let is_dominated = order[..nth].iter().any(|&faster| {
                let faster = &self.points[faster];
                faster.is_on_frontier() && self.dominates(faster, &self.points[at])
            });
            self.points[at].is_dominated = is_dominated;
        }
    }

    /// Whether `o`, of the frontier, dominates `p`: it is faster and `p` is not shown to be better. Of two exact cells the
    /// faster dominates, and only an exact cell dominates an exact one. Another cell is shown to be better if the 95 %
    /// interval of its difference from the baseline is on the better side of 0 (against an exact cell) or of the other's mean
    /// difference.
    fn dominates(&self, o: &Point, p: &Point) -> bool {
        if o.group != p.group || o.speedup <= p.speedup {
            return false;
        }
        match (o.guarantee, p.guarantee) {
            (Guarantee::Exact, Guarantee::Exact) => true,
            (_, Guarantee::Exact) => false,
            _ => !self.is_visibly_better(p, o),
        }
    }

    /// The cells whose quality is compared without an interval.
    fn compared_by_value(&self) -> Vec<&str> {
        let has_interval = |p: &Point| p.paired.map_or(p.quality_ci95, |(_, ci95)| ci95).is_some();
        let counts = |p: &&Point| !p.is_baseline && p.guarantee != Guarantee::Exact && !has_interval(p);
        self.points.iter().filter(counts).map(|p| p.cell.as_str()).collect()
    }

    /// Whether the quality of `p`, which is not exact, is better than that of `o` beyond the interval of `p`; by values
    /// where there is no interval, which [`Pareto::compared_by_value`] names.
    fn is_visibly_better(&self, p: &Point, o: &Point) -> bool {
        let difference =
            |o: &Point| if o.guarantee == Guarantee::Exact { Some(0.0) } else { Some(o.paired?.0) };
        let ((value, ci95), other) = match (p.paired, difference(o)) {
            (Some(paired), Some(other)) => (paired, other),
            _ => ((p.quality, p.quality_ci95), o.quality),
        };
        let [low, high] = ci95.unwrap_or([value, value]);
        // Means of the same scores in another order differ by rounding.
        let is_above = |a: f64, b: f64| a > b && !is_equal(a, b, a.abs().max(b.abs()));
        if self.better == Some(Better::Higher) { is_above(low, other) } else { is_above(other, high) }
    }

    /// Speedup and quality of each cell as the hypervolume counts them, exact cells with the quality of their baseline,
    /// whose distribution they share; `None` where every cell is exact.
    fn trades(&self) -> Option<Vec<Trade>> {
        let is_exact = |p: &&Point| p.guarantee == Guarantee::Exact;
        if self.points.iter().all(|p| is_exact(&p)) {
            return None;
        }
        let baseline = self.points.iter().find(|p| p.is_baseline).map(|p| p.quality);
        let quality = |p: &Point| {
            let quality = baseline.filter(|_| is_exact(&p)).unwrap_or(p.quality);
            let is_nearer = self.better == Some(Better::NearerToBaseline);
            baseline.filter(|_| is_nearer).map_or(quality, |baseline| (quality - baseline).abs())
        };
        let trade =
            |p: &Point| Trade { speedup: p.speedup, quality: quality(p), is_on_frontier: p.is_on_frontier() };
        Some(self.points.iter().map(trade).collect())
    }

    /// Points of the frontier, group by group, each group from slow to fast.
    pub(crate) fn frontiers(&self) -> Vec<Vec<&Point>> {
        let mut frontiers: Vec<Vec<&Point>> = Vec::new();
        for point in self.points.iter().filter(|p| p.is_on_frontier()) {
            match frontiers.iter_mut().find(|f| f[0].group == point.group) {
                Some(frontier) => frontier.push(point),
                None => frontiers.push(vec![point]),
            }
        }
        for frontier in &mut frontiers {
            frontier.sort_by(|a, b| a.speedup.total_cmp(&b.speedup));
        }
        frontiers
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let lines = lines(summary);
        let baseline = match self.baselines(summary).as_slice() {
            [only] => *only,
            _ => "its baseline",
        };
        let words = Words {
            name: "pareto".to_owned(),
            title: format!("{}: speed against quality", summary.name),
            conditions: conditions(summary),
            caption: self.caption(summary),
        };
        let dots = self.points.iter().map(|p| Dot {
            name: p.cell.clone(),
            family: p.family,
            guarantee: p.guarantee,
            // The baseline stays in full colour: it is the reference, not a competitor.
            is_faded: !p.is_on_frontier() && !p.is_baseline,
            // Of many settings of one method those of the frontier are named; the others have colour and size.
            is_named: p.is_on_frontier() || place(&lines, &p.cell).is_none(),
            x: p.speedup,
            x_ci95: p.speedup_ci95,
            y: p.quality,
            y_ci95: p.quality_ci95,
        });
        let frontiers = self.frontiers();
        let has_missing = self.points.iter().any(|p| p.missing.is_some());
        let drawing = Scatter {
            dots: dots.collect(),
            faded: if has_missing { "dominated or with failed items" } else { "dominated" },
            lines: lines.clone(),
            x_name: format!(
                "Speedup over {baseline}, {}, × (→ higher is better)",
                if self.is_end_to_end { "prompt to image" } else { "decode time" }
            ),
            y_name: self.quality_name(baseline),
            frontiers: frontiers.iter().map(|f| f.iter().map(|p| (p.speedup, p.quality)).collect()).collect(),
            upright: Some((1.0, format!("speed of {baseline}"))),
            level: self.is_difference.then_some(0.0),
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    /// The vertical axis in words.
    pub(crate) fn quality_name(&self, baseline: &str) -> String {
        let what = match (self.is_difference, self.better) {
            (true, Some(Better::NearerToBaseline)) => format!("|Δ {}| against {baseline}", self.metric),
            (true, _) => format!("Δ {} against {baseline}", self.metric),
            (false, _) => self.metric.clone(),
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(", {}", self.unit) };
        let better = match (self.better, self.is_difference) {
            (Some(Better::Higher), _) => "↑ higher is better".to_owned(),
            (Some(Better::Lower), _) => "↓ lower is better".to_owned(),
            (Some(Better::NearerToBaseline), true) => "nearer to 0 is better".to_owned(),
            (Some(Better::NearerToBaseline), false) => format!("nearer to {baseline}'s is better"),
            (None, _) => "differences are chance".to_owned(),
        };
        format!("{what}{unit} ({better})")
    }

    /// What is on the vertical axis in few words, and where it is better.
    pub(crate) fn short_quality_name(&self) -> String {
        let what = match (self.is_difference, self.better) {
            (true, Some(Better::NearerToBaseline)) => format!("|Δ {}|", self.metric),
            (true, _) => format!("Δ {}", self.metric),
            (false, _) => self.metric.clone(),
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(", {}", self.unit) };
        let better = match (self.better, self.is_difference) {
            (Some(Better::Higher), _) => " (↑)",
            (Some(Better::Lower), _) | (Some(Better::NearerToBaseline), true) => " (↓)",
            (Some(Better::NearerToBaseline), false) => " (nearer to the baseline)",
            (None, _) => "",
        };
        format!("{what}{unit}{better}")
    }

    /// What is to be seen, the area the frontier covers, and who has no point.
    fn caption(&self, summary: &Summary) -> String {
        let mut caption = format!(
            "Speedup over {} in {} against {}, with 95 % intervals. The frontier is found from the fastest cell to the \
             slowest, among cells of one model, dataset and baseline: a cell is dominated, and faded, if a cell of the \
             frontier is faster and it is not shown to be better; the baseline itself is not faded. Exact cells sample the \
             same distribution: the faster dominates, and their vertical distance is chance.",
            match self.baselines(summary).as_slice() {
                [only] => (*only).to_owned(),
                all => format!("its baseline ({})", all.join(", ")),
            },
            match self.is_end_to_end {
                true =>
                    "time from the prompt to the image, which is all that is known of another program's images,",
                false => "decode time",
            },
            match self.is_difference {
                true => format!("{}, paired by prompt", self.quality_in_words()),
                false => self.quality_in_words(),
            }
        );
        if self.points.iter().any(|p| p.guarantee != Guarantee::Exact) {
            caption += " A cell that is not exact is shown to be better if its 95 % interval is on the better side of the \
                        other's mean, or of the baseline's where the other is exact; it never dominates an exact cell.";
        }
        let alone = self.compared_by_value();
        if !alone.is_empty() {
            caption += &format!(
                " Compared by the mean alone, which chance can turn, because they have no interval: {}.",
                alone.join(", ")
            );
        }
        let missing =
            self.points.iter().filter_map(|p| Some(format!("{} ({})", p.cell, p.missing.as_ref()?)));
        let missing: Vec<String> = missing.collect();
        if !missing.is_empty() {
            caption += &format!(
                " A cell with failed or missing items is faded, is not on the frontier and dominates none, since those may be \
                 the difficult ones: {}.",
                missing.join(", ")
            );
        }
        if self.better == Some(Better::NearerToBaseline) {
            caption += " Nearer to the baseline's is better: tokens of a relaxed method can be too likely or too \
                        unlikely.";
        }
        if self.is_one_group()
            && let Some(area) =
                self.trades().and_then(|points| hypervolume(&points, self.better == Some(Better::Higher)))
        {
            let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
            caption += &format!(
                " Hypervolume of the frontier {} ×{unit}, exact cells with the baseline's quality, from the reference point (1 ×, \
                 {}{unit}): the baseline's speed and the worst quality of a cell here, so it compares figures with the \
                 same reference point only.",
                fixed(area.value, 4),
                fixed(area.reference, 4),
            );
        }
        if !self.left_out.is_empty() {
            caption += &format!(" Without a point: {}.", by_reason(&self.left_out));
        }
        caption
    }

    /// The baselines of the points.
    fn baselines<'s>(&self, summary: &'s Summary) -> Vec<&'s str> {
        let is_used = |name: &&str| {
            *name == summary.baseline || self.points.iter().any(|p| p.group.2.as_deref() == Some(*name))
        };
        baselines(summary).into_iter().filter(is_used).collect()
    }

    /// What the quality is, within a sentence.
    pub(crate) fn quality_in_words(&self) -> String {
        match self.is_difference {
            true => format!("the {}difference of {} from the baseline's", self.absolute(), self.metric),
            false => self.metric.clone(),
        }
    }

    /// The word before a difference whose sign does not matter.
    fn absolute(&self) -> &'static str {
        if self.better == Some(Better::NearerToBaseline) { "absolute " } else { "" }
    }

    /// Whether all cells compete with one another.
    fn is_one_group(&self) -> bool {
        self.points.windows(2).all(|pair| pair[0].group == pair[1].group)
    }

    /// The data as CSV, cells without a point at the end. `difference` is the paired one from the baseline, by which cells
    /// dominate, whatever is on the axis.
    pub(crate) fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        let columns = ["cell", "guarantee", "baseline"].into_iter().chain(POINT_COLUMNS);
        out.write_record(columns.chain([
            "difference",
            "difference_lo",
            "difference_hi",
            "dominated",
            "why",
            "times",
        ]))?;
        for point in &self.points {
            let start =
                [point.cell.clone(), guarantee(point.guarantee).to_owned(), point.is_baseline.to_string()];
            let difference = point.paired.map_or_else(String::new, |(difference, _)| difference.to_string());
            let [apart_lo, apart_hi] = ends(point.paired.and_then(|(_, ci95)| ci95));
            let end = [
                difference,
                apart_lo,
                apart_hi,
                point.is_dominated.to_string(),
                point.missing.clone().unwrap_or_default(),
                self.times().to_owned(),
            ];
            out.write_record(start.into_iter().chain(self.point_fields(Some(point))).chain(end))?;
        }
        for (cell, why) in &self.left_out {
            let empty = String::new;
            let start = [cell.clone(), empty(), empty()];
            let end = [empty(), empty(), empty(), empty(), why.clone(), empty()];
            out.write_record(start.into_iter().chain(self.point_fields(None)).chain(end))?;
        }
        Ok(out.into_text())
    }

    /// The fields of [`POINT_COLUMNS`]; without a point those of the plane alone.
    pub(crate) fn point_fields(&self, point: Option<&Point>) -> [String; 9] {
        let number = |of: fn(&Point) -> f64| point.map(|point| of(point).to_string()).unwrap_or_default();
        let [speed_lo, speed_hi] = ends(point.and_then(|point| point.speedup_ci95));
        let [quality_lo, quality_hi] = ends(point.and_then(|point| point.quality_ci95));
        let quantity = match self.is_difference {
            true => format!("{}difference to the baseline", self.absolute()),
            false => "value".to_owned(),
        };
        [
            number(|point| point.speedup),
            speed_lo,
            speed_hi,
            self.metric.clone(),
            quantity,
            self.unit.clone(),
            number(|point| point.quality),
            quality_lo,
            quality_hi,
        ]
    }

    /// What the speedups of the points are of, as the CSVs name it.
    pub(crate) fn times(&self) -> &'static str {
        if self.is_end_to_end { "prompt to image" } else { "decode" }
    }
}

/// The ends of an interval as fields; empty without one.
fn ends(ci95: Option<[f64; 2]>) -> [String; 2] {
    ci95.map(|ends| ends.map(|end| end.to_string())).unwrap_or_default()
}
