//! The seam between what a figure shows and the files it becomes: a [`Drawing`] is written once against
//! plotters and comes out as SVG, PDF and PNG with the same layout. Files carry a title and the conditions; the
//! page has them in words of its own and takes the drawing without.

use plotters::coord::Shift;
use plotters::prelude::{
    DrawingArea, DrawingAreaErrorKind, DrawingBackend, IntoDrawingArea, IntoFont, SVGBackend,
};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{FontStyle, TextStyle};

use crate::ReportError;
use crate::drawing::font::{self, FAMILY, SIZE_PER_EM, wrap};
use crate::drawing::marks::write;
use crate::drawing::palette::{GREY, INK, PAPER};
use crate::drawing::pdf::{OnPage, Page};
use crate::drawing::raster::{Canvas, Enlarged};
use specimen_foundation::text::one_line;

/// Pixels of the PNG for one unit of the figure, each way.
const PNG_SCALE: u32 = 2;

/// Pixels drawn for one pixel of the PNG, each way.
const OVERSAMPLING: u32 = 2;

/// Pixels of the PNG for one unit of a figure for print: 500 dots an inch.
const PRINT_SCALE: u32 = 3;

/// Units across, and the width of a paper's column on which the smallest words are then 6 points high.
const WIDTH: u32 = 560;
const COLUMN_MM: f64 = 85.0;

/// How figures are drawn, besides what they show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Width on paper, in millimetres; letters keep their size, so that a wider figure has more room. Without one a figure
    /// is drawn for a screen, with the layout of a column of 85 mm.
    pub width_mm: Option<f64>,
    /// Whether the title and the conditions are above the drawing; a paper has them in its caption.
    pub is_titled: bool,
}

impl Style {
    /// For the page and a screen.
    pub const SCREEN: Style = Style { width_mm: None, is_titled: true };

    /// Units across.
    pub(crate) fn wide(&self) -> u32 {
        (self.width_mm() / COLUMN_MM * f64::from(WIDTH)).round() as u32
    }

    /// Width on paper that PDF and PNG state.
    fn width_mm(&self) -> f64 {
        self.width_mm.unwrap_or(COLUMN_MM)
    }
}

/// Line heights of words; an em is a [`SIZE_PER_EM`]th.
pub(crate) const TITLE: f64 = 22.0;
pub(crate) const AXIS: f64 = 20.0;
pub(crate) const TICK: f64 = 19.5;
pub(crate) const NAME: f64 = 19.5;
pub(crate) const NOTE: f64 = 17.0;

/// Space at the left and right edge.
pub(crate) const EDGE: i32 = 12;
/// Distance between lines of small print.
pub(crate) const NOTE_LINE: i32 = 19;

/// What drawing on an area gives.
pub(crate) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Something that can be drawn.
pub(crate) trait Drawing {
    /// Units down of a drawing that is so wide.
    fn height(&self, wide: i32) -> u32;

    /// Draws on an area of any width, by its height.
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB>;
}

/// What a figure's files are called and say besides the drawing.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// Name of the files, without ending.
    pub(crate) name: String,
    pub(crate) title: String,
    /// Conditions, in small print under the title.
    pub(crate) conditions: String,
    /// What the figure shows, and of which data.
    pub(crate) caption: String,
}

/// A figure in all its forms.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) words: Words,
    /// An SVG document with its heading.
    pub(crate) svg: String,
    /// The same without heading.
    pub(crate) bare_svg: String,
    /// A PNG file with its heading, two or three pixels a unit each way.
    pub(crate) png: Vec<u8>,
    /// A PDF file of one page with its heading.
    pub(crate) pdf: Vec<u8>,
    /// The data.
    pub(crate) csv: String,
}

/// A drawn figure: the files that another page shows it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnFigure {
    /// What it shows, and of which data.
    pub caption: String,
    /// An SVG document.
    pub svg: String,
    /// A PNG file.
    pub png: Vec<u8>,
    /// The data.
    pub csv: String,
}

impl From<Figure> for DrawnFigure {
    fn from(figure: Figure) -> Self {
        let Figure { words, svg, png, csv, .. } = figure;
        Self { caption: words.caption, svg, png, csv }
    }
}

impl Figure {
    /// Draws. A heading that the style leaves out is in none of the files.
    pub(crate) fn of<D: Drawing>(
        words: Words,
        drawing: &D,
        csv: String,
        style: &Style,
    ) -> Result<Figure, ReportError> {
        font::register();
        let wide = style.wide();
        let units = wide.cast_signed();
        let heading = style.is_titled.then(|| Heading::of(&words, units));
        let own = drawing.height(units);
        let high = own + heading.as_ref().map_or(0, Heading::height).cast_unsigned();
        let bad = |reason: String| crate::error::drawing(&words.name, reason);

        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (wide, high)).into_drawing_area();
            titled(&area, heading.as_ref(), drawing).map_err(|e| bad(e.to_string()))?;
        }
        let mut bare_svg = String::new();
        {
            let area = SVGBackend::with_string(&mut bare_svg, (wide, own)).into_drawing_area();
            titled(&area, None, drawing).map_err(|e| bad(e.to_string()))?;
        }
        if let Some(mm) = style.width_mm {
            svg = on_paper(&svg, (wide, high), mm);
        }
        let mut page = Page::new((wide, high));
        {
            let area = OnPage(&mut page).into_drawing_area();
            titled(&area, heading.as_ref(), drawing).map_err(|e| bad(e.to_string()))?;
        }
        let pdf = page.into_pdf(style.width_mm(), &words.name)?;
        let scale = if style.width_mm.is_some() { PRINT_SCALE } else { PNG_SCALE };
        let factor = scale * OVERSAMPLING;
        let mut canvas = Canvas::new(wide * factor, high * factor);
        {
            let area = Enlarged { canvas: &mut canvas, factor }.into_drawing_area();
            titled(&area, heading.as_ref(), drawing).map_err(|e| bad(e.to_string()))?;
        }
        let png = canvas.averaged(OVERSAMPLING).png(&words.name, style.width_mm())?;
        Ok(Figure { words, svg, bare_svg, png, pdf, csv })
    }
}

/// An SVG document whose size is one on paper.
fn on_paper(svg: &str, (wide, high): (u32, u32), mm: f64) -> String {
    let tall = mm * f64::from(high) / f64::from(wide);
    let size = format!("width=\"{wide}\" height=\"{high}\"");
    svg.replacen(&size, &format!("width=\"{mm}mm\" height=\"{tall:.2}mm\""), 1)
}

fn titled<D: Drawing, DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    heading: Option<&Heading>,
    drawing: &D,
) -> Drawn<DB> {
    area.fill(&PAPER)?;
    match heading {
        Some(heading) => {
            heading.draw(area)?;
            let (_, below) = area.split_vertically(heading.height());
            drawing.draw(&below)?;
        }
        None => drawing.draw(area)?,
    }
    area.present()
}

/// Title and conditions in lines that fit.
struct Heading {
    title: String,
    conditions: Vec<String>,
}

impl Heading {
    fn of(words: &Words, wide: i32) -> Heading {
        let wide = f64::from(wide - 2 * EDGE);
        let title = wrap(&words.title, wide, 1, TITLE / SIZE_PER_EM, true).concat();
        let conditions = wrap(&words.conditions, wide, 3, NOTE / SIZE_PER_EM, false);
        let conditions = conditions.into_iter().map(|line| line.trim_end_matches([' ', '·']).to_owned());
        Heading { title, conditions: conditions.collect() }
    }

    fn height(&self) -> i32 {
        42 + NOTE_LINE * i32::try_from(self.conditions.len()).expect("at most three lines")
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let bold = TextStyle::from((FAMILY, TITLE).into_font().style(FontStyle::Bold)).color(&INK);
        area.draw_text(&one_line(&self.title), &bold, (EDGE, 10))?;
        for (at, line) in (0_i32..).zip(&self.conditions) {
            write(area, line, (EDGE, 36 + at * NOTE_LINE), NOTE, GREY, HPos::Left, VPos::Top)?;
        }
        Ok(())
    }
}
