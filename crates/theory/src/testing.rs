//! Random numbers and grids for tests that compare a formula with a simulation or a slow sum.

pub use superpose_core::numeric::dot;

/// A small random number generator (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    /// Uniform on (0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 12) as f64 / (1u64 << 52) as f64 + 1e-17
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A row of normal numbers of the given variance.
    pub fn row(&mut self, length: usize, variance: f64) -> Vec<f64> {
        (0..length).map(|_| variance.sqrt() * self.normal()).collect()
    }
}

/// A row scaled to length 1.
pub fn unit_length(mut row: Vec<f64>) -> Vec<f64> {
    let scale = dot(&row, &row).sqrt().recip();
    row.iter_mut().for_each(|x| *x *= scale);
    row
}

/// A fine grid for `chi-square_freedom / freedom`, regular in the logarithm.
pub fn chi_square_grid(freedom: f64, points: usize) -> Vec<(f64, f64)> {
    let reach = 9.0 * (2.0 / freedom).sqrt();
    let low = -reach * (1.0 + 20.0 / freedom);
    let grid: Vec<(f64, f64)> = (0..points)
        .map(|i| low + (reach - low) * i as f64 / (points - 1) as f64)
        .map(|x| (x.exp(), (0.5 * freedom * (x - x.exp_m1())).exp()))
        .collect();
    let total: f64 = grid.iter().map(|p| p.1).sum();
    grid.into_iter().map(|(x, weight)| (x, weight / total)).collect()
}
