//! PNG from SVG, with the bundled font alone: the same bytes on every machine.

use resvg::{tiny_skia, usvg};

/// Largest side of a PNG in pixels.
const MOST: f64 = 16_384.0;

/// A figure that cannot become a PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The scale is not a positive number, or asks for more pixels than there can be.
    #[error(
        "scale = {scale}: must be above 0 and give sides of 1 to 16,384 pixels; the figure is {width} x {height}"
    )]
    Scale {
        /// The scale asked for.
        scale: f64,
        /// Width of the figure in pixels.
        width: f64,
        /// Height of the figure in pixels.
        height: f64,
    },
    /// The drawing could not be read back.
    #[error("the drawing cannot be rendered")]
    Drawing(#[from] usvg::Error),
    /// The picture could not be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

/// Renders an SVG, `scale` pixels for each of its own.
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
    if !sides.iter().all(|side| (1.0..=MOST).contains(side)) {
        return Err(refused());
    }
    let mut pixels = tiny_skia::Pixmap::new(sides[0] as u32, sides[1] as u32).ok_or_else(refused)?;
    let transform = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}
