// What limits recall, region by region: hatching that differs in direction and kind, and places for labels.

import { FINE } from './raster.js';

/** How a term is hatched: the direction of its lines in degrees and their distance; `dots` instead of lines, `cross` twice. */
const HATCHES = {
  mean_bias: { angle: 45, gap: 8 },
  interference: { angle: -45, gap: 8 },
  gradient_noise: { angle: 30, gap: 8, dots: true },
  output_overlap: { angle: 0, gap: 7 },
  mlp_noise: { angle: 45, gap: 10, cross: true },
  coverage: { angle: 90, gap: 7 },
};

/** Pixels of a tile per pixel of the page. */
const SHARPNESS = 2;

/** A fill of hatching. Lines in the attention are dashed, those in the memory whole. */
export function hatch(context, { part, term }, ink) {
  const { angle, gap, dots, cross } = HATCHES[term] ?? HATCHES.coverage;
  const dashed = part === 'attention';
  const tile = document.createElement('canvas');
  tile.width = tile.height = gap * SHARPNESS;
  const pen = tile.getContext('2d');
  pen.scale(SHARPNESS, SHARPNESS);
  pen.fillStyle = ink;
  // In the middle of the tile: at its edge, rounding would lose a line of one pixel.
  const middle = gap / 2;
  if (dots) {
    pen.beginPath();
    pen.arc(middle, middle, dashed ? 0.8 : 1.3, 0, 2 * Math.PI);
    pen.fill();
  } else {
    pen.fillRect(0, middle, dashed ? 0.6 * gap : gap, 1);
    if (cross) pen.fillRect(middle, 0, 1, gap);
  }
  const pattern = context.createPattern(tile, 'repeat');
  pattern.setTransform(new DOMMatrix().rotate(angle).scale(1 / SHARPNESS));
  return pattern;
}

/** The pixels of one region as rectangles, row by row, on a plot of the given size. The picture's rows go up. */
export function areaOf(region, kind, width, height) {
  const path = new Path2D();
  const across = width / FINE;
  const down = height / FINE;
  for (let row = 0; row < FINE; row++) {
    let from = -1;
    for (let column = 0; column <= FINE; column++) {
      const inside = column < FINE && region[row * FINE + column] === kind;
      if (inside && from < 0) from = column;
      if (!inside && from >= 0) {
        path.rect(from * across, height - (row + 1) * down, (column - from) * across, down);
        from = -1;
      }
    }
  }
  return path;
}

/** The lines between regions that both have a name, through the places between pixels where neither leads. */
export function bordersOf({ region, lead }, width, height) {
  const path = new Path2D();
  const place = (column, row) => [((column + 0.5) / FINE) * width, height - ((row + 0.5) / FINE) * height];
  for (let row = 0; row + 1 < FINE; row++) {
    for (let column = 0; column + 1 < FINE; column++) {
      const first = row * FINE + column;
      if (region[first] === region[first + 1] && region[first] === region[first + FINE] && region[first] === region[first + FINE + 1]) continue;
      const corners = [[column, row], [column + 1, row], [column + 1, row + 1], [column, row + 1]];
      const crossings = [];
      for (let side = 0; side < 4; side++) {
        const [a, b] = [corners[side], corners[(side + 1) % 4]];
        const [here, there] = [a, b].map(([x, y]) => y * FINE + x);
        if (region[here] < 0 || region[there] < 0 || region[here] === region[there]) continue;
        const share = lead[here] / (lead[here] + lead[there] || 1);
        crossings.push(place(a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])));
      }
      if (crossings.length < 2) continue;
      const middle = [0, 1].map((axis) => crossings.reduce((sum, each) => sum + each[axis], 0) / crossings.length);
      for (const each of crossings) {
        path.moveTo(...each);
        path.lineTo(...middle);
      }
    }
  }
  return path;
}

/** Sums of a region's free pixels over all rectangles from the corner, so that any rectangle is counted in four look-ups. */
function sums(region, mask, kind) {
  const side = FINE + 1;
  const table = new Int32Array(side * side);
  for (let row = 0; row < FINE; row++) {
    let line = 0;
    for (let column = 0; column < FINE; column++) {
      line += region[row * FINE + column] === kind && mask[row * FINE + column] === 0 ? 1 : 0;
      table[(row + 1) * side + column + 1] = table[row * side + column + 1] + line;
    }
  }
  return table;
}

/**
 * The middle of a box of the given size (shares of the plot) that lies inside a region, on nothing that `mask` marks, with the most
 * room around it, as shares of the plot from the lower left; null when there is no room.
 */
export function roomFor(region, mask, kind, width, height) {
  const table = sums(region, mask, kind);
  const side = FINE + 1;
  for (const scale of [3, 2, 1.5, 1.15, 1]) {
    const across = Math.ceil(width * scale * FINE);
    const up = Math.ceil(height * scale * FINE);
    const found = [];
    for (let row = 0; row + up <= FINE; row += 2) {
      for (let column = 0; column + across <= FINE; column += 2) {
        const inside = table[(row + up) * side + column + across] - table[row * side + column + across]
          - table[(row + up) * side + column] + table[row * side + column];
        if (inside === across * up) found.push(row * FINE + column);
      }
    }
    // The middle one of those that fit does not jump about as the map changes.
    if (found.length) {
      const corner = found[Math.floor(found.length / 2)];
      return [(corner % FINE + across / 2) / FINE, (Math.floor(corner / FINE) + up / 2) / FINE];
    }
  }
  return null;
}
