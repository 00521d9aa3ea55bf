//! Contour lines of a map by marching squares, interpolated in log size and probit accuracy.

use crate::normal;

/// Returns the line at `level` through `values`, which are given row by row over `xs` and `ys`, as connected pieces of (x, y).
pub fn boundary(xs: &[f64], ys: &[f64], values: &[f64], level: f64) -> Vec<Vec<(f64, f64)>> {
    let columns = xs.len();
    if columns < 2 || ys.len() < 2 || values.len() != columns * ys.len() {
        return Vec::new();
    }
    let probit = |share: f64| normal::probit(share, 1e-9);
    let goal = probit(level);
    let height = |c: usize, r: usize| {
        let above = probit(values[r * columns + c]) - goal;
        // Never exactly at the level, so that every edge is either crossed or not.
        if above == 0.0 { 1e-12 } else { above }
    };
    // An edge is identified by its lower left cell and whether it goes up.
    let point = |&(c, r, up): &(usize, usize, bool)| {
        let (c2, r2) = if up { (c, r + 1) } else { (c + 1, r) };
        let (a, b) = (height(c, r), height(c2, r2));
        let share = a / (a - b);
        let between = |p: f64, q: f64| libm::exp(libm::log(p) + share * (libm::log(q) - libm::log(p)));
        (between(xs[c], xs[c2]), between(ys[r], ys[r2]))
    };
    let mut segments: Vec<[(usize, usize, bool); 2]> = Vec::new();
    for r in 0..ys.len() - 1 {
        for c in 0..columns - 1 {
            let edges = [(c, r, false), (c + 1, r, true), (c, r + 1, false), (c, r, true)];
            let corners = [height(c, r), height(c + 1, r), height(c + 1, r + 1), height(c, r + 1)];
            let crossed: Vec<usize> =
                (0..4).filter(|&i| (corners[i] > 0.0) != (corners[(i + 1) % 4] > 0.0)).collect();
            match crossed[..] {
                [a, b] => segments.push([edges[a], edges[b]]),
                [..] if crossed.len() == 4 => {
                    let middle = corners.iter().sum::<f64>() > 0.0;
                    let (a, b) = if middle == (corners[0] > 0.0) { (1, 3) } else { (3, 1) };
                    segments.push([edges[0], edges[a]]);
                    segments.push([edges[2], edges[b]]);
                }
                _ => {}
            }
        }
    }
    join(segments).iter().map(|line| line.iter().map(point).collect()).collect()
}

/// Joins segments that share an end.
fn join<E: Copy + PartialEq>(mut segments: Vec<[E; 2]>) -> Vec<Vec<E>> {
    let mut lines = Vec::new();
    while let Some([first, second]) = segments.pop() {
        let mut line = std::collections::VecDeque::from([first, second]);
        let mut grown = true;
        while grown {
            grown = false;
            for i in 0..segments.len() {
                let [a, b] = segments[i];
                let (front, back) = (line[0], line[line.len() - 1]);
                if a == back {
                    line.push_back(b);
                } else if b == back {
                    line.push_back(a);
                } else if a == front {
                    line.push_front(b);
                } else if b == front {
                    line.push_front(a);
                } else {
                    continue;
                }
                segments.swap_remove(i);
                grown = true;
                break;
            }
        }
        lines.push(line.into());
    }
    lines
}
