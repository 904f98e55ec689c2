//! The seam between what a figure shows and the file it becomes: a [`Drawing`] is written once against
//! plotters and comes out as SVG and as PNG with the same layout.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend, IntoDrawingArea, SVGBackend};

use crate::ReportError;
use crate::font;
use crate::raster::{Canvas, Enlarged};

/// Pixels of the PNG for one unit of the figure, each way.
const PNG_SCALE: u32 = 2;

/// Pixels drawn for one pixel of the PNG, each way.
const OVERSAMPLING: u32 = 2;

/// Something that can be drawn.
pub(crate) trait Drawing {
    /// Draws on an area of the figure's size.
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), String>;
}

/// Name and size of a figure.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    /// What error messages call it.
    pub(crate) name: &'static str,
    /// Units; one is a pixel of the SVG and two of the PNG.
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Figure {
    /// The figure as an SVG document.
    pub(crate) fn svg<D: Drawing>(&self, drawing: &D) -> Result<String, ReportError> {
        let mut out = String::new();
        self.draw(drawing, SVGBackend::with_string(&mut out, (self.width, self.height)))?;
        Ok(out)
    }

    /// The figure as a PNG file, twice as large each way.
    pub(crate) fn png<D: Drawing>(&self, drawing: &D) -> Result<Vec<u8>, ReportError> {
        let factor = PNG_SCALE * OVERSAMPLING;
        let mut canvas = Canvas::new(self.width * factor, self.height * factor);
        self.draw(drawing, Enlarged { canvas: &mut canvas, factor })?;
        canvas.averaged(OVERSAMPLING).png(self.name)
    }

    fn draw<D: Drawing, DB: DrawingBackend>(&self, drawing: &D, backend: DB) -> Result<(), ReportError> {
        font::register();
        let area = backend.into_drawing_area();
        drawing
            .draw(&area)
            .and_then(|()| area.present().map_err(|e| e.to_string()))
            .map_err(|reason| ReportError::Drawing { figure: self.name.to_owned(), reason })
    }
}
