//! Pearson's chi-square test with pooled rare cells, and its p-value.

/// Outcome of one test.
#[derive(Debug)]
pub(crate) struct ChiSquare {
    pub(crate) statistic: f64,
    pub(crate) df: usize,
    /// Chance of a statistic at least this large if the counts follow the distribution. 0 if a sample fell into a
    /// cell of probability zero.
    pub(crate) p_value: f64,
}

/// Tests `counts` against `distribution`. Cells with an expectation below 5 are pooled into one.
pub(crate) fn chi_square(counts: &[u64], distribution: &[f64]) -> ChiSquare {
    assert_eq!(counts.len(), distribution.len());
    let n = counts.iter().sum::<u64>() as f64;
    let impossible = counts.iter().zip(distribution).any(|(&count, &mass)| mass == 0.0 && 0 < count);
    let mut pooled = (0.0, 0.0);
    let mut cells = Vec::new();
    for (&count, &mass) in counts.iter().zip(distribution) {
        let expected = n * mass;
        if expected < 5.0 {
            pooled = (pooled.0 + count as f64, pooled.1 + expected);
        } else {
            cells.push((count as f64, expected));
        }
    }
    if 0.0 < pooled.1 {
        cells.push(pooled);
    }
    let statistic = cells.iter().map(|&(count, expected)| (count - expected).powi(2) / expected).sum();
    let df = cells.len() - 1;
    let p_value = if impossible { 0.0 } else { upper_gamma(df as f64 / 2.0, statistic / 2.0) };
    ChiSquare { statistic, df, p_value }
}

/// Regularised upper incomplete gamma function `Q(a, x)` (Abramowitz and Stegun 6.5): series below
/// `x = a + 1`, Lentz's continued fraction above.
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut sum = term;
        let mut n = a;
        while term.abs() > sum.abs() * 1e-16 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return 1.0 - front * sum;
    }
    let mut b = x + 1.0 - a;
    let mut c = 1e300;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// Stirling's series after shifting the argument above 30, where its next term is below 1e-16.
fn ln_gamma(mut a: f64) -> f64 {
    let mut shift = 0.0;
    while a < 30.0 {
        shift += a.ln();
        a += 1.0;
    }
    let series = 1.0 / (12.0 * a) - 1.0 / (360.0 * a.powi(3)) + 1.0 / (1260.0 * a.powi(5))
        - 1.0 / (1680.0 * a.powi(7));
    (a - 0.5) * a.ln() - a + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

#[test]
fn p_values_equal_the_tables() {
    // Critical values of the chi-square distribution (Abramowitz and Stegun, table 26.8).
    for (df, statistic, p) in
        [(1, 3.84146, 0.05), (10, 18.3070, 0.05), (30, 50.8922, 0.01), (100, 149.449, 0.001)]
    {
        let found = upper_gamma(f64::from(df) / 2.0, statistic / 2.0);
        assert!((found - p).abs() < 2e-5 * p.sqrt(), "df {df}: expected {p}, found {found}");
    }
    assert!((upper_gamma(1.0, 2.0) - (-2.0_f64).exp()).abs() < 1e-13);
    assert!((upper_gamma(1.0, 0.5) - (-0.5_f64).exp()).abs() < 1e-13);
}

#[test]
fn rare_cells_are_pooled_and_impossible_ones_fail() {
    let distribution = [0.5, 0.49, 0.004, 0.006, 0.0];
    let fine = chi_square(&[500, 490, 4, 6, 0], &distribution);
    assert_eq!((fine.df, fine.statistic, fine.p_value), (3, 0.0, 1.0));
    assert_eq!(chi_square(&[500, 490, 4, 5, 1], &distribution).p_value, 0.0);
}
