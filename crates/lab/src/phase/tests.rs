use superpose_theory::critical::Parameter;
use superpose_theory::noise::Term;
use superpose_theory::predict::Part;

use super::*;
use crate::normal::cdf as normal_cdf;

/// A diagonal boundary without a prediction, with a right one and with a wrong one: few cells are measured, the rest is accurate.
#[test]
fn smooth_map_is_interpolated() {
    let (columns, rows) = (30, 30);
    let truth = |c: usize, r: usize| {
        0.97 * normal_cdf(0.35 * (c as f64 + r as f64 - 28.0) + 0.1 * (c as f64 / 9.0).sin())
    };
    for (offset, max) in [(None, 225), (Some(0.0), 120), (Some(1.2), 225)] {
        let predicted = match offset {
            None => Vec::new(),
            Some(offset) => (0..columns * rows)
                .map(|i| normal_cdf(0.35 * ((i % columns) as f64 + (i / columns) as f64 - 28.0) + offset))
                .collect(),
        };
        let mut refine = Refine::new(columns, rows, predicted, max, 0.01);
        while let Some(wanted) = refine.ask() {
            wanted.iter().for_each(|&(c, r)| refine.tell(c, r, truth(c, r), 2000.0));
        }
        assert!(refine.measured() <= max);
        let wrong = |&(i, m): &(usize, (f64, bool))| (m.0 - truth(i % columns, i / columns)).abs() > 0.05;
        let off = refine.map().into_iter().enumerate().filter(wrong).count();
        assert!(off < 20, "{offset:?}: {off} cells are off, {} measured", refine.measured());
    }
}

#[test]
fn refinement_ends_for_arbitrary_accuracies() {
    for (columns, rows, max) in [(1, 1, 1), (2, 7, 3), (5, 5, 25), (9, 4, 0), (12, 12, 500)] {
        let mut refine = Refine::new(columns, rows, Vec::new(), max, 0.0);
        let mut told = 0;
        while let Some(wanted) = refine.ask() {
            for (c, r) in wanted {
                told += 1;
                let wild = if told % 3 == 0 { f64::NAN } else { f64::from(told % 2) };
                refine.tell(c, r, wild, 1.0);
            }
        }
        assert!(refine.measured() <= max);
        assert!(refine.map().iter().all(|cell| (0.0..=1.0).contains(&cell.0)));
    }
}

#[test]
fn boundary_of_a_plane_is_a_line() {
    let xs: Vec<f64> = (0..12).map(|i| 2_f64.powi(i)).collect();
    let values: Vec<f64> =
        (0..144).map(|i| normal_cdf(0.3 * ((i % 12) as f64 + (i / 12) as f64 - 11.3))).collect();
    let lines = boundary(&xs, &xs, &values, 0.5);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].len() > 20);
    for &(x, y) in &lines[0] {
        assert!((x.log2() + y.log2() - 11.3).abs() < 1e-6, "{x} {y}");
    }
    assert!(boundary(&xs, &xs, &values, 0.9999).is_empty());
}

#[test]
fn shares_count_cells_below_the_level() {
    let of = |part, term| Some(Dominant { part, term });
    let cell = |value, dominant| Cell {
        x: 1,
        y: 1,
        value,
        measured: false,
        low: None,
        high: None,
        predicted: None,
        dominant,
    };
    let coverage = of(Part::Memory, Term::Coverage);
    let (memory, attention) = (of(Part::Memory, Term::Interference), of(Part::Attention, Term::Interference));
    let mut cells = vec![cell(0.1, memory), cell(0.49, None), cell(0.5, coverage), cell(0.9, coverage)];
    cells.extend([cell(0.2, attention); 3]);
    let (boundary, predicted_boundary) = (Vec::new(), Vec::new());
    let diagram =
        Diagram { columns: vec![1], rows: vec![1], cells, measured: 0, boundary, predicted_boundary };
    assert_eq!(diagram.shares(0.5), [(attention.unwrap(), 0.75), (memory.unwrap(), 0.25)]);
    assert!(diagram.shares(0.1).is_empty());
}

/// The kernel is chosen from a subset of the cells.
#[test]
fn large_map_is_interpolated() {
    let side = 46;
    let truth = |c: usize, r: usize| normal_cdf(0.2 * (c as f64 + r as f64 - 44.0));
    let measured: Vec<field::Measured> = (0..side * side)
        .filter(|i| i % 3 == 0)
        .map(|i| (i % side, i / side))
        .map(|(column, row)| field::Measured { column, row, accuracy: truth(column, row), items: 2000.0 })
        .collect();
    assert!(measured.len() > 400);
    let beliefs = field::fill(side, side, &[], &measured);
    let off = |(i, belief): (usize, &field::Belief)| (belief.accuracy - truth(i % side, i / side)).abs();
    assert!(beliefs.iter().enumerate().map(off).fold(0.0, f64::max) < 0.03);
}

#[test]
fn axis_values_are_whole_and_within_the_range() {
    let axis =
        |size, scale, low, high, count| Axis::new(size, scale, low, high, count).map(|axis| axis.values());
    let dim = Size::One(Parameter::Dim);
    assert_eq!(axis(dim, Scale::Linear, 2, 10, 5), Ok(vec![2, 4, 6, 8, 10]));
    assert_eq!(axis(dim, Scale::Log, 1, 4, 40), Ok(vec![1, 2, 3, 4]));
    assert!(axis(dim, Scale::Log, 4, 4, 40).is_err() && axis(dim, Scale::Log, 0, 4, 40).is_err());
    assert!(axis(dim, Scale::Log, 1, 4, 1).is_err());
    let max = MAX_VALUES as u64;
    assert_eq!(axis(dim, Scale::Linear, 1, max, MAX_VALUES).map(|values| values.len()), Ok(MAX_VALUES));
    let error = Axis::new(dim, Scale::Log, 1, 4000, 200).unwrap_err().to_string();
    assert_eq!(error, "resolution = 200: must be a whole number from 2 to 80");
    let parameters = Axis::new(Size::Parameters, Scale::Log, 1000, 64_000, 4).unwrap().at_dim(32);
    assert!(parameters.values().iter().all(|v| v % 32 == 0));
    assert_eq!("parameters".parse(), Ok(Size::Parameters));
    assert!("wit".parse::<Size>().is_err());
}
