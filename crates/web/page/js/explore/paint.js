// Painting the map: accuracy as colour, hatching for what limits recall, the boundary as a line, axes in logarithms.

import { INKS, colours } from '../colour.js';
import { brief } from '../format.js';
import { place, ticks } from '../scale.js';
import { nameOfSize } from '../sizes.js';
import { FINE, NONE } from './raster.js';
import { areaOf, bordersOf, hatch } from './regions.js';

const HATCH_STRENGTH = 0.2;
const BORDER_STRENGTH = 0.45;
const TICK_SIZE = 12;

/** Where the plot lies on a canvas of the given width and height, and how its values are placed. */
export function frameOf(width, height, x, y) {
  const frame = { width, height, left: 50, top: 10, across: width - 50 - 18, down: height - 10 - 40, x, y };
  frame.toX = (value) => frame.left + frame.across * place(value, x.low, x.high);
  frame.toY = (value) => frame.top + frame.down * (1 - place(value, y.low, y.high));
  return frame;
}

function heat(accuracy, theme) {
  const picture = new ImageData(FINE, FINE);
  const ramp = colours(theme);
  const none = INKS[theme].missing.match(/[0-9a-f]{2}/g).map((pair) => parseInt(pair, 16));
  for (let row = 0; row < FINE; row++) {
    for (let column = 0; column < FINE; column++) {
      const value = accuracy[row * FINE + column];
      const at = 4 * ((FINE - 1 - row) * FINE + column);
      const level = 3 * Math.round(255 * value);
      for (let part = 0; part < 3; part++) picture.data[at + part] = Number.isNaN(value) ? none[part] : ramp[level + part];
      picture.data[at + 3] = 255;
    }
  }
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = FINE;
  canvas.getContext('2d').putImageData(picture, 0, 0);
  return canvas;
}

function lines(pen, boundary, frame) {
  pen.beginPath();
  for (const line of boundary) {
    line.forEach(([x, y], index) => pen[index ? 'lineTo' : 'moveTo'](frame.toX(x), frame.toY(y)));
  }
  pen.stroke();
}

function axes(pen, frame, style, symbols) {
  pen.strokeStyle = style.axis;
  pen.fillStyle = style.muted;
  pen.lineWidth = 1;
  pen.font = `${TICK_SIZE}px ${style.font}`;
  const bottom = frame.top + frame.down;
  pen.textAlign = 'center';
  pen.textBaseline = 'top';
  for (const { value, major } of ticks(frame.x.low, frame.x.high)) {
    const at = Math.round(frame.toX(value)) + 0.5;
    pen.beginPath();
    pen.moveTo(at, bottom);
    pen.lineTo(at, bottom + (major ? 6 : 3));
    pen.stroke();
    if (major) pen.fillText(brief(value), at, bottom + 8);
  }
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  for (const { value, major } of ticks(frame.y.low, frame.y.high)) {
    const at = Math.round(frame.toY(value)) + 0.5;
    pen.beginPath();
    pen.moveTo(frame.left, at);
    pen.lineTo(frame.left - (major ? 6 : 3), at);
    pen.stroke();
    if (major) pen.fillText(brief(value), frame.left - 8, at);
  }
  pen.fillStyle = style.ink;
  pen.textAlign = 'center';
  pen.textBaseline = 'bottom';
  pen.fillText(`${nameOfSize(frame.x.size)} ${symbols.x}`, frame.left + frame.across / 2, frame.height - 1);
  pen.save();
  pen.translate(1, frame.top + frame.down / 2);
  pen.rotate(-Math.PI / 2);
  pen.textBaseline = 'top';
  pen.fillText(`${nameOfSize(frame.y.size)} ${symbols.y}`, 0, 0);
  pen.restore();
}

/** Thin lines of equal recall; their values are written with the names. */
function isolines(pen, lines, level, frame, { ink, paper }) {
  const place = ([u, v]) => [frame.left + u * frame.across, frame.top + (1 - v) * frame.down];
  for (const { pieces } of lines.filter(({ value }) => value !== level)) {
    pen.beginPath();
    for (const [from, to] of pieces) {
      pen.moveTo(...place(from));
      pen.lineTo(...place(to));
    }
    pen.strokeStyle = paper;
    pen.globalAlpha = 0.6;
    pen.lineWidth = 2.6;
    pen.stroke();
    pen.strokeStyle = ink;
    pen.globalAlpha = 0.75;
    pen.lineWidth = 1;
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** The part of the plot `{left, right, top, bottom}` in which the formulas were validated, in pixels; null where they were nowhere. */
export function checkedPart({ checked }, frame) {
  if (!checked) return null;
  const [[left, right], [low, high]] = checked;
  const inside = (value, range) => Math.min(Math.max(value, range.low), range.high);
  return {
    left: frame.toX(inside(left, frame.x)), right: frame.toX(inside(right, frame.x)),
    top: frame.toY(inside(high, frame.y)), bottom: frame.toY(inside(low, frame.y)),
  };
}

/** Greys what lies outside the validated part. */
function unchecked(pen, map, frame, { ink, paper }) {
  const part = checkedPart(map, frame);
  const area = new Path2D();
  area.rect(frame.left, frame.top, frame.across, frame.down);
  if (part) area.rect(part.left, part.top, part.right - part.left, part.bottom - part.top);
  pen.globalAlpha = 0.4;
  pen.fillStyle = paper;
  pen.fill(area, 'evenodd');
  pen.globalAlpha = 0.7;
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  pen.setLineDash([2, 4]);
  if (part) pen.strokeRect(part.left, part.top, part.right - part.left, part.bottom - part.top);
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** Paints a whole map, but for the names on it. `style` has the page's ink, muted and axis colours and its font. */
export function paint(canvas, map, fine, frame, theme, style) {
  const { accuracy, region } = fine;
  const ratio = Math.min(devicePixelRatio || 1, 2);
  canvas.width = Math.round(frame.width * ratio);
  canvas.height = Math.round(frame.height * ratio);
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  const { ink, paper } = INKS[theme];

  pen.save();
  pen.beginPath();
  pen.rect(frame.left, frame.top, frame.across, frame.down);
  pen.clip();
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(heat(accuracy, theme), frame.left, frame.top, frame.across, frame.down);
  pen.save();
  pen.translate(frame.left, frame.top);
  pen.globalAlpha = HATCH_STRENGTH;
  map.dominants.forEach((dominant, kind) => {
    pen.fillStyle = hatch(pen, dominant, ink);
    pen.fill(areaOf(region, kind, frame.across, frame.down));
  });
  pen.globalAlpha = BORDER_STRENGTH;
  pen.strokeStyle = ink;
  pen.lineWidth = 1.25;
  pen.stroke(bordersOf(fine, frame.across, frame.down));
  pen.restore();
  pen.save();
  // The boundary ends where there is no model.
  const modelled = areaOf(region, NONE, frame.across, frame.down);
  modelled.rect(0, 0, frame.across, frame.down);
  pen.translate(frame.left, frame.top);
  pen.clip(modelled, 'evenodd');
  pen.translate(-frame.left, -frame.top);
  pen.lineJoin = pen.lineCap = 'round';
  unchecked(pen, map, frame, INKS[theme]);
  isolines(pen, fine.lines, map.level, frame, INKS[theme]);
  pen.strokeStyle = paper;
  pen.globalAlpha = 0.85;
  pen.lineWidth = 5.5;
  lines(pen, map.boundary, frame);
  pen.globalAlpha = 1;
  pen.strokeStyle = ink;
  pen.lineWidth = 2.25;
  lines(pen, map.boundary, frame);
  pen.restore();

  pen.restore();

  pen.strokeStyle = style.axis;
  pen.lineWidth = 1;
  pen.strokeRect(frame.left + 0.5, frame.top + 0.5, frame.across - 1, frame.down - 1);
  axes(pen, frame, style, { x: map.x.symbol, y: map.y.symbol });
}
