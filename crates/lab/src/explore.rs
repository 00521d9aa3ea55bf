//! A phase map in closed form, as fast as a slider moves: accuracy over two sizes, its boundary, and what limits recall in every cell.

use serde::Serialize;
use superpose_core::config::{Config, ConfigError, EmbeddingSettings, Settings, share};
use superpose_theory::Point;
use superpose_theory::predict::{Dominant, uncovered};

use crate::cell;
use crate::phase::{Axis, Size, Span, apart, boundary, closed_form};

/// The same with embeddings that any dimension has.
fn fitting(settings: Settings) -> Settings {
    match settings.embedding {
        EmbeddingSettings::Orthonormal => Settings { embedding: EmbeddingSettings::Gaussian, ..settings },
        _ => settings,
    }
}

/// What to map.
#[derive(Clone, Debug)]
pub struct Explore {
    settings: Settings,
    /// Checked as if the embeddings were Gaussian: whether orthonormal vectors fit is asked of each cell.
    config: Config,
    x: Axis,
    y: Axis,
    level: f64,
}

/// One axis of a map.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Line {
    /// What varies.
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
    /// Accuracy by cell, to four digits; none where there is no such model. Absent where the theory is silent.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub accuracy: Option<Vec<Option<f64>>>,
    /// What limits recall by cell, as a place in `dominants`; -1: nothing.
    #[schemars(inner(range(min = -1)))]
    pub dominant: Vec<i8>,
    /// What limits recall somewhere on the map.
    pub dominants: Vec<Dominant>,
    /// The line at the level, in pieces of (x, y).
    pub boundary: Vec<Vec<(f64, f64)>>,
    /// The level of the line.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub level: f64,
    /// Why the theory is silent.
    pub gap: Option<&'static str>,
}

impl Explore {
    /// Checks what is asked. The settings' own values of the two sizes are not used.
    pub fn new(
        settings: Settings,
        x: Span,
        y: Span,
        resolution: usize,
        level: f64,
    ) -> Result<Explore, ConfigError> {
        apart(x.size, y.size)?;
        share("accuracy", level)?;
        let config = fitting(settings.clone()).check()?;
        cell::check(&config.repeat(0))?;
        let axis = |span: Span| {
            let axis = Axis::new(span.size, span.scale, span.low, span.high, resolution)?;
            Ok::<_, ConfigError>(axis.at_dim(config.dim))
        };
        let asked = Explore { x: axis(x)?, y: axis(y)?, level, settings, config };
        for x in asked.x.ends() {
            for y in asked.y.ends() {
                fitting(asked.at(x, y)).check()?;
            }
        }
        Ok(asked)
    }

    fn at(&self, x: u64, y: u64) -> Settings {
        let mut settings = self.settings.clone();
        self.x.size.set(&mut settings, x);
        self.y.size.set(&mut settings, y);
        settings
    }

    /// Makes the map.
    pub fn map(&self, threads: usize) -> Map {
        let line = |axis: &Axis| Line { size: axis.size, symbol: axis.size.symbol(), values: axis.values() };
        let (x, y) = (line(&self.x), line(&self.y));
        let mut map = Map {
            accuracy: None,
            dominant: vec![-1; x.values.len() * y.values.len()],
            dominants: Vec::new(),
            boundary: Vec::new(),
            level: self.level,
            gap: uncovered(&self.config).map(|reason| reason.text()),
            x,
            y,
        };
        if map.gap.is_none() {
            self.fill(&mut map, threads);
        }
        map
    }

    fn fill(&self, map: &mut Map, threads: usize) {
        let (values, dominant) = closed_form(&Point::from(&self.settings), &self.x, &self.y, threads);
        let columns = map.x.values.len();
        let real = |line: &Line| line.values.iter().map(|&v| v as f64).collect::<Vec<_>>();
        map.boundary = boundary(&real(&map.x), &real(&map.y), &values, self.level);
        let there = |i: usize| {
            let cell = self.at(map.x.values[i % columns], map.y.values[i / columns]);
            cell.embedding != EmbeddingSettings::Orthonormal || cell.dim >= cell.token_count() + 2
        };
        let digits = |x: f64| (x * 1e4).round() / 1e4;
        map.accuracy = Some(values.iter().enumerate().map(|(i, &x)| there(i).then(|| digits(x))).collect());
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
