// The colours of accuracy: one ramp of even steps in lightness (OKLab), from the paper's colour to blue or, in the dark,
// to pale yellow. Lightness alone orders it, so it reads without colour vision.

const STOPS = {
  light: [[0.955, 0.0, 0.012], [0.865, -0.052, 0.012], [0.735, -0.078, -0.028], [0.57, -0.05, -0.082], [0.43, -0.018, -0.105], [0.31, 0.008, -0.088]],
  dark: [[0.235, -0.004, -0.018], [0.345, -0.012, -0.065], [0.475, -0.048, -0.068], [0.625, -0.085, -0.025], [0.785, -0.078, 0.055], [0.945, -0.02, 0.095]],
};

/** Red, green and blue (0 to 255) of an OKLab colour. */
function rgb([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((x) => {
    const inside = Math.min(Math.max(x, 0), 1);
    return Math.round(255 * (inside <= 0.0031308 ? 12.92 * inside : 1.055 * inside ** (1 / 2.4) - 0.055));
  });
}

const LEVELS = 256;

function ramp(stops) {
  const table = new Uint8ClampedArray(LEVELS * 3);
  for (let level = 0; level < LEVELS; level++) {
    const at = (level / (LEVELS - 1)) * (stops.length - 1);
    const below = Math.min(Math.floor(at), stops.length - 2);
    const mix = stops[below].map((x, axis) => x + (at - below) * (stops[below + 1][axis] - x));
    table.set(rgb(mix), 3 * level);
  }
  return table;
}

const RAMPS = { light: ramp(STOPS.light), dark: ramp(STOPS.dark) };

/** The ramp of a theme: 256 colours of three bytes each. */
export const colours = (theme) => RAMPS[theme];

/** The colour of an accuracy, as CSS writes it. */
export function colour(accuracy, theme) {
  const at = 3 * Math.round(Math.min(Math.max(accuracy, 0), 1) * (LEVELS - 1));
  return `rgb(${RAMPS[theme].slice(at, at + 3).join(' ')})`;
}

/** Ink and paper of the map, by theme; `missing` is where there is no model. */
export const INKS = {
  light: { ink: '#10161f', paper: '#ffffff', missing: '#e9e7e1' },
  dark: { ink: '#ffffff', paper: '#0b0e12', missing: '#23282f' },
};
