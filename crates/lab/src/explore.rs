//! A phase map in closed form, fast enough to follow a slider: accuracy over two sizes, its boundary and the limiting noise terms.

use serde::Serialize;
use superpose_core::Measure;
use superpose_core::config::{Config, ConfigError, EmbeddingSettings, Settings, share};
use superpose_theory::Point;
use superpose_theory::plan::{Validated, validated};
use superpose_theory::predict::{Dominant, uncovered};

use crate::cell;
use crate::phase::{Axis, Size, Span, boundary, check_independent, closed_form};

/// Returns the settings with Gaussian instead of orthonormal embeddings, which exist at any dimension.
fn with_any_dim(settings: Settings) -> Settings {
    match settings.embedding {
        EmbeddingSettings::Orthonormal => Settings { embedding: EmbeddingSettings::Gaussian, ..settings },
        _ => settings,
    }
}

/// A validated map to compute.
#[derive(Clone, Debug)]
pub struct Explore {
    settings: Settings,
    /// Validated with Gaussian embeddings, because whether orthonormal vectors fit depends on the cell.
    config: Config,
    x: Axis,
    y: Axis,
    level: f64,
}

/// One axis of a map.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Line {
    /// The size that varies.
    pub size: Size,
    /// Its symbol.
    pub symbol: &'static str,
    /// Its values.
    #[schemars(inner(range(min = 1)))]
    pub values: Vec<u64>,
}

/// A map in closed form. Cells are row by row, from the smallest value of the vertical axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Map {
    /// The horizontal axis.
    pub x: Line,
    /// The vertical axis.
    pub y: Line,
    /// Accuracy of each cell, to four digits; `None` where the model cannot exist. Absent if the theory does not cover the settings.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub accuracy: Option<Vec<Option<f64>>>,
    /// Limiting noise term of each cell, as an index into `dominants`; -1 for none.
    #[schemars(inner(range(min = -1)))]
    pub dominant: Vec<i8>,
    /// The limiting noise terms of all cells, each once.
    pub dominants: Vec<Dominant>,
    /// The line at the level, in pieces of (x, y).
    pub boundary: Vec<Vec<(f64, f64)>>,
    /// The level of the line.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub level: f64,
    /// The part of each axis, horizontal and vertical, on which the formulas were validated by simulation; absent if they were
    /// validated nowhere on the map.
    pub checked: Option<[[u64; 2]; 2]>,
    /// Why the theory does not cover the settings.
    pub gap: Option<&'static str>,
}

impl Explore {
    /// Validates a map. The settings' own values of the two sizes only choose the validated range that the map shows.
    ///
    /// # Errors
    /// Fails if a value is out of range; the error names the parameter.
    pub fn new(
        settings: Settings,
        x: Span,
        y: Span,
        resolution: usize,
        level: f64,
    ) -> Result<Explore, ConfigError> {
        check_independent(x.size, y.size)?;
        share("accuracy", level)?;
        let config = with_any_dim(settings.clone()).check()?;
        cell::check_no_files(&config)?;
        cell::check(&config.repeat(0))?;
        let axis = |Span { size, scale, low, high }: Span| {
            Axis::new(size, scale, low, high, resolution).map(|axis| axis.at_dim(config.dim))
        };
        let explore = Explore { x: axis(x)?, y: axis(y)?, level, settings, config };
        for x in explore.x.ends() {
            for y in explore.y.ends() {
                with_any_dim(explore.at(x, y)).check()?;
            }
        }
        Ok(explore)
    }

    fn at(&self, x: u64, y: u64) -> Settings {
        let mut settings = self.settings.clone();
        self.x.size.set(&mut settings, x);
        self.y.size.set(&mut settings, y);
        settings
    }

    /// Computes the map.
    pub fn map(&self, threads: usize) -> Map {
        let line = |axis: &Axis| Line { size: axis.size, symbol: axis.size.symbol(), values: axis.values() };
        let (x, y) = (line(&self.x), line(&self.y));
        let mut map = Map {
            accuracy: None,
            dominant: vec![-1; x.values.len() * y.values.len()],
            dominants: Vec::new(),
            boundary: Vec::new(),
            level: self.level,
            checked: self.checked(&x.values, &y.values),
            gap: uncovered(&self.config, Measure::Accuracy).map(|reason| reason.text()),
            x,
            y,
        };
        if map.gap.is_none() {
            self.fill(&mut map, threads);
        }
        map
    }

    /// The validated part of each axis: that of the range, a box, that holds the given sizes, or else of one that the map shows.
    fn checked(&self, columns: &[u64], rows: &[u64]) -> Option<[[u64; 2]; 2]> {
        let range = |x: u64, y: u64| validated(&Point::from(&self.at(x, y))).ok();
        let cells = || columns.iter().flat_map(|&x| rows.iter().map(move |&y| (x, y)));
        let here = validated(&Point::from(&self.settings)).ok();
        let of =
            |wanted: &Validated| cells().find(|&(x, y)| range(x, y).is_some_and(|found| found == wanted));
        let (x, y) = here.and_then(of).or_else(|| cells().find(|&(x, y)| range(x, y).is_some()))?;
        let wanted = range(x, y)?;
        let ends = |values: &[u64], inside: &dyn Fn(u64) -> bool| {
            let found = || values.iter().copied().filter(|&value| inside(value));
            Some([found().min()?, found().max()?])
        };
        let inside = |x, y| range(x, y).is_some_and(|found| found == wanted);
        Some([ends(columns, &|x| inside(x, y))?, ends(rows, &|y| inside(x, y))?])
    }

    fn fill(&self, map: &mut Map, threads: usize) {
        let (values, dominant) = closed_form(&Point::from(&self.settings), &self.x, &self.y, threads);
        let columns = map.x.values.len();
        let real = |line: &Line| line.values.iter().map(|&v| v as f64).collect::<Vec<_>>();
        map.boundary = boundary(&real(&map.x), &real(&map.y), &values, self.level);
        let any_dim = self.settings.embedding != EmbeddingSettings::Orthonormal;
        let fits = |cell: Settings| cell.dim >= cell.token_count() + 2;
        let exists =
            |i: usize| any_dim || fits(self.at(map.x.values[i % columns], map.y.values[i / columns]));
        let digits = |x: f64| (x * 1e4).round() / 1e4;
        map.accuracy = Some(values.iter().enumerate().map(|(i, &x)| exists(i).then(|| digits(x))).collect());
        for (i, dominant) in dominant.into_iter().enumerate() {
            let Some(dominant) = dominant else { continue };
            let place = map.dominants.iter().position(|known| *known == dominant).unwrap_or_else(|| {
                map.dominants.push(dominant);
                map.dominants.len() - 1
            });
            map.dominant[i] = place as i8;
        }
    }
}
