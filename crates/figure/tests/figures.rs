//! Figures through the public interface: well-formed, deterministic, and robust against unusual data.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use superpose_figure::{Axis, Bar, Bars, Cell, Chart, Figure, PngError, Region, Series, Theme};

const UNUSUAL: [f64; 9] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e-300, f64::MAX, f64::MIN_POSITIVE, 3.0];

fn chart(log: bool) -> Chart {
    let axis = |label: &str| if log { Axis::log(label) } else { Axis::linear(label) };
    Chart::new("Recall", axis("samples N"), axis("accuracy"))
}

/// A figure that uses every feature.
fn everything() -> Figure {
    let rows = [(10.0, 0.2), (100.0, 0.6), (1000.0, 0.9)];
    let full = chart(true)
        .points("measured", rows.map(|(x, y)| (x, y, 0.9 * y, 1.1 * y)))
        .line("predicted", rows)
        .with(Series::line("bound", rows).dashed().muted())
        .horizontal(0.5, "half")
        .vertical(50.0, "data at hand")
        .mark(10.0, 0.3, "here")
        .mark(100.0, 0.6, "cheapest");
    let cell = |i: i32| ((f64::from(i), f64::from(i + 1)), (0.0, 1.0));
    let heat = chart(false)
        .cells(
            "accuracy",
            (0..4).map(|i| Cell::new(cell(i).0, cell(i).1, (i > 0).then_some(f64::from(i) / 3.0))),
        )
        .regions(
            ["mean bias", "interference"],
            (0..4).map(|i| Region::new(cell(i).0, cell(i).1, i as usize / 2)),
        )
        .line("one half", [(0.0, 0.0), (4.0, 1.0)]);
    let bars = Bars::new("Noise", Axis::linear("size"), ["a", "b"])
        .series("measured", [Bar::from((1.0, 0.9, 1.1)), Bar::from(f64::NAN)])
        .series("predicted", [1.0, 2.0, 3.0])
        .reference(1.0);
    Figure::new().title("All of it").note("A note.").columns(2).panel(full).panel(heat).panel(bars)
}

/// The SVG, after checks that every figure must pass.
fn checked(figure: &Figure) -> String {
    let svg = figure.svg(Theme::Light);
    assert_eq!(svg, figure.svg(Theme::Light), "not the same twice");
    for word in ["NaN", "inf", " id=\""] {
        assert!(!svg.contains(word), "{word} in {svg}");
    }
    let document = roxmltree::Document::parse(&svg).unwrap();
    let root = document.root_element();
    let side = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (side("width"), side("height"));
    assert!(width >= 100.0 && height > 0.0 && width < 1e5 && height < 1e5, "{width} {height}");
    assert_ne!(svg, figure.svg(Theme::Dark));
    svg
}

fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts
        .map(|node| node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect())
        .collect()
}

#[test]
fn every_label_is_drawn() {
    let svg = checked(&everything());
    let texts = texts(&svg);
    for word in [
        "All of it",
        "A note.",
        "Recall",
        "samples N",
        "accuracy",
        "measured",
        "predicted",
        "bound",
        "half",
        "data at hand",
        "here",
        "cheapest",
        "mean bias",
        "interference",
        "one half",
        "no value",
        "Noise",
        "size",
        "a",
    ] {
        assert!(texts.iter().any(|text| text == word), "{word} is not in {texts:?}");
    }
    // A circle for each measured point, one in the legend, and two rings.
    assert_eq!(svg.matches("<circle").count(), 6);
    assert_eq!(svg.matches("stroke-dasharray=\"6 4\"").count(), 2);
}

#[test]
fn every_text_is_inside_the_figure() {
    let svg = checked(&everything());
    let document = roxmltree::Document::parse(&svg).unwrap();
    let number = |text: &str| text.parse::<f64>().unwrap();
    let shift = |node: roxmltree::Node| {
        let transform = node.attribute("transform").unwrap_or("translate(0 0)");
        let inner = transform.trim_start_matches("translate(").split(')').next().unwrap().to_owned();
        let (x, y) = inner.split_once(' ').unwrap();
        (number(x), number(y))
    };
    let side = |name: &str| number(document.root_element().attribute(name).unwrap());
    for text in document.descendants().filter(|node| node.has_tag_name("text")) {
        let own = text
            .attribute("x")
            .map_or_else(|| shift(text), |x| (number(x), number(text.attribute("y").unwrap())));
        let moved = text.parent().map_or((0.0, 0.0), shift);
        let (x, y) = (own.0 + moved.0, own.1 + moved.1);
        assert!(x >= 0.0 && x <= side("width") && y >= 8.0 && y <= side("height") - 2.0, "{text:?} {x} {y}");
    }
}

#[test]
fn labels_are_escaped() {
    let name = "a < b & \"c\" > 'd' \u{1}";
    let svg = checked(
        &Figure::new().title(name).panel(chart(false).points(name, [(1.0, 1.0)]).mark(1.0, 1.0, name)),
    );
    let shown = "a < b & \"c\" > 'd'";
    assert_eq!(texts(&svg).iter().filter(|text| text.trim_end() == shown).count(), 3);
}

#[test]
fn series_of_one_name_have_one_legend_entry() {
    let rows = [(1.0, 1.0), (2.0, 2.0)];
    let svg = checked(
        &Figure::new().panel(chart(false).points("L = 16", rows).line("L = 16", rows).line("", rows)),
    );
    assert_eq!(texts(&svg).iter().filter(|text| *text == "L = 16").count(), 1);
    assert_eq!(svg.matches("#0072b2").count(), 6);
}

/// A page finds the points, not the marker of the legend.
#[test]
fn small_points_are_a_group() {
    let points = Series::points("run", [(0.5, 0.5), (1.5, 0.5)]).small();
    let svg = checked(&Figure::new().panel(chart(false).with(points)));
    let group = svg.split_once("<g class=\"points\">").unwrap().1;
    assert_eq!(group.split_once("</g>").unwrap().0.matches("<circle").count(), 2);
    assert_eq!(svg.matches("<circle").count(), 3);
}

/// The third series has triangles; small markers are circles both in the chart and in the legend.
#[test]
fn legend_shows_the_marker_of_the_chart() {
    let cells = [Cell::new((0.0, 1.0), (0.0, 1.0), 0.5), Cell::new((1.0, 2.0), (0.0, 1.0), 0.7)];
    let line = [(0.0, 0.0), (2.0, 1.0)];
    let circles = |small: bool| {
        let points = Series::points("run", [(0.5, 0.5), (1.5, 0.5)]);
        let points = if small { points.small() } else { points };
        let map = chart(false).cells("accuracy", cells).line("a", line).line("b", line).with(points);
        checked(&Figure::new().panel(map)).matches("<circle").count()
    };
    assert_eq!((circles(true), circles(false)), (3, 0));
}

#[test]
fn bars_have_reference_lines_inside_the_frame() {
    let lines = |bars: Bars| checked(&Figure::new().panel(bars)).matches("stroke-dasharray").count();
    let bars = || Bars::new("b", Axis::linear("ratio"), ["a"]).series("s", [2.0]);
    assert_eq!((lines(bars()), lines(bars().reference(1.0)), lines(bars().reference(5.0))), (0, 1, 1));
    assert_eq!(lines(bars().reference(f64::NAN)), 0);
}

#[test]
fn empty_panels_show_no_data() {
    let none = [(f64::NAN, 1.0), (1.0, f64::INFINITY), (-1.0, 1.0), (0.0, 0.0)];
    let panels: [superpose_figure::Panel; 5] = [
        chart(true).into(),
        chart(true).points("p", none).line("l", none).into(),
        chart(true).horizontal(0.5, "half").into(),
        Bars::new("b", Axis::linear("x"), ["a"]).series("s", [f64::NAN]).into(),
        Bars::new("b", Axis::log("x"), Vec::<String>::new()).series("s", [1.0]).into(),
    ];
    for panel in panels {
        let svg = checked(&Figure::new().panel(panel));
        assert!(texts(&svg).iter().any(|text| text == "no data"), "{svg}");
    }
    checked(&Figure::new());
}

#[test]
fn unusual_values_give_valid_figures() {
    for log in [false, true] {
        for a in UNUSUAL {
            for b in UNUSUAL {
                let figure = Figure::new()
                    .panel(
                        chart(log)
                            .points("p", [(a, b, b, a), (3.0, 4.0, a, b)])
                            .line("l", [(a, b), (1.0, 1.0), (b, a), (2.0, 5.0)])
                            .vertical(a, "v")
                            .horizontal(b, "h")
                            .mark(a, b, "n")
                            .mark(b, a, "m"),
                    )
                    .panel(
                        chart(log)
                            .cells("v", [Cell::new((a, b), (1.0, 2.0), a), Cell::new((1.0, 2.0), (b, a), b)])
                            .regions(
                                ["r"],
                                [Region::new((a, b), (b, a), 0), Region::new((1.0, 2.0), (1.0, 2.0), 9)],
                            )
                            .line("l", [(a, b), (b, a)]),
                    )
                    .panel(
                        Bars::new("", Axis::linear("x").range(a, b), ["n"])
                            .series("s", [(a, b, a), (b, a, b)]),
                    )
                    .frames(a, b);
                checked(&figure);
            }
        }
    }
}

#[test]
fn png_has_the_scaled_size() {
    for theme in [Theme::Light, Theme::Dark] {
        let figure = everything();
        let svg = figure.svg(theme);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let side = |name: &str| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
        for scale in [1.0, 1.5] {
            let png = figure.png(theme, scale).unwrap();
            assert_eq!(png, figure.png(theme, scale).unwrap());
            let picture = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
            assert_eq!(f64::from(picture.width()), (side("width") * scale).round());
            assert_eq!(f64::from(picture.height()), (side("height") * scale).round());
        }
    }
}

#[test]
fn png_uses_the_bundled_font() {
    let picture = |label: &str| {
        let chart = Chart::new(label, Axis::linear(""), Axis::linear("")).points("", [(1.0, 1.0)]);
        Figure::new().panel(chart).png(Theme::Light, 1.0).unwrap()
    };
    assert_ne!(picture("words"), picture("sword"));
}

#[test]
fn invalid_scales_are_refused() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let refused = everything().png(Theme::Light, scale);
        assert!(matches!(refused, Err(PngError::Scale { .. })), "{scale}");
    }
}

proptest! {
    #[test]
    fn any_data_on_any_axes_gives_a_valid_figure(
        rows in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), any::<f64>()), 0..12),
        name in ".{0,40}",
        x_log: bool,
        y_log: bool,
    ) {
        let axis = |log: bool| if log { Axis::log(&name) } else { Axis::linear(&name) };
        let chart = Chart::new(&name, axis(x_log), axis(y_log))
            .points(&name, rows.clone())
            .line("l", rows.iter().map(|row| (row.0, row.1)));
        let heat = Chart::new("", axis(x_log), axis(y_log))
            .cells(&name, rows.iter().map(|row| Cell::new((row.0, row.1), (row.2, row.3), row.0)))
            .regions([&name], rows.iter().map(|row| Region::new((row.0, row.1), (row.2, row.3), 0)));
        checked(&Figure::new().panel(chart).panel(heat));
    }
}
