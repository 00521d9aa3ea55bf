// From the server's cells to a fine picture: accuracy between cells by linear interpolation in the logarithms of both sizes,
// and for every pixel what limits recall there.

/** Pixels of the picture along each side. */
export const FINE = 192;

/** What stands for places where the boundary's accuracy is reached, and for places without a model. */
export const REACHED = -2;
export const NONE = -3;

/** For every pixel along an axis, the cell below it and the share of the next one. Values may be unevenly spaced. */
function along(values, { low, high }) {
  const below = new Int32Array(FINE);
  const share = new Float64Array(FINE);
  const logs = values.map(Math.log);
  let cell = 0;
  for (let pixel = 0; pixel < FINE; pixel++) {
    const at = Math.log(low) + ((pixel + 0.5) / FINE) * Math.log(high / low);
    while (cell < logs.length - 2 && logs[cell + 1] <= at) cell++;
    below[pixel] = cell;
    share[pixel] = logs.length < 2 ? 0 : Math.min(Math.max((at - logs[cell]) / (logs[cell + 1] - logs[cell]), 0), 1);
  }
  return { below, share };
}

/**
 * Accuracy (NaN where there is no model) and region of every pixel, row by row from the smallest y. A region is an index into
 * the map's `dominants`, -1 for nothing, REACHED or NONE; its lead is how far it holds more there than the second. `shown` are the
 * `dominants` that have a region.
 */
export function raster(map, xRange, yRange) {
  const columns = map.x.values.length;
  const x = along(map.x.values, xRange);
  const y = along(map.y.values, yRange);
  const right = columns > 1 ? 1 : 0;
  const up = map.y.values.length > 1 ? columns : 0;
  const spread = map.dominants.map((_, kind) => spreadOf(map.dominant, kind, columns));
  const accuracy = new Float32Array(FINE * FINE);
  const region = new Int8Array(FINE * FINE);
  const lead = new Float32Array(FINE * FINE);
  const seen = new Uint8Array(spread.length);
  // Numbers instead of null, and no small arrays in the loop: it runs for every pixel while a slider moves.
  const values = Float32Array.from(map.accuracy, (value) => value ?? NaN);
  const { dominant, level } = map;
  for (let row = 0, pixel = 0; row < FINE; row++) {
    const start = y.below[row] * columns;
    const v = y.share[row];
    for (let column = 0; column < FINE; column++, pixel++) {
      const u = x.share[column];
      const a = start + x.below[column];
      const b = a + right;
      const c = a + up;
      const d = b + up;
      const wb = u * (1 - v);
      const wd = u * v;
      const wa = 1 - v - wb;
      const wc = v - wd;
      let recall = wa * values[a] + wb * values[b] + wc * values[c] + wd * values[d];
      if (recall !== recall) recall = between(values, [a, b, c, d], [wa, wb, wc, wd], (u > 0.5 ? 1 : 0) + (v > 0.5 ? 2 : 0));
      accuracy[pixel] = recall;
      if (recall !== recall) region[pixel] = NONE;
      else if (recall >= level) region[pixel] = REACHED;
      else if (dominant[a] < 0 && dominant[b] < 0 && dominant[c] < 0 && dominant[d] < 0) region[pixel] = -1;
      else {
        // The kind that holds most between the four cells around, and how far before the second.
        let best = -1;
        let most = -1;
        let second = 0;
        for (let kind = 0; kind < spread.length; kind++) {
          const field = spread[kind];
          const weight = wa * field[a] + wb * field[b] + wc * field[c] + wd * field[d];
          if (weight > most) {
            second = Math.max(most, 0);
            most = weight;
            best = kind;
          } else if (weight > second) second = weight;
        }
        region[pixel] = best;
        seen[best] = 1;
        lead[pixel] = most - second;
      }
    }
  }
  return { accuracy, region, lead, shown: map.dominants.filter((_, kind) => seen[kind]) };
}

/** The mean of those of four cells where there is a model; NaN where the nearest has none. */
function between(values, cells, weights, nearest) {
  if (Number.isNaN(values[cells[nearest]])) return NaN;
  let sum = 0;
  let weight = 0;
  for (let index = 0; index < 4; index++) {
    const value = values[cells[index]];
    if (Number.isNaN(value)) continue;
    sum += weights[index] * value;
    weight += weights[index];
  }
  return sum / weight;
}

/** Weights of a cell and of the two on either side. */
const BELL = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16];

/** How much a kind holds around every cell. Cells have one kind each, and borders drawn by them alone would be staircases. */
function spreadOf(kinds, kind, columns) {
  const rows = kinds.length / columns;
  let from = Float32Array.from(kinds, (each) => (each === kind ? 1 : 0));
  for (const [count, stride, others, otherStride] of [[columns, 1, rows, columns], [rows, columns, columns, 1]]) {
    const to = new Float32Array(from.length);
    for (let line = 0; line < others; line++) {
      for (let at = 0; at < count; at++) {
        let sum = 0;
        for (let step = -2; step <= 2; step++) {
          const near = Math.min(Math.max(at + step, 0), count - 1);
          sum += BELL[step + 2] * from[line * otherStride + near * stride];
        }
        to[line * otherStride + at * stride] = sum;
      }
    }
    from = to;
  }
  return from;
}
