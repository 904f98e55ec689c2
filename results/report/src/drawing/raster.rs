//! Pixels: a canvas with properly spaced text, and a plotters backend that draws on it at a multiple of
//! the figure's size. Coordinates stay those of the SVG, so both forms of a figure have one layout; the
//! surplus of pixels is averaged away and leaves smooth edges.

use ab_glyph::{Font, ScaleFont, point};
use image::RgbImage;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontStyle,
    FontTransform, rasterizer,
};

use crate::ReportError;
use crate::drawing::font::{SIZE_PER_EM, X_HEIGHT, face, scale, width};

/// A white canvas of RGB pixels.
pub(crate) struct Canvas {
    pub(crate) pixels: RgbImage,
}

/// A line of text.
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    pub(crate) em: f64,
    pub(crate) bold: bool,
    pub(crate) color: (u8, u8, u8),
}

impl Canvas {
    pub(crate) fn new(width: u32, height: u32) -> Canvas {
        Canvas { pixels: RgbImage::from_pixel(width, height, image::Rgb([255; 3])) }
    }

    /// Mixes a colour into a pixel; outside the canvas nothing happens.
    fn blend(&mut self, x: i32, y: i32, color: (u8, u8, u8), alpha: f64) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
        let Some(pixel) = self.pixels.get_pixel_mut_checked(x, y) else { return };
        for (old, new) in pixel.0.iter_mut().zip([color.0, color.1, color.2]) {
            *old = (f64::from(*old) * (1.0 - alpha) + f64::from(new) * alpha).round() as u8;
        }
    }

    /// Draws text whose baseline starts at `x`, `y`.
    pub(crate) fn text(&mut self, x: f64, y: f64, text: &Text<'_>) {
        self.turned_text(x, y, 0.0, 0.0, text, 1.0, &FontTransform::None);
    }

    /// Draws text that starts `dx`, `dy` from a pivot and is turned about it.
    #[allow(clippy::too_many_arguments)] // One call site; a struct would only rename them.
    fn turned_text(
        &mut self,
        x: f64,
        y: f64,
        dx: f64,
        dy: f64,
        text: &Text<'_>,
        alpha: f64,
        turn: &FontTransform,
    ) {
        let scale = scale(text.bold, text.em);
        let font = face(text.bold).as_scaled(scale);
        let mut pen = dx as f32;
        let mut previous = None;
        for c in text.text.chars() {
            let id = font.glyph_id(c);
            if let Some(previous) = previous {
                pen += font.kern(previous, id);
            }
            let glyph = id.with_scale_and_position(scale, point(pen, dy as f32));
            if let Some(outline) = face(text.bold).outline_glyph(glyph) {
                let bounds = outline.px_bounds();
                outline.draw(|gx, gy, coverage| {
                    let at = (gx as i32 + bounds.min.x as i32, gy as i32 + bounds.min.y as i32);
                    let (tx, ty) = turn.transform(at.0, at.1);
                    let coverage = f64::from(coverage.clamp(0.0, 1.0)) * alpha;
                    self.blend(x.round() as i32 + tx, y.round() as i32 + ty, text.color, coverage);
                });
            }
            pen += font.h_advance(id);
            previous = Some(id);
        }
    }

    /// Each square of `factor` x `factor` pixels averaged into one.
    pub(crate) fn averaged(&self, factor: u32) -> Canvas {
        let (width, height) = (self.pixels.width() / factor, self.pixels.height() / factor);
        let mut small = Canvas::new(width, height);
        for (x, y, pixel) in small.pixels.enumerate_pixels_mut() {
            let mut sums = [0_u32; 3];
            for (dx, dy) in (0..factor).flat_map(|dy| (0..factor).map(move |dx| (dx, dy))) {
                let source = self.pixels.get_pixel(x * factor + dx, y * factor + dy);
                sums.iter_mut().zip(source.0).for_each(|(sum, value)| *sum += u32::from(value));
            }
            let n = factor * factor;
            pixel.0 = sums.map(|sum| u8::try_from((sum + n / 2) / n).expect("a mean of bytes is a byte"));
        }
        small
    }

    /// The canvas as a PNG file, which says its width on paper, in millimetres.
    pub(crate) fn png(&self, figure: &str, width_mm: f64) -> Result<Vec<u8>, ReportError> {
        let (width, height) = self.pixels.dimensions();
        let mut info = png::Info::with_size(width, height);
        info.color_type = png::ColorType::Rgb;
        let per_metre = (1000.0 * f64::from(width) / width_mm).round() as u32;
        info.pixel_dims =
            Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit: png::Unit::Meter });
        let mut bytes = Vec::new();
        let written = png::Encoder::with_info(&mut bytes, info)
            .and_then(png::Encoder::write_header)
            .and_then(|mut writer| writer.write_image_data(self.pixels.as_raw()));
        written.map_err(|error| crate::error::drawing(figure, error))?;
        Ok(bytes)
    }
}

/// Nothing can go wrong on a canvas.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Never {}

/// The canvas at its own size: one pixel is one pixel.
struct Fine<'a>(&'a mut Canvas);

impl DrawingBackend for Fine<'_> {
    type ErrorType = Never;

    fn get_size(&self) -> (u32, u32) {
        self.0.pixels.dimensions()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Never>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Never>> {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<Never>> {
        self.0.blend(at.0, at.1, color.rgb, color.alpha);
        Ok(())
    }
}

/// A backend whose unit is `factor` pixels of the canvas.
pub(crate) struct Enlarged<'a> {
    pub(crate) canvas: &'a mut Canvas,
    pub(crate) factor: u32,
}

/// A style with its stroke enlarged.
struct Stroke {
    color: BackendColor,
    width: u32,
}

impl BackendStyle for Stroke {
    fn color(&self) -> BackendColor {
        self.color
    }

    fn stroke_width(&self) -> u32 {
        self.width
    }
}

impl Enlarged<'_> {
    fn point(&self, (x, y): BackendCoord) -> BackendCoord {
        let factor = self.factor.cast_signed();
        (x * factor + factor / 2, y * factor + factor / 2)
    }

    fn stroke<S: BackendStyle>(&self, style: &S) -> Stroke {
        Stroke { color: style.color(), width: style.stroke_width() * self.factor }
    }
}

impl DrawingBackend for Enlarged<'_> {
    type ErrorType = Never;

    fn get_size(&self) -> (u32, u32) {
        let (width, height) = self.canvas.pixels.dimensions();
        (width / self.factor, height / self.factor)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Never>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Never>> {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<Never>> {
        self.draw_rect(at, at, &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Never>> {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<Never>> {
        if !fill {
            let (a, b) = (upper_left, bottom_right);
            return self.draw_path([a, (b.0, a.1), b, (a.0, b.1), a], style);
        }
        let last = self.factor.cast_signed() - 1;
        let (a, b) = (self.point(upper_left), self.point(bottom_right));
        let half = self.factor.cast_signed() / 2;
        let (a, b) = ((a.0 - half, a.1 - half), (b.0 - half + last, b.1 - half + last));
        rasterizer::draw_rect(&mut Fine(self.canvas), a, b, &style.color(), true)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Never>> {
        let points: Vec<_> = path.into_iter().map(|at| self.point(at)).collect();
        let stroke = self.stroke(style);
        Fine(self.canvas).draw_path(points, &stroke)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<Never>> {
        let (center, stroke) = (self.point(center), self.stroke(style));
        rasterizer::draw_circle(&mut Fine(self.canvas), center, radius * self.factor, &stroke, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Never>> {
        let corners: Vec<_> = corners.into_iter().map(|at| self.point(at)).collect();
        rasterizer::fill_polygon(&mut Fine(self.canvas), &corners, &style.color())
    }

    /// Places text as the SVG backend does: by its baseline, a fixed part of an em from the anchor.
    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Never>> {
        let em = style.size() / SIZE_PER_EM * f64::from(self.factor);
        let bold = matches!(style.style(), FontStyle::Bold);
        let dx = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => -width(text, em, bold) / 2.0,
            HPos::Right => -width(text, em, bold),
        };
        let dy = match style.anchor().v_pos {
            VPos::Top => 0.76 * em,
            VPos::Center => X_HEIGHT / 2.0 * em,
            VPos::Bottom => -X_HEIGHT / 2.0 * em,
        };
        let (x, y) = self.point(at);
        let BackendColor { alpha, rgb } = style.color();
        let line = Text { text, em, bold, color: rgb };
        self.canvas.turned_text(f64::from(x), f64::from(y), dx, dy, &line, alpha, &style.transform());
        Ok(())
    }
}
