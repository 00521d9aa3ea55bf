// The task as a moving picture: tokens, the trigger, attention on one of them, the memory, the answer. How often the attention
// finds the token and the answer is right are the predicted rates of the point.

import { fill, h, s, $ } from './dom.js';
import { listenPrediction } from './explore/readout.js';
import { count } from './format.js';

/** Milliseconds of each stage: tokens, attention, memory, answer. */
const STAGES = [1100, 1100, 1100, 2200];
const SHOWN = 7;
const SIZE = { box: 34, gap: 8, top: 22, width: 560, height: 112 };

const still = matchMedia('(prefers-reduced-motion: reduce)');

/** A sequence that might be drawn at the point, and what the model makes of it. */
function example({ config, lock_rate: lock, accuracy }, pick = Math.random) {
  const tokens = Array.from({ length: Math.min(SHOWN, config.length) }, () => 1 + Math.floor(pick() * config.vocab));
  const trigger = Math.floor(pick() * tokens.length);
  const finds = tokens.length < 2 || pick() < (lock ?? 1);
  const looked = finds ? trigger : (trigger + 1) % tokens.length;
  const right = pick() < (accuracy ?? 0);
  const label = right ? tokens[trigger] : 1 + Math.floor(pick() * config.vocab);
  return { tokens, trigger, looked, right: label === tokens[trigger], label, more: config.length > tokens.length };
}

const box = (x, y, width, kind, ...lines) => s('g', { class: kind },
  s('rect', { x, y, width, height: SIZE.box, rx: 6 }),
  lines.map((line, index) => s('text', { x: x + width / 2, y: y + SIZE.box / 2 + 5 + 15 * (index - (lines.length - 1) / 2), 'text-anchor': 'middle' }, line)));

/** The picture of an example up to a stage. */
function draw({ tokens, trigger, looked, right, label, more }, stage) {
  const left = (index) => 2 + index * (SIZE.box + SIZE.gap);
  const end = left(tokens.length) + (more ? 22 : 0);
  const middle = SIZE.top + SIZE.box / 2;
  const low = SIZE.top + SIZE.box + 22;
  const steps = [
    tokens.map((token, index) => box(left(index), SIZE.top, SIZE.box, `token${index === trigger ? ' marked' : ''}${stage >= 1 && index === looked ? ' looked' : ''}`, token)),
    s('text', { class: 'mark', x: left(trigger) + SIZE.box / 2, y: SIZE.top - 7, 'text-anchor': 'middle' }, '▼'),
    more ? s('text', { x: left(tokens.length), y: middle + 4 }, '…') : null,
    stage >= 1 ? s('path', { class: 'look', d: `M${left(looked) + SIZE.box / 2} ${SIZE.top + SIZE.box + 3}V${low + SIZE.box / 2}H${end + 14}` }) : null,
    stage >= 1 ? s('text', { class: 'word', x: left(looked) + SIZE.box / 2 + 8, y: low + 6 }, looked === trigger ? 'attention finds it' : 'attention misses it') : null,
    stage >= 2 ? box(end + 18, SIZE.top + 8, 92, 'memory', 'memory', `${tokens[looked]} → ?`) : null,
    stage >= 3 ? s('path', { class: 'look', d: `M${end + 114} ${middle + 8}h16` }) : null,
    stage >= 3 ? box(end + 134, SIZE.top + 8, 76, right ? 'answer right' : 'answer wrong', `label ${label}`, right ? '✓ right' : '✗ wrong') : null,
  ];
  return s('svg', { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, 'aria-hidden': 'true' }, steps);
}

/** Makes the picture and lets it run while it is seen. */
export function makeTask(state) {
  const place = $('task');
  const words = h('p', { class: 'note' });
  const picture = h('div');
  place.append(picture, words);
  let prediction = null;
  let shown = null;
  let stage = 0;

  function step() {
    const seen = prediction && state.get().tab === 'explore' && !$('welcome').hidden && !document.hidden;
    if (seen) {
      if (still.matches) stage = STAGES.length - 1;
      if (stage === 0 || !shown) shown = example(prediction);
      fill(picture, draw(shown, stage));
      stage = (stage + 1) % STAGES.length;
    }
    setTimeout(step, seen ? STAGES[(stage + STAGES.length - 1) % STAGES.length] : 400);
  }

  listenPrediction((found) => {
    prediction = found;
    const often = found.accuracy === null ? '' : `; about ${count(Math.round(100 * found.accuracy))} of 100 answers are right`;
    words.textContent = `An invented sequence at the ring: V = ${count(found.config.vocab)}, L = ${count(found.config.length)}${often}.`;
  });
  step();
}
