// The map as a file: SVG, PNG, CSV of its cells, or JSON as the server sent it.

import { $ } from '../dom.js';
import { brief } from '../format.js';
import { csv, formats, save } from '../save.js';
import { ticks } from '../scale.js';
import { nameOfSize } from '../sizes.js';
import { contour } from './contours.js';
import { ISOLINES } from './paint.js';
import { nameOf } from './regions.js';

/** The map as SVG: colours and hatching as an image, everything else as lines and text. */
function svgOf({ map, fine, frame, canvas, style }) {
  const ratio = canvas.width / frame.width;
  const inner = document.createElement('canvas');
  [inner.width, inner.height] = [frame.across * ratio, frame.down * ratio].map(Math.round);
  inner.getContext('2d').drawImage(canvas, -frame.left * ratio, -frame.top * ratio);
  const text = (x, y, words, anchor, more = '') => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}"${more}>${words}</text>`;
  const bottom = frame.top + frame.down;
  const across = ticks(frame.x.low, frame.x.high).map(({ value, major }) => {
    const x = frame.toX(value);
    return `<path d="M${x.toFixed(1)} ${bottom}v${major ? 6 : 3}"/>${major ? text(x, bottom + 19, brief(value), 'middle', ' stroke="none"') : ''}`;
  });
  const up = ticks(frame.y.low, frame.y.high).map(({ value, major }) => {
    const y = frame.toY(value);
    return `<path d="M${frame.left} ${y.toFixed(1)}h${major ? -6 : -3}"/>${major ? text(frame.left - 8, y + 4, brief(value), 'end', ' stroke="none"') : ''}`;
  });
  const place = ([u, v]) => `${(frame.left + u * frame.across).toFixed(1)} ${(frame.top + (1 - v) * frame.down).toFixed(1)}`;
  const lines = ISOLINES.map((level) => `<path d="${contour(fine.accuracy, level).map(([a, b]) => `M${place(a)}L${place(b)}`).join('')}" stroke-opacity="0.6"><title>recall ${level}</title></path>`);
  const boundary = map.boundary.map((line) => `<path d="M${line.map(([x, y]) => `${frame.toX(x).toFixed(1)} ${frame.toY(y).toFixed(1)}`).join('L')}" stroke-width="2.5"/>`);
  const y = `transform="rotate(-90 12 ${frame.top + frame.down / 2})"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${frame.width}" height="${frame.height}" viewBox="0 0 ${frame.width} ${frame.height}" font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="12" fill="none" stroke="${style.ink}">`
    + `<image x="${frame.left}" y="${frame.top}" width="${frame.across}" height="${frame.down}" href="${inner.toDataURL()}"/>`
    + `<rect x="${frame.left}" y="${frame.top}" width="${frame.across}" height="${frame.down}"/>${lines.join('')}${boundary.join('')}<g fill="${style.ink}">${across.join('')}${up.join('')}`
    + text(frame.left + frame.across / 2, frame.height - 3, `${nameOfSize(map.x.size)} ${map.x.symbol}`, 'middle', ' stroke="none"')
    + text(12, frame.top + frame.down / 2, `${nameOfSize(map.y.size)} ${map.y.symbol}`, 'middle', ` stroke="none" ${y}`)
    + '</g></svg>';
}

/** The cells of the map. */
function cells({ map }) {
  const columns = map.x.values.length;
  return csv([map.x.size, map.y.size, 'predicted_recall', 'limited_by'], map.accuracy.map((recall, index) => [
    map.x.values[index % columns], map.y.values[Math.floor(index / columns)], recall,
    map.dominant[index] < 0 ? null : nameOf(map.dominants[map.dominant[index]])]));
}

/** Makes the buttons under the map; `look` gives what is shown, or null. */
export function makeExports(look) {
  const given = (act) => () => { const seen = look(); if (seen) act(seen); };
  $('map-formats').append(formats('Save the map', {
    SVG: given((seen) => save('map.svg', svgOf(seen), 'image/svg+xml')),
    PNG: given(({ canvas }) => canvas.toBlob((blob) => save('map.png', blob))),
    CSV: given((seen) => save('map.csv', cells(seen), 'text/csv')),
    JSON: given(({ map, asked }) => save('map.json', JSON.stringify({ ...map, request: asked }, null, 1), 'application/json')),
  }));
}
