use super::*;
use crate::threshold::normal_cdf;

/// A boundary along a diagonal, with and without a prediction, and with one that is wrong by a factor: few cells are measured, and the rest is right.
#[test]
fn a_smooth_map_is_filled_in() {
    let (columns, rows) = (30, 30);
    let truth = |c: usize, r: usize| {
        0.97 * normal_cdf(0.35 * (c as f64 + r as f64 - 28.0) + 0.1 * (c as f64 / 9.0).sin())
    };
    for (offset, most) in [(None, 225), (Some(0.0), 120), (Some(1.2), 225)] {
        let predicted = match offset {
            None => Vec::new(),
            Some(offset) => (0..columns * rows)
                .map(|i| normal_cdf(0.35 * ((i % columns) as f64 + (i / columns) as f64 - 28.0) + offset))
                .collect(),
        };
        let mut refine = Refine::new(columns, rows, predicted, most, 0.01);
        loop {
            let wanted = refine.ask();
            if wanted.is_empty() {
                break;
            }
            wanted.iter().for_each(|&(c, r)| refine.tell(c, r, truth(c, r), 2000.0));
        }
        assert!(refine.measured() <= most);
        let map = refine.map();
        let off = map
            .iter()
            .enumerate()
            .filter(|(i, m)| (m.0 - truth(i % columns, i / columns)).abs() > 0.05)
            .count();
        assert!(off < 20, "{offset:?}: {off} cells are off, {} measured", refine.measured());
    }
}

#[test]
fn any_answers_end() {
    for (columns, rows, most) in [(1, 1, 1), (2, 7, 3), (5, 5, 25), (9, 4, 0), (12, 12, 500)] {
        let mut refine = Refine::new(columns, rows, Vec::new(), most, 0.0);
        let mut told = 0;
        loop {
            let wanted = refine.ask();
            if wanted.is_empty() {
                break;
            }
            for (c, r) in wanted {
                told += 1;
                let wild = if told % 3 == 0 { f64::NAN } else { f64::from(told % 2) };
                refine.tell(c, r, wild, 1.0);
            }
        }
        assert!(refine.measured() <= most);
        assert!(refine.map().iter().all(|cell| (0.0..=1.0).contains(&cell.0)));
    }
}

#[test]
fn the_boundary_of_a_plane_is_a_line() {
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
fn axes_are_whole_and_within() {
    let axis =
        |size, scale, low, high, count| Axis::new(size, scale, low, high, count).map(|axis| axis.values());
    let dim = Size::One(Parameter::Dim);
    assert_eq!(axis(dim, Scale::Linear, 2, 10, 5), Ok(vec![2, 4, 6, 8, 10]));
    assert_eq!(axis(dim, Scale::Log, 1, 4, 40), Ok(vec![1, 2, 3, 4]));
    assert!(axis(dim, Scale::Log, 4, 4, 40).is_err() && axis(dim, Scale::Log, 0, 4, 40).is_err());
    assert!(axis(dim, Scale::Log, 1, 4, 1).is_err());
    let parameters = Axis::new(Size::Parameters, Scale::Log, 1000, 64_000, 4).unwrap().at_dim(32);
    assert!(parameters.values().iter().all(|v| v % 32 == 0));
    assert_eq!("parameters".parse(), Ok(Size::Parameters));
    assert!("wit".parse::<Size>().is_err());
}
