//! How long an inspection takes, before it is made.

/// A multiply-add inside the products of an inspection, in seconds of one thread; measured on a matrix of 150,000 x 4,096.
const FMA: f64 = 3.6e-11;
/// Columns whose overlaps take as long as those of the chosen rows with all others.
const PAIRS: f64 = 2048.0;

/// Seconds that the inspection of a matrix takes on one thread, roughly: overlaps of all columns, and of some rows with all
/// others. Beside an output matrix both take their time.
pub fn seconds(rows: usize, columns: usize) -> f64 {
    let (rows, columns) = (rows as f64, columns as f64);
    FMA * rows * columns * (columns + PAIRS)
}
