//! Pictures a CPU-second on one thread: decoding a 640x480 JPEG, each resampling of it, and both together.
//!
//! Run with `cargo bench -p specimen-pixels [-- FOLDER]`, on Linux, over the JPEGs of FOLDER or over one made here.
//! CPU time is that of the thread as the kernel counts it, so a busy machine disturbs little; the first line says
//! whether the decoder has SIMD.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;

use specimen_pixels::resample::{Filter, PassOrder, pil_f32, pil_u8, tf1, torch};
use specimen_pixels::source::Content;
use specimen_pixels::{Image, Source, decode, simd_jpeg};

const SIDE: usize = 299;
const N_AT_LEAST: usize = 200;

fn main() {
    let files = match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(folder) => files_of(Path::new(&folder)),
        None => vec![noise_jpeg()],
    };
    let images: Vec<Image> = files.iter().map(|file| decode(file).expect("the files are pictures")).collect();
    println!("{} file(s), SIMD in the JPEG decoder: {}", files.len(), simd_jpeg());
    bench("decode", &files, |file| drop(black_box(decode(file))));
    bench("pil-f32 bicubic 299 (clean)", &images, |image| {
        drop(black_box(pil_f32::resize(image, SIDE, SIDE, Filter::Bicubic, PassOrder::Pillow12)));
    });
    bench("pil-u8 bicubic 299", &images, |image| {
        drop(black_box(pil_u8::resize(image, SIDE, SIDE, Filter::Bicubic, PassOrder::Pillow12)));
    });
    bench("pil-u8 lanczos 299", &images, |image| {
        drop(black_box(pil_u8::resize(image, SIDE, SIDE, Filter::Lanczos, PassOrder::Pillow12)));
    });
    bench("torch bilinear 299", &images, |image| {
        drop(black_box(torch::bilinear(&image.to_float(), SIDE, SIDE, false)));
    });
    bench("torch bilinear antialias 299", &images, |image| {
        drop(black_box(torch::bilinear_antialias(&image.to_float(), SIDE, SIDE)));
    });
    bench("tf1 bilinear 299", &images, |image| {
        drop(black_box(tf1::bilinear(&image.to_float(), SIDE, SIDE)));
    });
    bench("decode + pil-f32 bicubic 299 (clean)", &files, |file| {
        let image = decode(file).expect("the files are pictures");
        drop(black_box(pil_f32::resize(&image, SIDE, SIDE, Filter::Bicubic, PassOrder::Pillow12)));
    });
}

fn bench<T>(name: &str, items: &[T], work: impl Fn(&T)) {
    items.iter().take(3).for_each(&work);
    let n_rounds = N_AT_LEAST.div_ceil(items.len());
    let start = cpu_ns();
    for _ in 0..n_rounds {
        items.iter().for_each(&work);
    }
    let n_per_s = (n_rounds * items.len()) as f64 / (cpu_ns() - start) as f64 * 1e9;
    println!("{name:40} {n_per_s:9.1} images/CPU-s");
}

/// Nanoseconds that this thread has been on a CPU.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts them");
    let first = text.split_whitespace().next().expect("the file has three numbers");
    first.parse().expect("the first of them is the time")
}

fn files_of(folder: &Path) -> Vec<Vec<u8>> {
    let source = Source::open(folder).expect("the folder has images");
    let contents = (0..source.keys().len()).map(|idx| source.read(idx).expect("the files can be read"));
    let encoded = contents.filter_map(|content| match content {
        Content::Encoded(bytes) => Some(bytes),
        Content::Pixels(_) => None,
    });
    encoded.collect()
}

/// A picture with the detail of a photo: smooth colours and a little noise.
fn noise_jpeg() -> Vec<u8> {
    let picture = image::RgbImage::from_fn(640, 480, |x, y| {
        let noise =
            (x.wrapping_mul(0x9e37_79b9) ^ y.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35) >> 27;
        let wave = |period: f32| 127.5 + 90.0 * ((x as f32 + 0.7 * y as f32) / period).sin();
        image::Rgb([17.0, 41.0, 5.0].map(|period| (wave(period) + noise as f32).clamp(0.0, 255.0) as u8))
    });
    let mut bytes = Cursor::new(Vec::new());
    let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 92);
    picture.write_with_encoder(encoder).expect("memory takes the picture");
    bytes.into_inner()
}
