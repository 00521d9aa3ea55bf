// Painting the map: accuracy as colour, hatching for what limits recall, the boundary as a line, axes in logarithms.

import { INKS, colours } from '../colour.js';
import { brief } from '../format.js';
import { place, ticks } from '../scale.js';
import { nameOfSize } from '../sizes.js';
import { FINE, NONE, REACHED } from './raster.js';
import { areaOf, bordersOf, hatch, nameOf, roomFor } from './regions.js';

const HATCH_STRENGTH = 0.2;
const BORDER_STRENGTH = 0.45;
const LABEL_SIZE = 12.5;
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

/** Whether a place of the picture is dark, so that writing on it must be light. */
function darkAt(accuracy, [across, up], theme) {
  const pixel = Math.min(Math.floor(up * FINE), FINE - 1) * FINE + Math.min(Math.floor(across * FINE), FINE - 1);
  const value = accuracy[pixel];
  return Number.isNaN(value) ? theme === 'dark' : theme === 'light' ? value > 0.55 : value < 0.55;
}

/** Writes a name at a place of the plot, and gives the box that it takes there. */
function label(pen, text, found, frame, dark) {
  const [across, up] = found;
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  pen.lineJoin = 'round';
  pen.lineWidth = 3.5;
  pen.strokeStyle = dark ? 'rgb(8 12 20 / 0.3)' : 'rgb(255 255 255 / 0.75)';
  pen.fillStyle = dark ? '#ffffff' : '#10161f';
  const at = [frame.left + across * frame.across, frame.top + (1 - up) * frame.down];
  pen.strokeText(text, ...at);
  pen.fillText(text, ...at);
  return { x: at[0] - frame.left, y: at[1] - frame.top, across: pen.measureText(text).width / 2, up: LABEL_SIZE / 2 };
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

/** Paints a whole map and gives the boxes of the names on it. `style` has the page's ink, muted and axis colours and its font. */
export function paint(canvas, map, { accuracy, region }, frame, theme, style) {
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
  pen.stroke(bordersOf(region, frame.across, frame.down));
  pen.restore();
  pen.save();
  // The boundary ends where there is no model.
  const modelled = areaOf(region, NONE, frame.across, frame.down);
  modelled.rect(0, 0, frame.across, frame.down);
  pen.translate(frame.left, frame.top);
  pen.clip(modelled, 'evenodd');
  pen.translate(-frame.left, -frame.top);
  pen.lineJoin = pen.lineCap = 'round';
  pen.strokeStyle = paper;
  pen.globalAlpha = 0.85;
  pen.lineWidth = 5.5;
  lines(pen, map.boundary, frame);
  pen.globalAlpha = 1;
  pen.strokeStyle = ink;
  pen.lineWidth = 2.25;
  lines(pen, map.boundary, frame);
  pen.restore();

  pen.font = `500 ${LABEL_SIZE}px ${style.font}`;
  const named = map.dominants.map((dominant, kind) => [kind, nameOf(dominant)]);
  const boxes = [];
  for (const [kind, text] of [...named, [REACHED, `recall above ${map.level}`], [NONE, 'no such model']]) {
    const width = (pen.measureText(text).width + 14) / frame.across;
    const found = roomFor(region, kind, width, (LABEL_SIZE + 12) / frame.down);
    if (found) boxes.push(label(pen, text, found, frame, darkAt(accuracy, found, theme)));
  }
  pen.restore();

  pen.strokeStyle = style.axis;
  pen.lineWidth = 1;
  pen.strokeRect(frame.left + 0.5, frame.top + 0.5, frame.across - 1, frame.down - 1);
  axes(pen, frame, style, { x: map.x.symbol, y: map.y.symbol });
  return boxes;
}
