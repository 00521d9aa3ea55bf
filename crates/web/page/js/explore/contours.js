// Lines of equal recall through the fine picture, by linear interpolation between its pixels.

import { FINE } from './raster.js';

/** Pieces `[[u, v], [u, v]]` of the line at a level, in shares of the plot from the lower left. */
function contour(accuracy, level) {
  const pieces = [];
  for (let row = 0; row + 1 < FINE; row++) {
    for (let column = 0; column + 1 < FINE; column++) {
      const first = row * FINE + column;
      const a0 = accuracy[first];
      const a1 = accuracy[first + 1];
      const a2 = accuracy[first + FINE + 1];
      const a3 = accuracy[first + FINE];
      const above = (a0 >= level) + (a1 >= level) + (a2 >= level) + (a3 >= level);
      if (above === 0 || above === 4) continue;
      const values = [a0, a1, a2, a3];
      if (values.some(Number.isNaN)) continue;
      const corners = [[column, row], [column + 1, row], [column + 1, row + 1], [column, row + 1]];
      const found = [];
      for (let side = 0; side < 4; side++) {
        const [a, b] = [values[side], values[(side + 1) % 4]];
        if ((a >= level) === (b >= level)) continue;
        const share = (level - a) / (b - a);
        const [from, to] = [corners[side], corners[(side + 1) % 4]];
        found.push([0, 1].map((axis) => (from[axis] + share * (to[axis] - from[axis]) + 0.5) / FINE));
      }
      for (let index = 0; index + 1 < found.length; index += 2) pieces.push([found[index], found[index + 1]]);
    }
  }
  return pieces;
}

/** Recall at which thin lines are drawn, beside the boundary. */
const ISOLINES = [0.1, 0.5, 0.9];

/** The lines of equal recall on a map, the boundary included, each with its pieces. */
export function linesOf({ level }, { accuracy }) {
  const levels = [...new Set([...ISOLINES, level])].sort((a, b) => a - b);
  return levels.map((value) => ({ value, pieces: contour(accuracy, value) }));
}
