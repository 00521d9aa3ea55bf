//! PNG from SVG with the bundled font alone, so that the bytes are the same on every machine.

use resvg::{tiny_skia, usvg};

/// Largest side of a PNG in pixels.
const MAX_SIDE: f64 = 16_384.0;

/// Why a figure could not be rendered as PNG.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain variants and fields.
pub enum PngError {
    #[error(
        "scale = {scale}: must be above 0 and give sides of 1 to 16,384 pixels; the figure is {width} x {height}"
    )]
    Scale { scale: f64, width: f64, height: f64 },
    #[error("the SVG cannot be rendered")]
    Drawing(#[from] usvg::Error),
    #[error("the PNG cannot be encoded: {0}")]
    Encoding(String),
}

/// Renders an SVG with `scale` pixels per pixel of the SVG.
pub(crate) fn render(svg: &str, scale: f64) -> Result<Vec<u8>, PngError> {
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(include_bytes!("../fonts/FigureSans-Regular.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../fonts/FigureSans-Bold.ttf").to_vec());
    fonts.set_sans_serif_family("Figure Sans");
    let tree = usvg::Tree::from_str(svg, &options)?;
    let (width, height) = (f64::from(tree.size().width()), f64::from(tree.size().height()));
    let sides = [width, height].map(|side| (side * scale).round());
    let refused = || PngError::Scale { scale, width, height };
    if !sides.iter().all(|side| (1.0..=MAX_SIDE).contains(side)) {
        return Err(refused());
    }
    let mut pixels = tiny_skia::Pixmap::new(sides[0] as u32, sides[1] as u32).ok_or_else(refused)?;
    let transform = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}
