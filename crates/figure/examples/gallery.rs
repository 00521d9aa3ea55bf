//! Draws every kind of figure into a folder, light and dark, to be looked at:
//! `cargo run -p superpose-figure --example gallery -- FOLDER`.

use std::error::Error;
use std::path::PathBuf;

use superpose_figure::{Axis, Bars, Cell, Chart, Figure, Region, Series, Theme};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give a folder")?);
    std::fs::create_dir_all(&folder)?;
    let figures = [
        ("accuracy", accuracy()),
        ("scaling", scaling()),
        ("phase", phase()),
        ("bars", bars()),
        ("multiples", multiples()),
        ("edges", edges()),
    ];
    for (name, figure) in figures {
        for (theme, word) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
            std::fs::write(folder.join(format!("{name}-{word}.svg")), figure.svg(theme))?;
            std::fs::write(folder.join(format!("{name}-{word}.png")), figure.png(theme, 2.0)?)?;
        }
    }
    Ok(())
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `count` values from `low` to `high` in equal ratios.
fn geometric(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> + Clone {
    (0..count).map(move |i| low * (high / low).powf(i as f64 / (count - 1) as f64))
}

/// A number between -1 and 1 that looks random.
fn jitter(i: usize) -> f64 {
    ((i * 7919 + 13) % 101) as f64 / 50.5 - 1.0
}

fn accuracy() -> Figure {
    let curve = |n: f64| sigmoid(1.8 * (n / 9000.0).ln());
    let measured = geometric(600.0, 120_000.0, 11).enumerate().map(|(i, n)| {
        let mean = (curve(n) + 0.03 * jitter(i)).clamp(0.0, 1.0);
        (n, mean, (mean - 0.05).max(0.0), (mean + 0.05).min(1.0))
    });
    let predicted = || geometric(500.0, 150_000.0, 120).map(move |n| (n, curve(n)));
    let chart = Chart::new(
        "Recall of V = 512 facts",
        Axis::log("samples N"),
        Axis::linear("accuracy").range(0.0, 1.0),
    )
    .with(Series::line("predicted", predicted()).color(0))
    .with(Series::points("measured", measured).color(1))
    .horizontal(0.5, "target 0.5")
    .mark(9000.0, 0.5, "critical N = 9,000");
    Figure::new().panel(chart)
}

fn scaling() -> Figure {
    let lengths = [16.0, 64.0, 256.0, 1024.0];
    let mut chart = Chart::new(
        "Critical number of samples, one step",
        Axis::log("dimension d").ticks([32.0, 64.0, 128.0, 256.0, 512.0]),
        Axis::log("critical samples N"),
    )
    .ordered();
    let law = |d: f64, l: f64| 2.0 * l * 512f64.powi(2) * 6.2 / (d * d) + 3000.0;
    for (k, &length) in lengths.iter().enumerate() {
        let name = format!("L = {length}");
        let measured = [32.0, 64.0, 128.0, 256.0, 512.0].into_iter().enumerate().map(move |(i, d)| {
            let n = law(d, length) * (0.12 * jitter(i + 5 * k)).exp();
            (d, n, n / 1.2, n * 1.2)
        });
        chart = chart
            .points(&name, measured)
            .line(&name, geometric(28.0, 580.0, 60).map(|d| (d, law(d, length))));
    }
    let collapse = Chart::new(
        "Data collapse",
        Axis::log("N d^{2} / (2 L V^{2} log V)"),
        Axis::linear("one-step accuracy").range(0.0, 1.0),
    )
    .ordered();
    let collapse = lengths.iter().enumerate().fold(collapse, |chart, (k, length)| {
        let points = geometric(0.02, 30.0, 12).enumerate().map(move |(i, x)| {
            let y = (sigmoid(1.9 * x.ln()) + 0.025 * jitter(i + 31 * k)).clamp(0.0, 1.0);
            (x, y, (y - 0.03).max(0.0), (y + 0.03).min(1.0))
        });
        chart.points(format!("L = {length}"), points)
    });
    let collapse = collapse.with(
        Series::line("predicted", geometric(0.015, 40.0, 100).map(|x| (x, sigmoid(1.9 * x.ln())))).muted(),
    );
    Figure::new()
        .panel(chart)
        .panel(collapse)
        .note("Points: measured, with 95% intervals over seeds. Lines: closed form, no fitted constants.")
}

fn phase() -> Figure {
    let (xs, ys): (Vec<f64>, Vec<f64>) =
        (geometric(16.0, 512.0, 25).collect(), geometric(100.0, 1e6, 21).collect());
    let middle = |a: f64, b: f64| (a * b).sqrt();
    let boundary = |d: f64| 4e7 / (d * d) + 900.0;
    let mut cells = Vec::new();
    let mut regions = Vec::new();
    for (i, x) in xs.windows(2).enumerate() {
        for (j, y) in ys.windows(2).enumerate() {
            let (d, n) = (middle(x[0], x[1]), middle(y[0], y[1]));
            let value = sigmoid(2.2 * (n / boundary(d)).ln());
            let unknown = i > 21 && j < 2;
            // A refined corner: four cells in place of one.
            if value > 0.1 && value < 0.9 {
                for (x0, x1) in [(x[0], d), (d, x[1])] {
                    for (y0, y1) in [(y[0], n), (n, y[1])] {
                        let v = sigmoid(2.2 * (middle(y0, y1) / boundary(middle(x0, x1))).ln());
                        cells.push(Cell::new((x0, x1), (y0, y1), v));
                    }
                }
            } else {
                cells.push(Cell::new((x[0], x[1]), (y[0], y[1]), (!unknown).then_some(value)));
            }
            let category = match (d < 70.0, n < 4000.0) {
                (true, false) => 0,
                (_, true) if n < 900.0 => 2,
                (true, true) => 1,
                (false, _) if n / d < 200.0 => 1,
                _ => 0,
            };
            regions.push(Region::new((x[0], x[1]), (y[0], y[1]), category));
        }
    }
    let names = ["interference", "mean bias", "gradient noise"];
    let (x, y) = (|| Axis::log("dimension d"), || Axis::log("samples N"));
    let line = || geometric(16.0, 512.0, 80).map(|d| (d, boundary(d)));
    let dots =
        [32.0, 64.0, 128.0, 256.0].map(|d| (d, 0.9 * boundary(d), 0.7 * boundary(d), 1.15 * boundary(d)));
    Figure::new()
        .title("Phase diagram, V = 512, L = 16")
        .panel(
            Chart::new("Recall accuracy", x(), y())
                .cells("accuracy", cells.clone())
                .line("predicted, one half", line())
                .points("measured, one half", dots),
        )
        .panel(
            Chart::new("Dominant noise", x(), y())
                .regions(names, regions.clone())
                .line("accuracy one half", line()),
        )
        .panel(
            Chart::new("Both", x(), y())
                .cells("accuracy", cells)
                .regions(names, regions)
                .line("predicted, one half", line()),
        )
        .note("Cells near the boundary are refined. Grey cells were not measured.")
}

fn bars() -> Figure {
    let names = ["interference", "mean bias", "output overlap", "gradient noise", "attention leak"];
    let measured = [
        (0.274, 0.26, 0.29),
        (0.192, 0.17, 0.21),
        (0.087, 0.083, 0.091),
        (0.024, 0.02, 0.03),
        (0.001, 0.0, 0.002),
    ];
    let predicted = [0.268, 0.199, 0.088, 0.022, f64::NAN];
    let panel = |axis: Axis, title: &str| {
        Bars::new(title, axis, names).series("measured", measured).series("predicted", predicted)
    };
    Figure::new()
        .panel(panel(Axis::linear("standard deviation divided by the signal"), "Noise in the logits"))
        .panel(panel(Axis::log("standard deviation divided by the signal"), "On a logarithmic axis"))
}

fn multiples() -> Figure {
    let mut figure = Figure::new().frames(200.0, 150.0).title("Lock rate by length of the sequence");
    for (k, length) in [16, 64, 256, 1024, 4096, 16384].into_iter().enumerate() {
        let curve = move |n: f64| sigmoid(1.5 * (n / (300.0 * 4f64.powi(k as i32))).ln());
        let points = geometric(100.0, 1e7, 9).enumerate().map(move |(i, n)| {
            let y = (curve(n) + 0.02 * jitter(i + k)).clamp(0.0, 1.0);
            (n, y, (y - 0.06).max(0.0), (y + 0.06).min(1.0))
        });
        figure = figure.panel(
            Chart::new(
                format!("L = {length}"),
                Axis::log("samples N"),
                Axis::linear("lock rate").range(0.0, 1.0),
            )
            .points(if k == 0 { "measured" } else { "" }, points)
            .with(
                Series::line(
                    if k == 0 { "predicted" } else { "" },
                    geometric(100.0, 1e7, 80).map(move |n| (n, curve(n))),
                )
                .color(1),
            ),
        );
    }
    figure
}

fn edges() -> Figure {
    let many = (0..8).fold(
        Chart::new(
            "More series than colours, and a title long enough to need a second line",
            Axis::linear("step"),
            Axis::linear("loss (nats)"),
        ),
        |chart, k| {
            chart.line(
                format!("optimiser number {k}"),
                (0..40).map(move |i| (f64::from(i), 6.0 * (-0.02 * f64::from(i * (k + 1))).exp())),
            )
        },
    );
    let wild = [(1.0, 2.0), (f64::NAN, 1.0), (2.0, f64::INFINITY), (-3.0, 1.0), (4.0, 9.0)];
    Figure::new()
        .columns(3)
        .panel(many)
        .panel(
            Chart::new("Nothing to show", Axis::log("samples N"), Axis::linear("accuracy"))
                .points("none", [(f64::NAN, 1.0)]),
        )
        .panel(
            Chart::new("Values without a place", Axis::log("x & <y>"), Axis::log("a \"b\""))
                .points("wild", wild)
                .line("wild", wild),
        )
        .panel(
            Chart::new("One point", Axis::log("samples N"), Axis::linear("accuracy"))
                .points("alone", [(1e9, 0.5, 0.4, 0.6)]),
        )
        .panel(
            Chart::new("Large numbers", Axis::log("samples N"), Axis::linear("parameters P"))
                .line("", geometric(1e2, 1e15, 30).map(|n| (n, 1e8 * n.ln())))
                .vertical(1e9, "data at hand")
                .mark(1e5, 2.4e9, "extrapolated"),
        )
        .panel(
            Chart::new("Narrow range", Axis::log("dimension d"), Axis::linear("accuracy"))
                .points("", (0..9).map(|i| (130.0 + 5.0 * f64::from(i), 0.991 + 0.001 * f64::from(i)))),
        )
}
