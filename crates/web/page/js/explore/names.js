// The names of the map's regions, written where there is room for them and no measured point.

import { fill, h, $ } from '../dom.js';
import { FINE, NONE, REACHED } from './raster.js';
import { nameOf, roomFor } from './regions.js';

const SIZE = 12.5;
/** Room around a name, across and up. */
const AROUND = [14, 12];

const pen = document.createElement('canvas').getContext('2d');

/** Whether a place of the picture is dark, so that writing on it must be light. */
function darkAt(accuracy, [across, up], theme) {
  const pixel = Math.min(Math.floor(up * FINE), FINE - 1) * FINE + Math.min(Math.floor(across * FINE), FINE - 1);
  const value = accuracy[pixel];
  return Number.isNaN(value) ? theme === 'dark' : theme === 'light' ? value > 0.55 : value < 0.55;
}

/** Writes the names, away from the boxes of `taken` where that can be, and gives the boxes of the names. Boxes are in pixels of the plot. */
export function writeNames(map, { accuracy, region }, frame, theme, font, taken) {
  pen.font = `500 ${SIZE}px ${font}`;
  const shares = taken.map(({ x, y, across, up }) => ({ x: x / frame.across, y: 1 - y / frame.down, across: across / frame.across, up: up / frame.down }));
  const named = map.dominants.map((dominant, kind) => [kind, nameOf(dominant)]);
  const boxes = [];
  const names = [...named, [REACHED, `recall above ${map.level}`], [NONE, 'no such model']].map(([kind, text]) => {
    const { width } = pen.measureText(text);
    const found = roomFor(region, kind, (width + AROUND[0]) / frame.across, (SIZE + AROUND[1]) / frame.down, shares);
    if (!found) return null;
    const [x, y] = [found[0] * frame.across, (1 - found[1]) * frame.down];
    boxes.push({ x, y, across: width / 2, up: SIZE / 2 });
    return h('span', { class: darkAt(accuracy, found, theme) ? 'on-dark' : 'on-light', style: { left: `${x}px`, top: `${y}px` } }, text);
  });
  fill($('names'), names);
  return boxes;
}
