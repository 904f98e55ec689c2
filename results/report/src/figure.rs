//! The seam between what a figure shows and the files it becomes: a [`Drawing`] is written once against
//! plotters and comes out as SVG and as PNG with the same layout. Files carry a title and the conditions; the
//! page has them in words of its own and takes the drawing without.

use plotters::coord::Shift;
use plotters::prelude::{
    DrawingArea, DrawingAreaErrorKind, DrawingBackend, IntoDrawingArea, IntoFont, SVGBackend,
};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{FontStyle, TextStyle};

use crate::ReportError;
use crate::font::{self, FAMILY, SIZE_PER_EM, wrap};
use crate::marks::write;
use crate::palette::{GREY, INK, PAPER};
use crate::raster::{Canvas, Enlarged};
use specimen_table::one_line;

/// Pixels of the PNG for one unit of the figure, each way.
const PNG_SCALE: u32 = 2;

/// Pixels drawn for one pixel of the PNG, each way.
const OVERSAMPLING: u32 = 2;

/// Units across. A column of a paper is 85 mm: the smallest words are then 6 points high.
pub(crate) const WIDTH: u32 = 560;

/// Line heights of words; an em is a [`SIZE_PER_EM`]th.
pub(crate) const TITLE: f64 = 22.0;
pub(crate) const AXIS: f64 = 20.0;
pub(crate) const TICK: f64 = 19.5;
pub(crate) const NAME: f64 = 19.5;
pub(crate) const NOTE: f64 = 17.0;

/// Space at the left and right edge.
pub(crate) const EDGE: i32 = 12;
const NOTE_LINE: i32 = 19;

/// What drawing on an area gives.
pub(crate) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Something that can be drawn.
pub(crate) trait Drawing {
    /// Units down.
    fn height(&self) -> u32;

    /// Draws on an area of [`WIDTH`] by its height.
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
    /// What is to be seen, and what it rests on.
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
    /// A PNG file with its heading, twice as large each way.
    pub(crate) png: Vec<u8>,
    /// The data.
    pub(crate) csv: String,
}

impl Figure {
    /// Draws.
    pub(crate) fn of<D: Drawing>(words: Words, drawing: &D, csv: String) -> Result<Figure, ReportError> {
        font::register();
        let heading = Heading::of(&words);
        let high = drawing.height() + heading.height().cast_unsigned();
        let bad = |reason: String| ReportError::Drawing { figure: words.name.clone(), reason };

        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, high)).into_drawing_area();
            titled(&area, &heading, drawing).map_err(|e| bad(e.to_string()))?;
        }
        let mut bare_svg = String::new();
        {
            let area = SVGBackend::with_string(&mut bare_svg, (WIDTH, drawing.height())).into_drawing_area();
            bare(&area, drawing).map_err(|e| bad(e.to_string()))?;
        }
        let factor = PNG_SCALE * OVERSAMPLING;
        let mut canvas = Canvas::new(WIDTH * factor, high * factor);
        {
            let area = Enlarged { canvas: &mut canvas, factor }.into_drawing_area();
            titled(&area, &heading, drawing).map_err(|e| bad(e.to_string()))?;
        }
        let png = canvas.averaged(OVERSAMPLING).png(&words.name)?;
        Ok(Figure { words, svg, bare_svg, png, csv })
    }
}

fn titled<D: Drawing, DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    heading: &Heading,
    drawing: &D,
) -> Drawn<DB> {
    area.fill(&PAPER)?;
    heading.draw(area)?;
    let (_, below) = area.split_vertically(heading.height());
    drawing.draw(&below)?;
    area.present()
}

fn bare<D: Drawing, DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, drawing: &D) -> Drawn<DB> {
    area.fill(&PAPER)?;
    drawing.draw(area)?;
    area.present()
}

/// Title and conditions in lines that fit.
struct Heading {
    title: String,
    conditions: Vec<String>,
}

impl Heading {
    fn of(words: &Words) -> Heading {
        let wide = f64::from(WIDTH) - 2.0 * f64::from(EDGE);
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
