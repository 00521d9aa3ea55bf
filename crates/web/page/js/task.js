// The task as a moving picture: tokens, the trigger, attention on one of them, the fact that the memory holds, the answer. How
// often the attention finds the token and the answer is right are the predicted rates of the point.

import { fill, h, s, $ } from './dom.js';
import { listenPrediction } from './explore/readout.js';
import { brief, count, share } from './format.js';

/** Milliseconds of each stage: tokens, attention, memory, answer. */
const STAGES = [1100, 1100, 1100, 2200];
const SIZE = { box: 34, gap: 8, top: 22, height: 112 };
/** The width that tokens may take: of a whole line, and where the picture is as narrow as a phone. */
const ROOM = { wide: 294, narrow: 130 };
const DIGIT = 7.2;
/** Spreads labels over all facts: a large prime, so that no two tokens have one label. */
const SPREAD = 611953;

const still = matchMedia('(prefers-reduced-motion: reduce)');
const narrow = matchMedia('(max-width: 720px)');

/** A number that is short to write: one of a large vocabulary has three digits that count. */
const round = (number) => (number < 10000 ? number : Number(number.toPrecision(3)));
const written = (number) => (number < 10000 ? String(number) : brief(number));
/** Letters of the longest number up to another: 4,999 as it is, then as 49.9k or 1.99M, then as 1.99e9. */
const longest = (number) => (number < 10000 ? String(number).length : number < 1e9 ? 5 : 6);
/** The label of a token, as a model might have to remember it. */
const labelOf = (token, vocab) => round(1 + ((token * SPREAD + 7) % vocab));

/** A sequence that might be drawn at the point, and what the model makes of it. */
function example({ config, lock_rate: lock, accuracy }, pick = Math.random) {
  const { vocab, length } = config;
  const box = Math.max(SIZE.box, DIGIT * longest(vocab) + 12);
  const room = Math.floor(ROOM[narrow.matches ? 'narrow' : 'wide'] / (box + SIZE.gap));
  const tokens = Array.from({ length: Math.min(room, length) }, () => round(1 + Math.floor(pick() * vocab)));
  const trigger = Math.floor(pick() * tokens.length);
  const found = lock ?? 1;
  const looked = tokens.length < 2 || pick() < found ? trigger : (trigger + 1) % tokens.length;
  const fact = labelOf(tokens[looked], vocab);
  const wanted = labelOf(tokens[trigger], vocab);
  const holds = looked !== trigger || pick() * Math.max(found, 1e-9) < (accuracy ?? 0);
  const label = holds ? fact : labelOf(round(1 + Math.floor(pick() * vocab)), vocab);
  return { tokens, trigger, looked, fact, wanted, label, box, more: length > tokens.length };
}

const boxed = (x, y, width, kind, ...lines) => s('g', { class: kind },
  s('rect', { x, y, width, height: SIZE.box, rx: 6 }),
  lines.map((line, index) => s('text', { x: x + width / 2, y: y + SIZE.box / 2 + 5 + 15 * (index - (lines.length - 1) / 2), 'text-anchor': 'middle' }, line)));

/** The picture of an example up to a stage. */
function draw({ tokens, trigger, looked, fact, wanted, label, box, more }, stage) {
  const left = (index) => 2 + index * (box + SIZE.gap);
  const end = left(tokens.length) + (more ? 22 : 0);
  const low = SIZE.top + SIZE.box + 22;
  const lines = ['memory holds', `${written(tokens[looked])} → label ${written(fact)}`];
  const memory = { x: end + 10, y: SIZE.top, width: 6.4 * Math.max(...lines.map((line) => line.length)) + 14 };
  const right = label === wanted;
  const answer = { x: memory.x + memory.width + 24, lines: [`label ${written(label)}`, right ? '✓ right' : `✗ not ${written(wanted)}`] };
  const middle = SIZE.top + SIZE.box / 2;
  const word = 7 * Math.max(...answer.lines.map((line) => line.length)) + 12;
  const steps = [
    tokens.map((token, index) => boxed(left(index), SIZE.top, box, `token${index === trigger ? ' marked' : ''}${stage >= 1 && index === looked ? ' looked' : ''}`, written(token))),
    s('text', { class: 'mark', x: left(trigger) + box / 2, y: SIZE.top - 7, 'text-anchor': 'middle' }, '▼'),
    more ? s('text', { x: left(tokens.length), y: middle + 4 }, '…') : null,
    stage >= 1 ? s('path', { class: 'look', d: `M${left(looked) + box / 2} ${SIZE.top + SIZE.box + 2}V${low + SIZE.box / 2}H${memory.x + memory.width / 2}${stage >= 2 ? `V${memory.y + SIZE.box + 1}` : ''}` }) : null,
    stage >= 1 ? s('text', { class: 'word', x: left(looked) + box / 2 + 8, y: low + 10 }, looked === trigger ? 'attention finds it' : 'attention misses it') : null,
    stage >= 2 ? boxed(memory.x, memory.y, memory.width, 'memory', ...lines) : null,
    stage >= 3 ? s('path', { class: 'look', d: `M${memory.x + memory.width} ${middle}H${answer.x}` }) : null,
    stage >= 3 ? boxed(answer.x, SIZE.top, word, right ? 'answer right' : 'answer wrong', ...answer.lines) : null,
  ];
  const width = Math.max(answer.x + word + 4, narrow.matches ? 0 : 560);
  return s('svg', { viewBox: `0 0 ${width} ${SIZE.height}`, 'aria-hidden': 'true' }, steps);
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
  let timer = 0;

  function step() {
    const seen = prediction && state.get().tab === 'explore' && !$('welcome').hidden && !document.hidden;
    if (seen) {
      if (still.matches) stage = STAGES.length - 1;
      if (stage === 0 || !shown) shown = example(prediction);
      fill(picture, draw(shown, stage));
      stage = (stage + 1) % STAGES.length;
    }
    timer = setTimeout(step, seen ? STAGES[(stage + STAGES.length - 1) % STAGES.length] : 400);
  }

  /** Begins a new sequence. */
  function restart() {
    clearTimeout(timer);
    stage = 0;
    shown = null;
    step();
  }

  listenPrediction((found) => {
    const { vocab, length } = prediction?.config ?? {};
    prediction = found;
    words.textContent = `An invented sequence at the ring: V = ${count(found.config.vocab)}, L = ${count(found.config.length)}${found.accuracy === null ? '' : `, predicted recall ${share(found.accuracy)}`}.`;
    if (vocab !== found.config.vocab || length !== found.config.length) restart();
  });
  narrow.addEventListener('change', restart);
  step();
}
