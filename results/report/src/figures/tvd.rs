//! Total variation distance spent against speedup: what a relaxed method pays for its speed.

use specimen_record::{Guarantee, Summary};

use crate::ReportError;
use crate::drawing::charts::scatter::{Dot, Scatter};
use crate::drawing::families::style_of;
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::by_reason;
use crate::figures::setting_lines::{Line, lines, place};
use crate::table::CsvText;
use crate::tables::conditions::conditions;
use crate::tables::frame::guarantee;

/// One point a cell.
pub(crate) struct TvdSpent {
    dots: Vec<Dot>,
    lines: Vec<Line>,
    left_out: Vec<(String, String)>,
}

impl TvdSpent {
    /// The points of a summary, or the reason why there is no figure.
    pub(crate) fn of(summary: &Summary) -> Result<TvdSpent, String> {
        if !summary.cells.iter().any(|cell| cell.value("tvd_spent").is_some_and(|spent| spent > 0.0)) {
            return Err("no cell spends any total variation distance".to_owned());
        }
        let mut spent = TvdSpent { dots: Vec::new(), lines: lines(summary), left_out: Vec::new() };
        for cell in &summary.cells {
            let (tvd, speedup) = (cell.value("tvd_spent"), cell.measured("speedup"));
            let speed = if cell.is_baseline() { Some(1.0) } else { speedup.value };
            // What a schedule skips is not in the distance that the rule moves.
            let spends_elsewhere = cell.guarantee == Guarantee::Relaxed && tvd == Some(0.0);
            if spends_elsewhere {
                let why = "its rule moves none; what it changes besides is not in this distance";
                spent.left_out.push((cell.id.clone(), why.to_owned()));
                continue;
            }
            match (tvd, speed) {
                (Some(x), Some(y)) => spent.dots.push(Dot {
                    name: cell.id.clone(),
                    family: style_of(cell),
                    guarantee: cell.guarantee,
                    is_faded: false,
                    is_named: place(&spent.lines, &cell.id).is_none(),
                    x,
                    x_ci95: None,
                    y,
                    y_ci95: speedup.ci95.filter(|_| !cell.is_baseline()),
                }),
                (None, _) => spent.left_out.push((cell.id.clone(), cell.why_not("tvd_spent"))),
                (_, None) => spent.left_out.push((cell.id.clone(), cell.why_not("speedup"))),
            }
        }
        match spent.dots.iter().any(|dot| dot.x > 0.0) {
            true => Ok(spent),
            false => Err("no cell that spends total variation distance has a speedup".to_owned()),
        }
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let mut caption = format!(
            "Total variation distance that the acceptance rule moved, summed over the verifications of an image and \
             averaged over images, against the speedup over {} with its 95 % interval. Exact methods spend none.",
            summary.baseline
        );
        if !self.left_out.is_empty() {
            caption += &format!(" Without a point: {}.", by_reason(&self.left_out));
        }
        let words = Words {
            name: "tvd".to_owned(),
            title: format!("{}: distance spent against speed", summary.name),
            conditions: conditions(summary),
            caption,
        };
        let drawing = Scatter {
            dots: self.dots.clone(),
            faded: "dominated",
            lines: self.lines.clone(),
            x_name: "TVD spent per image (← lower is better)".to_owned(),
            y_name: format!("Speedup over {}, × (↑ higher is better)", summary.baseline),
            frontiers: Vec::new(),
            upright: None,
            level: Some(1.0),
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record([
            "cell",
            "guarantee",
            "tvd_spent_per_image",
            "speedup",
            "speedup_lo",
            "speedup_hi",
            "why",
        ])?;
        for dot in &self.dots {
            let bound = |at: usize| dot.y_ci95.map(|ci| ci[at].to_string()).unwrap_or_default();
            out.write_record([
                &dot.name,
                guarantee(dot.guarantee),
                &dot.x.to_string(),
                &dot.y.to_string(),
                &bound(0),
                &bound(1),
                "",
            ])?;
        }
        for (cell, why) in &self.left_out {
            out.write_record([cell, "", "", "", "", "", why.as_str()])?;
        }
        Ok(out.into_text())
    }
}
