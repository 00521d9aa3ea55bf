// The runs: waiting, going on, ended. Each with its progress and a way to cancel or remove it.

import { fill, h, s, say, $ } from '../dom.js';
import { active, allRuns, drop, isNew, keyOf, listenRuns } from '../events.js';
import { interval, seconds, share } from '../format.js';
import { describe, unusual } from '../sizes.js';
import { showSteps } from './steps.js';

const places = (ahead) => (ahead === 0 ? 'next in the queue' : `${ahead} ahead in the queue`);

/** Where a run stands, in words. */
function standing(run) {
  switch (run.state) {
    case 'queued': return run.position === null ? 'queued' : places(run.position);
    case 'running': {
      const repeat = run.config.repeats > 1 ? ` ${run.repeat + 1} of ${run.config.repeats}` : '';
      return `${run.stage ?? 'starting'}${repeat}, ${seconds(run.seconds ?? 0)}`;
    }
    case 'done': return `${interval(run.accuracy)}, ${run.predicted === null ? 'no prediction' : `predicted ${share(run.predicted)}`}`;
    case 'failed': return run.error;
    default: return 'cancelled';
  }
}

/** The line of a run's settings for which the page has no control, if it has any. */
function unusualLine(run, usual) {
  const others = unusual(run.config, usual);
  return others ? h('p', { class: 'unusual' }, others) : null;
}

/** The button that cancels a run or removes it from the list. */
export function dropButton(run, fail) {
  const text = active(run) ? 'Cancel' : 'Remove';
  return h('button', {
    type: 'button', class: 'small drop', 'aria-label': `${text} run ${run.id}`, onclick: () => drop(run.id).catch(fail),
  }, text);
}

/** Where a run stands, and how far it is while it goes on. */
export const course = (run) => [
  h('span', { class: 'standing' }),
  active(run) ? h('progress', { max: 1, 'aria-label': `Progress of run ${run.id}` }) : null,
];

/** A place for a dot for every seed. */
export const seeds = () => h('span', { class: 'seeds' });

/** The recall of every seed so far. */
export const recallOf = (run) => run.by_seed.accuracy ?? [];

/** Where a value stands on a line from 0 to 1. */
export const at = (value) => 4 + 192 * value;

/** A line from 0 to 1 with marks on it, and the prediction as a diamond. */
export const shareLine = (predicted, attributes, ...marks) => s('svg', { viewBox: '0 0 200 20', class: 'line', ...attributes },
  s('line', { class: 'axis', x1: at(0), x2: at(1), y1: 10, y2: 10 }),
  [0, 0.5, 1].map((value) => s('line', { class: 'axis', x1: at(value), x2: at(value), y1: 6, y2: 14 })),
  predicted === null ? null : s('path', { class: 'predicted', d: `M${at(predicted)} 3l5 7-5 7-5-7z` }),
  marks);

/** The recall of every seed on a line, with the prediction. */
function seedLine(run, delays) {
  const { predicted, config } = run;
  const values = recallOf(run);
  const words = `Recall of ${values.length} of ${config.repeats} seeds: ${values.map(share).join(', ')}`;
  return shareLine(predicted, { role: 'img', 'aria-label': words, 'data-note': words },
    values.map((value, index) => s('circle', { class: delays ? 'seed new' : 'seed', cx: at(value), cy: 10, r: 3, style: delays ? { 'animation-delay': `${delays[index]}ms` } : null })));
}

/** Milliseconds between the dots of two seeds. A training may be over before the eye has seen one. */
const TURN = 140;
/** When the dots of which run came to a node. */
const arrivals = new WeakMap();

/** How long from now each dot of a run comes, one after the other; below zero for what is there already. */
function delaysOf(node, run) {
  if (!isNew(run.id)) return null;
  const now = performance.now();
  const times = arrivals.get(node)?.id === run.id ? arrivals.get(node).times : [];
  while (times.length < recallOf(run).length) times.push(Math.max(now, (times.at(-1) ?? 0) + TURN));
  arrivals.set(node, { id: run.id, times });
  return times.map((time) => Math.round(time - now));
}

/**
 * Shows a run in a node. What `build` gives is made anew only when the run's state or `view` changes: progress comes many times
 * a second, and a button that is pressed must still be there when it is let go.
 */
export function showRun(node, run, view, build) {
  const key = `${keyOf(run)} ${run.state} ${view}`;
  if (node.dataset.key !== key) {
    node.dataset.key = key;
    node.dataset.state = run.state;
    fill(node, build());
  }
  const words = node.querySelector('.standing');
  const bar = node.querySelector('progress');
  if (words) say(words, standing(run));
  if (bar) bar.value = run.share ?? 0;
  const dots = node.querySelector('.seeds');
  const count = recallOf(run).length;
  if (dots && dots.dataset.count !== String(count)) {
    dots.dataset.count = count;
    fill(dots, count ? seedLine(run, delaysOf(node, run)) : null);
  }
  const steps = node.querySelector('.steps');
  if (steps) showSteps(steps, run, delaysOf(node, run));
}

/** Keeps the list of runs, newest first. */
export function makeQueue(state, fail) {
  const rows = new Map();

  function row(run) {
    const chosen = state.get().run === run.id;
    const link = state.link({ tab: 'try', run: run.id });
    if (!rows.has(run.id)) rows.set(run.id, h('li', { class: 'run', 'data-run': run.id }));
    const node = rows.get(run.id);
    node.classList.toggle('chosen', chosen);
    showRun(node, run, link, () => [
      h('a', { id: `run-${run.id}`, href: link, 'aria-current': chosen ? 'true' : null }, `Run ${run.id}`),
      course(run), dropButton(run, fail), seeds(), h('p', { class: 'note' }, describe(run.config)), unusualLine(run, state.usual),
    ]);
    return node;
  }

  function show() {
    if (state.get().tab !== 'try') return;
    const list = $('runs');
    const shown = allRuns().reverse().map(row);
    $('no-runs').hidden = shown.length > 0;
    if (shown.length !== list.children.length || shown.some((node, index) => list.children[index] !== node)) fill(list, shown);
  }

  listenRuns(show);
  state.listen(show);
  show();
}
