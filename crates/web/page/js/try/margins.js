// The histogram of margins: wrong answers left of zero, right ones right of it.

import { h, s } from '../dom.js';
import { count, digits, share } from '../format.js';
import { evenTicks } from '../scale.js';

const WIDTH = 480;
const HEIGHT = 170;
const FLOOR = 140;
const TOP = 24;

/** The histogram as a picture with its sentence; `model` says of which trained model it is. */
export function margins({ edges, counts, unit, share_right: right }, model) {
  const low = edges[0];
  const high = edges[edges.length - 1];
  const tallest = Math.max(...counts, 1);
  const x = (value) => 8 + (WIDTH - 16) * ((value - low) / (high - low));
  const y = (value) => FLOOR - (FLOOR - TOP) * (value / tallest);
  const bar = (number, index) => {
    const kind = edges[index] >= 0 ? 'right' : 'wrong';
    const width = Math.max(x(edges[index + 1]) - x(edges[index]) - 1, 0.5);
    return s('rect', { class: kind, 'data-note': `${count(number)} margins from ${digits(edges[index])} to ${digits(edges[index + 1])}`, x: x(edges[index]), y: y(number), width, height: FLOOR - y(number) });
  };
  const tick = (value) => s('g', { class: 'tick' },
    s('line', { x1: x(value), x2: x(value), y1: FLOOR, y2: FLOOR + 5 }),
    s('text', { x: x(value), y: FLOOR + 18, 'text-anchor': 'middle' }, digits(value)));
  const zero = x(0);
  const beside = (text, away, anchor) => s('text', { class: 'side', x: zero + away, y: 12, 'text-anchor': anchor }, text);
  const summary = `Histogram of margins, ${counts.length} bars; ${share(right)} above zero`;
  const tested = counts.reduce((sum, number) => sum + number, 0);
  return [
    h('p', {}, `${share(right)} of the margins are above zero: those answers are right. Shown are ${count(tested)} test sequences of ${model}.`),
    s('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'margins', role: 'img', 'aria-label': summary },
      counts.map(bar),
      s('line', { class: 'floor', x1: x(low), x2: x(high), y1: FLOOR, y2: FLOOR }),
      s('line', { class: 'zero', x1: zero, x2: zero, y1: 4, y2: FLOOR + 5 }),
      zero > 60 ? beside('wrong', -6, 'end') : null,
      zero < WIDTH - 60 ? beside('right', 6, 'start') : null,
      evenTicks(low, high, 4).map(tick)),
    h('p', { class: 'note' }, `Right logit over the best wrong one, ${unit === 'logits' ? 'in logits' : unit}.`),
  ];
}
