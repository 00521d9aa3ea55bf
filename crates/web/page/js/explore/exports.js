// The map as a file: SVG, PNG, CSV of its cells, or JSON as the server sent it.

import { colour } from '../colour.js';
import { $ } from '../dom.js';
import { brief, share } from '../format.js';
import { csv, formats, png, save } from '../save.js';
import { ticks } from '../scale.js';
import { lineOf, nameOfSize, setBy } from '../sizes.js';
import { theme } from '../theme.js';

/** Settings that a map holds fixed, unless they are on an axis. */
const FIXED = ['vocab', 'dim', 'length', 'samples', 'width', 'activation', 'embedding', 'trigger'];
/** Heights of the title over the map and of a line of the legend under it. */
const TITLE = 28;
const LINE = 20;
const PAD = 12;

/** The fixed settings of a map by name; the activation only with an MLP. */
function fixedOf({ map, asked }) {
  const axes = [map.x.size, map.y.size].map(setBy);
  const names = FIXED.filter((name) => !axes.includes(name) && (asked.config[name] ?? null) !== null && (name !== 'activation' || asked.config.width !== null));
  return names.map((name) => [name, asked.config[name]]);
}

const escaped = (words) => String(words).replace(/[&<>]/g, (letter) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[letter]);
/** Text with a halo, where it lies on the picture. */
function text(x, y, words, { anchor = 'start', more = '', halo = null } = {}) {
  const edge = halo ? `stroke="${halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : 'stroke="none"';
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" ${edge}${more}>${escaped(words)}</text>`;
}

/** Ticks, their numbers and the names of both axes. */
function axes({ map, frame }) {
  const bottom = frame.top + frame.down;
  const across = ticks(frame.x.low, frame.x.high).map(({ value, major }) => {
    const x = frame.toX(value);
    return `<path d="M${x.toFixed(1)} ${bottom}v${major ? 6 : 3}"/>${major ? text(x, bottom + 19, brief(value), { anchor: 'middle' }) : ''}`;
  });
  const up = ticks(frame.y.low, frame.y.high).map(({ value, major }) => {
    const y = frame.toY(value);
    return `<path d="M${frame.left} ${y.toFixed(1)}h${major ? -6 : -3}"/>${major ? text(frame.left - 8, y + 4, brief(value), { anchor: 'end' }) : ''}`;
  });
  const turned = ` transform="rotate(-90 12 ${frame.top + frame.down / 2})"`;
  return across.join('') + up.join('')
    + text(frame.left + frame.across / 2, frame.height - 3, `${nameOfSize(map.x.size)} ${map.x.symbol}`, { anchor: 'middle' })
    + text(12, frame.top + frame.down / 2, `${nameOfSize(map.y.size)} ${map.y.symbol}`, { anchor: 'middle', more: turned });
}

/** What stands on the plot: names and values of lines, measured points with their recall, the ring. */
function marks({ frame, written, dots, ring }) {
  const at = ({ x, y }) => [frame.left + x, frame.top + y];
  const words = written.map((each) => {
    const [x, y] = at(each);
    const [ink, halo] = each.dark ? ['#ffffff', '#0b0e12'] : ['#10161f', '#ffffff'];
    return text(x, y + 0.35 * each.size, each.text, { anchor: 'middle', halo, more: ` font-size="${each.size}" fill="${ink}"` });
  });
  const circle = ([x, y], radius, fill, stroke, width) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${fill}" stroke="${stroke}" stroke-width="${width}"/>`;
  const points = dots.map(({ run, at: place, kind, side }) => {
    const [x, y] = at(place);
    const round = circle([x, y], kind === 'here' ? 8 : 5.5, 'none', '#10161f', 2) + circle([x, y], kind === 'here' ? 7 : 4.5, kind === 'here' ? colour(run.accuracy.mean, theme()) : 'none', '#ffffff', 2);
    return `<g><title>Run ${run.id}: ${share(run.accuracy.mean)}</title>${round}${side ? text(x + (side === 'right' ? 13 : -13), y + 4, share(run.accuracy.mean), { anchor: side === 'right' ? 'start' : 'end', halo: '#ffffff', more: ' font-weight="600" fill="#10161f"' }) : ''}</g>`;
  });
  const handle = ring ? circle(at(ring), 12, 'none', '#10161f', 5) + circle(at(ring), 12, 'none', '#ffffff', 2.5) + circle(at(ring), 4, '#10161f', '#ffffff', 1) : '';
  return words.join('') + points.join('') + handle;
}

/** The colour bar, the hatchings and the marks in words, as under the map. */
function legend({ frame, dots, ring }, top) {
  const stops = Array.from({ length: 11 }, (_, step) => `<stop offset="${step / 10}" stop-color="${colour(step / 10, theme())}"/>`).join('');
  const items = [...$('hatchings').querySelectorAll('li')].map((item) => ({ image: item.querySelector('canvas').toDataURL(), words: item.querySelector('.term-word').textContent }));
  let [x, y] = [frame.left, top + LINE];
  const placed = items.map(({ image, words }) => {
    const width = 34 + 7 * words.length + 16;
    if (x > frame.left && x + width > frame.width) [x, y] = [frame.left, y + LINE];
    const part = `<image x="${x}" y="${y - 13}" width="28" height="16" href="${image}"/><rect x="${x}" y="${y - 13}" width="28" height="16" fill="none"/>${text(x + 34, y, words)}`;
    x += width;
    return part;
  });
  const said = [ring ? 'ring: the chosen point' : null, dots.length ? 'dots: measured recall' : null, $('key-unchecked').hidden ? null : 'pale, beyond the dotted line: never validated'].filter(Boolean).join('; ');
  const body = `<defs><linearGradient id="recall">${stops}</linearGradient></defs>${text(frame.left, top, 'recall  0')}<rect x="${frame.left + 56}" y="${top - 10}" width="120" height="12" fill="url(#recall)"/>${text(frame.left + 182, top, '1')}`
    + `${placed.join('')}${said ? text(frame.left, y + LINE, said) : ''}`;
  return { body, bottom: y + (said ? LINE : 0) + PAD };
}

/** The map as SVG: colours and hatching as an image, everything else as lines and text. */
function svgOf(seen, about) {
  const { map, fine, frame, canvas, style } = seen;
  const ratio = canvas.width / frame.width;
  const inner = document.createElement('canvas');
  [inner.width, inner.height] = [frame.across * ratio, frame.down * ratio].map(Math.round);
  inner.getContext('2d').drawImage(canvas, -frame.left * ratio, -frame.top * ratio);
  const place = ([u, v]) => `${(frame.left + u * frame.across).toFixed(1)} ${(frame.top + (1 - v) * frame.down).toFixed(1)}`;
  const lines = fine.lines.map(({ value, pieces }) => `<path d="${pieces.map(([a, b]) => `M${place(a)}L${place(b)}`).join('')}" stroke-opacity="0.6"><title>recall ${value}</title></path>`);
  const boundary = map.boundary.map((line) => `<path d="M${line.map(([x, y]) => `${frame.toX(x).toFixed(1)} ${frame.toY(y).toFixed(1)}`).join('L')}" stroke-width="2.5"/>`);
  const settings = fixedOf(seen).map(([name, value]) => (typeof value === 'number' ? `${lineOf(about, name).symbol} = ${value.toLocaleString('en-US')}` : `${name} ${value}`)).join(', ');
  const { body, bottom } = legend(seen, frame.height + LINE);
  const height = TITLE + bottom;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${frame.width}" height="${height}" viewBox="0 0 ${frame.width} ${height}" font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="12" fill="none" stroke="${style.ink}">`
    + `<rect width="100%" height="100%" fill="${style.paper}" stroke="none"/><g fill="${style.ink}">${text(frame.left, 19, `Predicted recall: ${settings}`, { more: ' font-weight="600"' })}</g><g transform="translate(0 ${TITLE})">`
    + `<image x="${frame.left}" y="${frame.top}" width="${frame.across}" height="${frame.down}" href="${inner.toDataURL()}"/>`
    + `<rect x="${frame.left}" y="${frame.top}" width="${frame.across}" height="${frame.down}"/>${lines.join('')}${boundary.join('')}`
    + `<g fill="${style.ink}">${axes(seen)}</g>${marks(seen)}<g fill="${style.ink}">${body}</g></g></svg>`;
}

/** The cells of the map, each with the settings that are the same for all. */
function cells(seen) {
  const { map } = seen;
  const columns = map.x.values.length;
  const fixed = fixedOf(seen);
  return csv([map.x.size, map.y.size, 'predicted_accuracy', 'part', 'term', ...fixed.map(([name]) => name)], map.accuracy.map((recall, index) => {
    const { part, term } = map.dominants[map.dominant[index]] ?? {};
    return [map.x.values[index % columns], map.y.values[Math.floor(index / columns)], recall, part, term, ...fixed.map(([, value]) => value)];
  }));
}

/** Makes the buttons under the map; `look` gives what is shown, or null. */
export function makeExports(about, look) {
  const given = (act) => () => { const seen = look(); if (seen) act(seen); };
  $('map-formats').append(formats('Save the map', {
    SVG: given((seen) => save('map.svg', svgOf(seen, about), 'image/svg+xml')),
    PNG: given(async (seen) => save('map.png', await png(svgOf(seen, about)))),
    CSV: given((seen) => save('map.csv', cells(seen), 'text/csv')),
    JSON: given(({ map, asked }) => save('map.json', JSON.stringify({ ...map, request: asked }, null, 1), 'application/json')),
  }));
}
