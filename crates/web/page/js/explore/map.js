// The phase map: asks for it when the slice changes, paints it, and keeps the point and the measured points in place.

import { newest } from '../api.js';
import { colour } from '../colour.js';
import { fill, h, say, $ } from '../dom.js';
import { listenLink } from '../events.js';
import { lineOf, rangeOf, setBy, withSize } from '../sizes.js';
import { onTheme, theme } from '../theme.js';
import { nameOf, term } from '../terms.js';
import { linesOf } from './contours.js';
import { makeDots } from './dots.js';
import { writeNames } from './names.js';
import { checkedPart, frameOf, paint } from './paint.js';
import { makePoint } from './point.js';
import { raster } from './raster.js';
import { hatch } from './regions.js';
import { makeHover } from './hover.js';
import { makeExports } from './exports.js';

const RESOLUTION = 64;
const NARROW = 480;
/** Room for the legend and the button under the map, and the smallest height of a map. */
const BELOW = 200;
const MIN_HEIGHT = 270;
/** How near to the middle of the ring numbers may come. */
const NEAR = 10;

/** What a map depends on: the configuration but for the sizes on its axes. The key tells whether one must be asked for. */
function question(state, about) {
  const { config, x, y, accuracy } = state;
  // The map is of whole sequences. It does not depend on the point's sizes along its axes: those at the good ends are always allowed.
  const best = Object.assign({}, ...[x, y].map((size) => {
    const { low, high } = rangeOf(about, config, size);
    return withSize(config, size, lineOf(about, size).helps ? high : low);
  }));
  const asked = { config: { ...config, ...best, keep: null }, x: rangeOf(about, config, x), y: rangeOf(about, config, y), resolution: RESOLUTION, accuracy };
  const rest = { ...config, keep: null, repeats: null, seed: null };
  delete rest[setBy(x)];
  delete rest[setBy(y)];
  return { asked, key: JSON.stringify([rest, asked.x, asked.y, accuracy]) };
}

function styleOf(canvas) {
  const css = getComputedStyle(canvas);
  const [ink, muted, axis] = ['--ink', '--muted', '--edge'].map((name) => css.getPropertyValue(name));
  return { font: css.fontFamily, ink, muted, axis, paper: getComputedStyle(document.documentElement).backgroundColor };
}

/** What the colour bar and the hatchings in words show now. */
let explained = null;

/** The colour bar and the hatchings in words, drawn again only if they change: it runs for every move of a slider. */
function legend(map, { shown }, frame) {
  const part = checkedPart(map, frame);
  const whole = part && part.left <= frame.left + 1 && part.top <= frame.top + 1 && part.right >= frame.left + frame.across - 1 && part.bottom >= frame.top + frame.down - 1;
  $('key-unchecked').hidden = Boolean(whole);
  const next = JSON.stringify([theme(), shown]);
  if (next === explained) return;
  explained = next;
  const bar = $('ramp');
  const pen = bar.getContext('2d');
  for (let at = 0; at < bar.width; at++) {
    pen.fillStyle = colour(at / (bar.width - 1), theme());
    pen.fillRect(at, 0, 1, bar.height);
  }
  fill($('hatchings'), shown.map((dominant) => {
    const swatch = h('canvas', { width: 56, height: 32, 'aria-hidden': 'true' });
    const brush = swatch.getContext('2d');
    brush.scale(2, 2);
    brush.fillStyle = hatch(brush, dominant, getComputedStyle(bar).color);
    brush.fillRect(0, 0, 28, 16);
    return h('li', {}, swatch, term(dominant.term, nameOf(dominant)));
  }));
}

/** The map in words, for those who do not see it. */
function describeMap(map) {
  const reached = map.accuracy ? map.accuracy.filter((value) => value >= map.level).length / map.accuracy.length : 0;
  const names = map.dominants.filter((_, kind) => map.dominant.includes(kind)).map(nameOf).join(', ');
  return `Predicted accuracy over ${map.x.size} ${map.x.symbol} and ${map.y.size} ${map.y.symbol}. `
    + `${Math.round(100 * reached)}% of the map is above ${map.level}. Below it recall is limited by: ${names || 'nothing'}.`;
}

/** Makes the map of the page; gives what calls back after its next picture is drawn. */
export function makeMap(state, about) {
  const figure = $('map');
  const canvas = $('map-canvas');
  const note = $('map-note');
  let key = null;
  let shown = null;

  const point = makePoint(state, about);
  const dots = makeDots(state, () => write());

  function frame() {
    const width = figure.clientWidth;
    // Beside other columns the map is as high as leaves the button under it on the screen.
    const room = Math.max(innerHeight - figure.getBoundingClientRect().top - scrollY - BELOW, MIN_HEIGHT);
    const height = Math.round(width < NARROW ? width * 0.86 : Math.min(width * 0.92, room));
    const { config, x, y } = state.get();
    return frameOf(width, height, rangeOf(about, config, x), rangeOf(about, config, y));
  }

  function draw() {
    const at = frame();
    canvas.style.setProperty('height', `${at.height}px`);
    if (shown && at.width > 0) {
      const held = frameOf(at.width, at.height, shown.asked.x, shown.asked.y);
      shown.fine = raster(shown.map, held.x, held.y);
      shown.fine.lines = linesOf(shown.map, shown.fine);
      paint(canvas, shown.map, shown.fine, held, theme(), styleOf(canvas));
      legend(shown.map, shown.fine, held);
    }
    place(at);
    write(at);
  }

  // The frame is asked for once per picture where possible: after a change of the page it makes the browser lay it out.

  /** Writes the names of the regions beside the measured points. */
  function write(at = frame()) {
    if (!shown?.fine || at.width <= 0) return;
    const held = frameOf(at.width, at.height, shown.asked.x, shown.asked.y);
    const ring = point.box();
    shown.written = writeNames(shown.map, shown.fine, held, theme(), getComputedStyle(canvas).fontFamily, dots.taken(), ring);
    // A number may stand close beside the ring, whose own point is under it.
    dots.leave([...shown.written, ...(ring ? [{ ...ring, across: NEAR, up: NEAR }] : [])]);
  }

  function place(at) {
    if (state.get().tab !== 'explore') return;
    const here = at ?? frame();
    point.place(here);
    dots.place(here);
  }

  const ask = newest('/api/map', {
    busy: (is) => figure.setAttribute('aria-busy', is),
    show(map, asked) {
      note.hidden = map.gap === null;
      say(note, map.gap ?? '');
      const blank = () => new Array(map.x.values.length * map.y.values.length).fill(null);
      shown = { asked, map: { ...map, accuracy: map.accuracy ?? blank() } };
      draw();
      canvas.setAttribute('aria-label', describeMap(map));
    },
    fail(error) {
      key = null;
      note.hidden = false;
      say(note, error.message);
    },
  });

  function update() {
    if (state.get().tab !== 'explore') return;
    const next = question(state.get(), about);
    if (next.key !== key) {
      key = next.key;
      ask(next.asked);
    }
    const before = JSON.stringify(point.box());
    place();
    // Writing makes way for the ring; where that rests, a new map is written on when it is drawn.
    if (JSON.stringify(point.box()) !== before) write();
  }

  makeHover(state, about, () => (shown?.fine ? { ...shown, frame: frame() } : null));
  makeExports(about, () => (shown?.fine ? { ...shown, frame: frame(), canvas, style: styleOf(canvas), dots: dots.all(), ring: point.box() } : null));
  const watch = new ResizeObserver(draw);
  for (const node of [figure, $('welcome'), $('ignored')]) watch.observe(node);
  addEventListener('resize', draw);
  onTheme(draw);
  state.listen(update);
  listenLink((there) => { if (there) update(); });
  update();
  return ask.after;
}
