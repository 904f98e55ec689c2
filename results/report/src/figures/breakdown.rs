//! A score by a fact of the prompts: a row a group, in it the mean of each cell with its interval.

use specimen_foundation::text::counted;
use specimen_record::{Better, Summary};

use crate::ReportError;
use crate::drawing::charts::dot_rows::{DotRow, DotRows, Series};
use crate::drawing::families::style_of;
use crate::drawing::figure::{Figure, Style, Words};
use crate::records::breakdown::{Breakdown, Group, breakdown_csv};
use crate::tables::conditions::conditions;

/// What the names of these figures begin with.
pub(crate) const BREAKDOWN: &str = "breakdown";

/// Cells and groups that one figure can show, at most.
const MOST_CELLS: usize = 6;
const MOST_GROUPS: usize = 24;

impl Breakdown {
    /// Name of the figure's files: letters, digits and dashes.
    pub(crate) fn file_name(&self) -> String {
        let plain = |text: &str| -> String {
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
                .collect()
        };
        format!("{BREAKDOWN}-{}-{}", plain(&self.fact), plain(&self.metric))
    }

    /// The figure, or why there is none.
    pub(crate) fn figure(
        &self,
        summary: &Summary,
        style: &Style,
    ) -> Result<Result<Figure, ReportError>, String> {
        if self.groups.len() < 2 {
            return Err(format!("the prompts with a {} have all the same", self.fact));
        }
        let of_cell =
            |id: &str| self.groups.iter().any(|group| group.cells.iter().any(|cell| cell.cell == id));
        let cells: Vec<_> = summary.cells.iter().filter(|cell| of_cell(&cell.id)).collect();
        let (shown, left_out) = cells.split_at(cells.len().min(MOST_CELLS));
        let series = shown.iter().map(|cell| Series {
            name: cell.id.clone(),
            family: style_of(cell),
            guarantee: cell.guarantee,
        });
        let row = |group: &Group| {
            let of = |id: &str| group.cells.iter().find(|cell| cell.cell == id);
            let n = group.cells.iter().map(|cell| cell.n_prompts).max().unwrap_or_default();
            DotRow {
                name: group.name.clone(),
                note: counted(n, "prompt"),
                dots: shown
                    .iter()
                    .map(|cell| of(&cell.id).and_then(|own| Some((own.value?, own.ci95))))
                    .collect(),
            }
        };
        let better = match self.better {
            Some(Better::Higher) => " (higher is better →)",
            Some(Better::Lower) => " (← lower is better)",
            Some(Better::NearerToBaseline) => " (nearer to the baseline's is better)",
            None => "",
        };
        let drawing = DotRows {
            series: series.collect(),
            rows: self.groups.iter().take(MOST_GROUPS).map(row).collect(),
            x_name: format!("{}{better}", self.metric),
        };
        let mut caption = format!(
            "{} by {}: means over images with 95 % intervals over prompts, each of its row alone; rows in the order of {}. Protocol: \
             {}. A difference between two cells of one prompt is known better than their intervals show: it is in the table.",
            self.metric,
            self.fact,
            shown.first().map_or("the first cell", |cell| cell.id.as_str()),
            self.protocol
        );
        if self.overlap {
            caption += &format!(" A prompt with several values of {} is in each of these rows.", self.fact);
        }
        let mut drawn = String::new();
        if !left_out.is_empty() {
            drawn = format!(" · {} of {} cells drawn", shown.len(), cells.len());
            let names: Vec<&str> = left_out.iter().map(|cell| cell.id.as_str()).collect();
            caption += &format!(" In the data and not drawn: {}.", names.join(", "));
        }
        if self.groups.len() > MOST_GROUPS {
            caption += &format!(" {} further groups are in the data.", self.groups.len() - MOST_GROUPS);
        }
        let words = Words {
            name: self.file_name(),
            title: format!("{}: {} by {}", summary.name, self.metric, self.fact),
            conditions: conditions(summary) + &drawn,
            caption,
        };
        Ok(breakdown_csv(std::slice::from_ref(self)).and_then(|csv| Figure::of(words, &drawing, csv, style)))
    }
}
