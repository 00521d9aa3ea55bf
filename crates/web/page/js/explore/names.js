// All writing on the map in one pass: the values of the lines, then the names of the regions. Nothing lies on the ring, the
// crosshair, measured points, lines, the edges of the validated part, or other writing; what has no such place is left to the legend.

import { fill, h, $ } from '../dom.js';
import { nameOf } from '../terms.js';
import { checkedPart } from './paint.js';
import { FINE, NONE, REACHED } from './raster.js';
import { roomFor } from './regions.js';

const SIZE = 12.5;
const VALUE = 11;
/** Room around a name and around a value, across and up. */
const AROUND = [12, 8];
const TIGHT = [8, 4];

const pen = document.createElement('canvas').getContext('2d');

/** Whether a place of the picture is dark, so that writing on it must be light. */
function darkAt(accuracy, [across, up], theme) {
  const pixel = Math.min(Math.floor(up * FINE), FINE - 1) * FINE + Math.min(Math.floor(across * FINE), FINE - 1);
  const value = accuracy[pixel];
  return Number.isNaN(value) ? theme === 'dark' : theme === 'light' ? value > 0.55 : value < 0.55;
}

const inside = (value) => Math.min(Math.max(Math.floor(value), 0), FINE - 1);

/** Marks a box, given by its middle and half sizes in shares of the plot from the lower left. */
function mark(mask, { x, y, across, up }, bit) {
  for (let row = inside((y - up) * FINE); row <= inside((y + up) * FINE); row++) {
    for (let column = inside((x - across) * FINE); column <= inside((x + across) * FINE); column++) mask[row * FINE + column] |= bit;
  }
}

/** Marks a line through places in shares of the plot. */
function markLine(mask, [from, to], bit) {
  const steps = Math.max(1, Math.ceil(FINE * Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]))));
  for (let step = 0; step <= steps; step++) {
    const [x, y] = [0, 1].map((axis) => from[axis] + (step / steps) * (to[axis] - from[axis]));
    if (x >= 0 && x <= 1 && y >= 0 && y <= 1) mask[inside(y * FINE) * FINE + inside(x * FINE)] |= bit;
  }
}

/** Whether a box lies on the plot and on nothing but what `allowed` names. */
function free(mask, { x, y, across, up }, allowed) {
  if (x - across < 0 || x + across > 1 || y - up < 0 || y + up > 1) return false;
  for (let row = inside((y - up) * FINE); row <= inside((y + up) * FINE); row++) {
    for (let column = inside((x - across) * FINE); column <= inside((x + across) * FINE); column++) if (mask[row * FINE + column] & ~allowed) return false;
  }
  return true;
}

const SOLID = 1;

/** What must not be written on: one bit for what is solid, and one for each line. */
function maskOf(map, lines, frame, boxes, point) {
  const mask = new Uint16Array(FINE * FINE);
  for (const box of boxes) mark(mask, box, SOLID);
  if (point) {
    markLine(mask, [point, [point[0], 0]], SOLID);
    markLine(mask, [point, [0, point[1]]], SOLID);
  }
  const part = checkedPart(map, frame);
  if (part) {
    const [left, right] = [part.left, part.right].map((x) => (x - frame.left) / frame.across);
    const [low, high] = [part.bottom, part.top].map((y) => 1 - (y - frame.top) / frame.down);
    for (const x of [left, right].filter((each) => each > 0.005 && each < 0.995)) markLine(mask, [[x, 0], [x, 1]], SOLID);
    for (const y of [low, high].filter((each) => each > 0.005 && each < 0.995)) markLine(mask, [[0, y], [1, y]], SOLID);
  }
  lines.forEach(({ pieces }, index) => { for (const piece of pieces) markLine(mask, piece, 2 << index); });
  return mask;
}

/** The place of a line's value: on the line, on nothing else, as near to the diagonal as can be. */
function placeValue(mask, { pieces }, bit, size) {
  let best = null;
  for (const [[x, y]] of pieces) {
    if ((best === null || Math.abs(x - y) < Math.abs(best.x - best.y)) && free(mask, { x, y, ...size }, bit)) best = { x, y, ...size };
  }
  return best;
}

/**
 * Writes on the map. `taken` are boxes of measured points and `ring` that of the point, in pixels of the plot. Gives what was
 * written, with boxes in pixels: `{text, x, y, across, up, dark}`.
 */
export function writeNames(map, fine, frame, theme, font, taken, ring) {
  const share = ({ x, y, across, up }) => ({ x: x / frame.across, y: 1 - y / frame.down, across: across / frame.across, up: up / frame.down });
  const { lines } = fine;
  const around = ring && share(ring);
  const mask = maskOf(map, lines, frame, [...taken, ...(ring ? [ring] : [])].map(share), around && [around.x, around.y]);
  const written = [];
  const put = (text, kind, box, size) => {
    mark(mask, box, SOLID);
    const at = [box.x, box.y];
    pen.font = `500 ${size}px ${font}`;
    written.push({
      text, kind, size, x: box.x * frame.across, y: (1 - box.y) * frame.down, across: pen.measureText(text).width / 2, up: size / 2,
      dark: darkAt(fine.accuracy, at, theme),
    });
  };
  const sizeOf = (text, size, [wide, high]) => {
    pen.font = `500 ${size}px ${font}`;
    return { across: (pen.measureText(text).width + wide) / 2 / frame.across, up: (size + high) / 2 / frame.down };
  };
  lines.forEach((line, index) => {
    const box = placeValue(mask, line, 2 << index, sizeOf(String(line.value), VALUE, TIGHT));
    if (box) put(String(line.value), 'value', box, VALUE);
  });
  const named = map.dominants.map((dominant, kind) => [kind, nameOf(dominant)]);
  for (const [kind, text] of [...named, [REACHED, `recall above ${map.level}`], [NONE, 'no such model']]) {
    const { across, up } = sizeOf(text, SIZE, AROUND);
    const found = roomFor(fine.region, mask, kind, 2 * across, 2 * up);
    if (found) put(text, 'name', { x: found[0], y: found[1], across, up }, SIZE);
  }
  fill($('names'), written.map(({ text, kind, x, y, dark }) =>
    h('span', { class: `${kind} ${dark ? 'on-dark' : 'on-light'}`, style: { left: `${x}px`, top: `${y}px` } }, text)));
  return written;
}
