//! Structural similarity of two pictures of 8 bits a channel (Wang et al. 2004, eq. 13, with `K1 = 0.01`, `K2 = 0.03` and a
//! range of 255), as `structural_similarity` of scikit-image computes it: over the windows that are inside the picture,
//! averaged over their positions, then over the channels.
//!
//! Two windows are in use, and their values differ in the second digit: a uniform square (scikit-image's default, 7 pixels
//! wide, with sample covariances) and the Gaussian of the paper (deviation 1.5, 11 pixels wide, with plain covariances).

use crate::error::StatsError;

/// Channels of a pixel.
const N_CHANNELS: usize = 3;
/// `(K1 L)^2`, which keeps the comparison of means finite.
const C1: f64 = (0.01 * 255.0) * (0.01 * 255.0);
/// `(K2 L)^2`, which keeps the comparison of variances finite.
const C2: f64 = (0.03 * 255.0) * (0.03 * 255.0);
/// The Gaussian is cut at this many deviations, as in scikit-image.
const TRUNCATE: f64 = 3.5;

/// Over what means, variances and covariances are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SsimWindow {
    /// A square of equal weights; variances and covariances are divided by `n - 1`.
    Uniform {
        /// Pixels along an edge, odd and at least 3.
        side: usize,
    },
    /// A Gaussian that is cut at 3.5 deviations; variances and covariances are those of the weights.
    Gaussian {
        /// Its standard deviation in pixels, above 0.
        deviation: f64,
    },
}

impl SsimWindow {
    /// Pixels along an edge.
    #[must_use]
    pub fn side(self) -> usize {
        match self {
            Self::Uniform { side } => side,
            Self::Gaussian { deviation } => 2 * (TRUNCATE * deviation + 0.5) as usize + 1,
        }
    }

    /// Whether there is such a window.
    ///
    /// # Errors
    /// An even or smaller edge than 3; a deviation that is not a number above 0.
    pub fn check(self) -> Result<(), StatsError> {
        let (value, is_good, range) = match self {
            Self::Uniform { side } => (side as f64, side % 2 == 1 && side >= 3, "an odd number from 3 on"),
            Self::Gaussian { deviation } => {
                (deviation, deviation.is_finite() && deviation > 0.0, "a number above 0")
            }
        };
        if is_good {
            Ok(())
        } else {
            Err(StatsError::OutOfRange { what: "window of SSIM", at: 0, value, range })
        }
    }
}

/// A picture: `[height, width, 3]` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Pixels<'a> {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The bytes, row by row, the channels of a pixel side by side.
    pub rgb: &'a [u8],
}

impl Pixels<'_> {
    fn check(&self, expected: usize) -> Result<(), StatsError> {
        if self.rgb.len() == expected {
            return Ok(());
        }
        Err(StatsError::WrongSize { what: "bytes of a picture", expected, found: self.rgb.len() })
    }

    fn channel(&self, channel: usize) -> Vec<u8> {
        self.rgb[channel..].iter().step_by(N_CHANNELS).copied().collect()
    }
}

/// Returns the similarity of two pictures, in `(-1, 1]`; 1 for equal ones.
///
/// # Errors
/// Pictures of different sizes, or smaller than the window; an impossible window.
pub fn ssim(a: Pixels<'_>, b: Pixels<'_>, window: SsimWindow) -> Result<f64, StatsError> {
    window.check()?;
    for (what, expected, found) in
        [("pixels in a row", a.width, b.width), ("rows of pixels", a.height, b.height)]
    {
        if expected != found {
            return Err(StatsError::WrongSize { what, expected, found });
        }
    }
    let side = window.side();
    if a.width.min(a.height) < side {
        let why = format!("a window is {side}x{side} pixels, the pictures are {}x{}", a.width, a.height);
        return Err(StatsError::Inconsistent { what: "SSIM", why });
    }
    let n_bytes = a.width * a.height * N_CHANNELS;
    a.check(n_bytes)?;
    b.check(n_bytes)?;
    let of_channel = |channel| {
        let (a_plane, b_plane) = (a.channel(channel), b.channel(channel));
        match window {
            SsimWindow::Uniform { side } => uniform(&a_plane, &b_plane, a.width, side),
            SsimWindow::Gaussian { deviation } => gaussian(&a_plane, &b_plane, a.width, deviation, side),
        }
    };
    Ok((0..N_CHANNELS).map(of_channel).sum::<f64>() / N_CHANNELS as f64)
}

/// Means, variances and covariance of a window.
struct Local {
    means: [f64; 2],
    variances: [f64; 2],
    covariance: f64,
}

impl Local {
    /// Equation 13.
    fn similarity(&self) -> f64 {
        let ([x, y], [xx, yy]) = (self.means, self.variances);
        let above = (2.0 * x * y + C1) * (2.0 * self.covariance + C2);
        above / ((x * x + y * y + C1) * (xx + yy + C2))
    }
}

/// Sums over the pixels of a column or window: of `a`, `b`, `a^2`, `b^2` and `a b`. They are exact.
type Sums = [u64; 5];

fn products(a: u8, b: u8) -> Sums {
    let (a, b) = (u64::from(a), u64::from(b));
    [a, b, a * a, b * b, a * b]
}

/// Mean similarity over all squares of `side` pixels in planes of `width` pixels a row.
fn uniform(a: &[u8], b: &[u8], width: usize, side: usize) -> f64 {
    let height = a.len() / width;
    let at = |row: usize, column: usize| products(a[row * width + column], b[row * width + column]);
    let mut columns: Vec<Sums> = vec![[0; 5]; width];
    let mut total = 0.0;
    for row in 0..height {
        for (column, sums) in columns.iter_mut().enumerate() {
            add(sums, &at(row, column));
            if row >= side {
                take(sums, &at(row - side, column));
            }
        }
        if row + 1 < side {
            continue;
        }
        let mut window: Sums = [0; 5];
        for column in 0..width {
            add(&mut window, &columns[column]);
            if column >= side {
                take(&mut window, &columns[column - side]);
            }
            if column + 1 >= side {
                total += of_sums(&window, (side * side) as u64).similarity();
            }
        }
    }
    total / ((width - side + 1) * (height - side + 1)) as f64
}

fn add(sums: &mut Sums, more: &Sums) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

fn take(sums: &mut Sums, less: &Sums) {
    sums.iter_mut().zip(less).for_each(|(sum, less)| *sum -= less);
}

/// Variances and covariance with divisor `n - 1`; each is a quotient of whole numbers.
fn of_sums(&[a, b, aa, bb, ab]: &Sums, n: u64) -> Local {
    let below = (n * (n - 1)) as f64;
    // n aa >= a^2, by Cauchy and Schwarz; the covariance may be negative.
    let covariance = (n * ab) as f64 - (a * b) as f64;
    Local {
        means: [a, b].map(|sum| sum as f64 / n as f64),
        variances: [(n * aa - a * a) as f64 / below, (n * bb - b * b) as f64 / below],
        covariance: covariance / below,
    }
}

/// Mean similarity over all places at which the cut Gaussian of `side` pixels is inside the planes.
fn gaussian(a: &[u8], b: &[u8], width: usize, deviation: f64, side: usize) -> f64 {
    let radius = (side / 2) as f64;
    let weights: Vec<f64> =
        (0..side).map(|at| (-0.5 * ((at as f64 - radius) / deviation).powi(2)).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let weights: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    let all: Vec<Sums> = a.iter().zip(b).map(|(&a, &b)| products(a, b)).collect();
    let n_columns = width - side + 1;
    let across: Vec<[f64; 5]> = all
        .chunks_exact(width)
        .flat_map(|row| row.windows(side).map(|window| weighted(&weights, window.iter(), |sum| *sum as f64)))
        .collect();
    let n_rows = across.len() / n_columns - side + 1;
    let mut total = 0.0;
    for row in 0..n_rows {
        for column in 0..n_columns {
            let below = across[row * n_columns + column..].iter().step_by(n_columns).take(side);
            let [x, y, xx, yy, xy] = weighted(&weights, below, |sum| *sum);
            let local = Local { means: [x, y], variances: [xx - x * x, yy - y * y], covariance: xy - x * y };
            total += local.similarity();
        }
    }
    total / (n_rows * n_columns) as f64
}

/// Weighted sums of five quantities each.
fn weighted<'v, T: 'v>(
    weights: &[f64],
    values: impl Iterator<Item = &'v [T; 5]>,
    number: impl Fn(&T) -> f64,
) -> [f64; 5] {
    let mut sums = [0.0; 5];
    for (weight, values) in weights.iter().zip(values) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += weight * number(value);
        }
    }
    sums
}
