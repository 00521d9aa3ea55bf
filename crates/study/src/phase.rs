//! Part 4. Phase diagram of the attention-MLP model: parameters m d against samples, partitioned by the dominant noise term.

use serde::{Deserialize, Serialize};
use superpose_core::config::{Activation, Config};
use superpose_core::{Measure, Settings};
use superpose_theory::critical::Parameter;

use super::finding::LEVEL;
use super::{Part, Study, StudyError};
use superpose_lab::phase::{Axis, Diagram, Request, Scale as AxisScale, Size};
use superpose_lab::threshold::estimates;

/// A phase diagram and its model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MlpPhase {
    /// The model; width and samples vary.
    pub config: Settings,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The diagram: parameters `m d` across, samples upwards.
    pub diagram: Diagram,
    /// Rms difference of measured and predicted accuracy over the measured cells.
    pub rms: f64,
}

pub fn run(study: &mut Study<'_, '_>) -> Result<MlpPhase, StudyError> {
    let scale = study.scale;
    let (vocab, dim) = scale.pick((128, 48), (256, 64), (512, 96));
    let settings = study.settings(Part::Phase, 0, [vocab, dim, 4]);
    let config = Settings { width: Some(256), activation: Activation::He2, ..settings }.check()?;
    let count = scale.pick(24, 32, 48);
    let (widest, most) = scale.pick((512, 1 << 13), (1024, 1 << 15), (4096, 1 << 17));
    let (d, width) = (dim as u64, 8);
    let x = Axis::new(Size::Parameters, AxisScale::Log, d * width, d * widest, count)?.at_dim(dim);
    let y = Axis::new(Size::One(Parameter::Samples), AxisScale::Log, (vocab / 2) as u64, most, count)?;
    let measure = Measure::Accuracy;
    let request = Request {
        config,
        x,
        y,
        measure,
        level: LEVEL,
        repeats: scale.pick(4, 4, 6),
        max_cells: count * count / 4,
        tolerance: 0.02,
        trust: true,
        rows: None,
    };
    (study.say)("phase diagram of the attention-MLP model");
    let run = |cells: &[Config]| estimates(study.runner, cells, measure, &mut *study.observe);
    let diagram = request.map(study.backend.threads(), run)?;
    let measured = diagram.cells.iter().filter(|cell| cell.measured);
    let squares: Vec<f64> =
        measured.filter_map(|cell| Some((cell.value - cell.predicted?).powi(2))).collect();
    let rms = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
    Ok(MlpPhase { config: (*request.config).clone(), x: request.x, y: request.y, diagram, rms })
}
