//! A figure as a PDF page of its physical size: a plotters backend that writes paths, and text in the embedded font,
//! of which the file holds the letters it uses. Text stays text, so it can be searched and passes the checks of
//! publishers, which refuse fonts of type 3. Of the crates that turn SVG into PDF each brings a whole SVG renderer;
//! the calls of a figure are eight.

use std::collections::BTreeMap;
use std::io::Write;

use ab_glyph::{Font, ScaleFont};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontStyle,
};
use subsetter::GlyphRemapper;

use crate::ReportError;
use crate::drawing::font::{SIZE_PER_EM, X_HEIGHT, bytes, face, scale, width};
use crate::drawing::raster::Never;

/// Points in a millimetre.
const POINTS_PER_MM: f64 = 72.0 / 25.4;

/// A quarter of a circle as a cubic curve: distance of its control points for a radius of 1.
const ARC: f32 = 0.552_284_8;

/// The letters of one face that a page uses.
#[derive(Default)]
struct Face {
    glyphs: GlyphRemapper,
    /// Number in the subset, and the letter.
    letters: BTreeMap<u16, char>,
}

/// A page under way. Its unit is that of the figure, with the origin at the upper left.
pub(crate) struct Page {
    size: (u32, u32),
    content: Content,
    /// Regular and bold.
    faces: [Face; 2],
    /// Opacities in percent that need a state of their own.
    opacities: Vec<u8>,
}

impl Page {
    pub(crate) fn new(size: (u32, u32)) -> Page {
        let mut content = Content::new();
        // Up is up in a PDF; figures count from the top.
        content.transform([1.0, 0.0, 0.0, -1.0, 0.0, size.1 as f32]);
        Page { size, content, faces: Default::default(), opacities: Vec::new() }
    }

    /// The file, so many millimetres wide.
    pub(crate) fn into_pdf(self, width_mm: f64, figure: &str) -> Result<Vec<u8>, ReportError> {
        let bad = |reason: String| crate::error::drawing(figure, reason);
        let factor = width_mm * POINTS_PER_MM / f64::from(self.size.0);
        let media = Rect::new(
            0.0,
            0.0,
            (f64::from(self.size.0) * factor) as f32,
            (f64::from(self.size.1) * factor) as f32,
        );
        let mut pdf = Pdf::new();
        let [catalog, pages, page, drawing] = [1, 2, 3, 4].map(Ref::new);
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        let font = |at: usize| Ref::new(10 + 10 * i32::try_from(at).expect("there are two faces"));
        let used: Vec<usize> = (0..2).filter(|&at| !self.faces[at].letters.is_empty()).collect();
        {
            let mut page = pdf.page(page);
            page.parent(pages).media_box(media).contents(drawing);
            let mut resources = page.resources();
            let mut fonts = resources.fonts();
            for &at in &used {
                fonts.pair(Name(font_name(at)), font(at));
            }
            fonts.finish();
            let mut states = resources.ext_g_states();
            for percent in &self.opacities {
                let share = f32::from(*percent) / 100.0;
                let mut state = states
                    .insert(Name(state_name(*percent).as_bytes()))
                    .start::<pdf_writer::writers::ExtGraphicsState<'_>>();
                state.stroking_alpha(share).non_stroking_alpha(share);
            }
        }
        let mut content = Content::new();
        content.transform([factor as f32, 0.0, 0.0, factor as f32, 0.0, 0.0]);
        let mut all = content.finish().to_vec();
        all.push(b'\n');
        all.extend_from_slice(&self.content.finish());
        let packed = deflated(&all);
        pdf.stream(drawing, &packed).filter(Filter::FlateDecode);
        for at in used {
            self.faces[at].write(&mut pdf, at, font(at)).map_err(&bad)?;
        }
        Ok(pdf.finish())
    }

    /// Opacity and the colours that follow.
    fn paint(&mut self, color: BackendColor) {
        let percent = (color.alpha * 100.0).round().clamp(0.0, 100.0) as u8;
        // The state of a page begins opaque, and each call restores it.
        if percent < 100 {
            if !self.opacities.contains(&percent) {
                self.opacities.push(percent);
            }
            self.content.set_parameters(Name(state_name(percent).as_bytes()));
        }
        let (r, g, b) = color.rgb;
        let [r, g, b] = [r, g, b].map(|part| f32::from(part) / 255.0);
        self.content.set_fill_rgb(r, g, b).set_stroke_rgb(r, g, b);
    }

    /// Something in a colour, drawn by `what`; nothing where it cannot be seen.
    fn painted(&mut self, color: BackendColor, what: impl FnOnce(&mut Content)) {
        if color.alpha == 0.0 {
            return;
        }
        self.content.save_state();
        self.paint(color);
        what(&mut self.content);
        self.content.restore_state();
    }
}

type Nothing = Result<(), DrawingErrorKind<Never>>;

/// The page as plotters draws on it.
pub(crate) struct OnPage<'p>(pub(crate) &'p mut Page);

impl DrawingBackend for OnPage<'_> {
    type ErrorType = Never;

    fn get_size(&self) -> (u32, u32) {
        self.0.size
    }

    fn ensure_prepared(&mut self) -> Nothing {
        Ok(())
    }

    fn present(&mut self) -> Nothing {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Nothing {
        self.0.painted(color, |content| {
            content.rect(x as f32, y as f32, 1.0, 1.0).fill_nonzero();
        });
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Nothing {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Nothing {
        let wide = style.stroke_width() as f32;
        self.0.painted(style.color(), |content| {
            content.set_line_width(wide).rect(x as f32, y as f32, (right - x) as f32, (bottom - y) as f32);
            if fill {
                content.fill_nonzero()
            } else {
                content.stroke()
            };
        });
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Nothing {
        let wide = style.stroke_width() as f32;
        self.0.painted(style.color(), |content| {
            content.set_line_width(wide);
            trace(content, path);
            content.stroke();
        });
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Nothing {
        let (x, y, r, wide) = (x as f32, y as f32, radius as f32, style.stroke_width() as f32);
        self.0.painted(style.color(), |content| {
            let k = ARC * r;
            content
                .set_line_width(wide)
                .move_to(x + r, y)
                .cubic_to(x + r, y + k, x + k, y + r, x, y + r)
                .cubic_to(x - k, y + r, x - r, y + k, x - r, y)
                .cubic_to(x - r, y - k, x - k, y - r, x, y - r)
                .cubic_to(x + k, y - r, x + r, y - k, x + r, y)
                .close_path();
            if fill {
                content.fill_nonzero()
            } else {
                content.stroke()
            };
        });
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Nothing {
        self.0.painted(style.color(), |content| {
            trace(content, corners);
            content.close_path().fill_nonzero();
        });
        Ok(())
    }

    /// Places text as the canvas of pixels does. No figure turns its text.
    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Nothing {
        let em = style.size() / SIZE_PER_EM;
        let is_bold = matches!(style.style(), FontStyle::Bold);
        let at = usize::from(is_bold);
        let dx = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => -width(text, em, is_bold) / 2.0,
            HPos::Right => -width(text, em, is_bold),
        };
        let dy = match style.anchor().v_pos {
            VPos::Top => 0.76 * em,
            VPos::Center => X_HEIGHT / 2.0 * em,
            VPos::Bottom => -X_HEIGHT / 2.0 * em,
        };
        let runs = self.0.faces[at].runs(text, is_bold);
        let (x, y) = ((f64::from(x) + dx) as f32, (f64::from(y) + dy) as f32);
        self.0.painted(style.color(), |content| {
            content.begin_text().set_font(Name(font_name(at)), em as f32);
            content.set_text_matrix([1.0, 0.0, 0.0, -1.0, x, y]);
            {
                let mut shown = content.show_positioned();
                let mut items = shown.items();
                for (adjust, glyphs) in &runs {
                    if *adjust != 0.0 {
                        items.adjust(*adjust);
                    }
                    items.show(Str(glyphs));
                }
            }
            content.end_text();
        });
        Ok(())
    }
}

impl Face {
    /// A line as runs of glyphs, each with the shift before it in thousandths of an em; kerning breaks a run.
    fn runs(&mut self, text: &str, is_bold: bool) -> Vec<(f32, Vec<u8>)> {
        let font = face(is_bold).as_scaled(scale(is_bold, 1000.0));
        let mut runs: Vec<(f32, Vec<u8>)> = Vec::new();
        let mut previous = None;
        for c in text.chars() {
            let id = font.glyph_id(c);
            let kern = previous.map_or(0.0, |previous| font.kern(previous, id));
            let glyph = self.glyphs.remap(id.0);
            self.letters.entry(glyph).or_insert(c);
            if runs.is_empty() || kern != 0.0 {
                runs.push((-kern, Vec::new()));
            }
            runs.last_mut().expect("there is a run").1.extend_from_slice(&glyph.to_be_bytes());
            previous = Some(id);
        }
        runs
    }

    /// The font's objects, from `id` on.
    fn write(&self, pdf: &mut Pdf, at: usize, id: Ref) -> Result<(), String> {
        let is_bold = at == 1;
        let file = subsetter::subset(bytes(is_bold), 0, &self.glyphs).map_err(|error| error.to_string())?;
        let next = |n: i32| Ref::new(id.get() + n);
        let [cid, descriptor, data, letters] = [1, 2, 3, 4].map(next);
        let name: &[u8] = if is_bold { b"SPCMNB+DejaVuSans-Bold" } else { b"SPCMNR+DejaVuSans" };
        let system = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
        pdf.type0_font(id)
            .base_font(Name(name))
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(cid)
            .to_unicode(letters);
        let font = face(is_bold).as_scaled(scale(is_bold, 1000.0));
        let widths = self.glyphs.remapped_gids().map(|gid| font.h_advance(ab_glyph::GlyphId(gid)));
        let mut cid_font = pdf.cid_font(cid);
        cid_font.subtype(CidFontType::Type2).base_font(Name(name)).system_info(system);
        cid_font.font_descriptor(descriptor).default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
        cid_font.widths().consecutive(0, widths);
        cid_font.finish();
        pdf.font_descriptor(descriptor)
            .name(Name(name))
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(-1021.0, -463.0, 1793.0, 1232.0))
            .italic_angle(0.0)
            .ascent(928.0)
            .descent(-236.0)
            .cap_height(729.0)
            .stem_v(if is_bold { 160.0 } else { 90.0 })
            .font_file2(data);
        let packed = deflated(&file);
        let n = i32::try_from(file.len()).map_err(|error| error.to_string())?;
        pdf.stream(data, &packed).filter(Filter::FlateDecode).pair(Name(b"Length1"), n);
        let mut map = UnicodeCmap::<u16>::new(Name(b"Letters"), system);
        for (glyph, letter) in &self.letters {
            map.pair(*glyph, *letter);
        }
        let packed = deflated(&map.finish());
        pdf.stream(letters, &packed).filter(Filter::FlateDecode);
        Ok(())
    }
}

fn trace(content: &mut Content, path: impl IntoIterator<Item = BackendCoord>) {
    for (at, (x, y)) in path.into_iter().enumerate() {
        let (x, y) = (x as f32, y as f32);
        if at == 0 {
            content.move_to(x, y)
        } else {
            content.line_to(x, y)
        };
    }
}

const fn font_name(at: usize) -> &'static [u8] {
    if at == 0 { b"R" } else { b"B" }
}

fn state_name(percent: u8) -> String {
    format!("O{percent}")
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory cannot fail")
}
