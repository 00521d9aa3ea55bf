// What each of the three steps of training brings, from the first seed on: a bar for the mean and a dot for every seed.

import { h, say } from '../dom.js';
import { interval, share } from '../format.js';
import { term } from '../terms.js';

const STEPS = [
  ['Step 1 stores the facts', 'one_step_accuracy'],
  ['Step 2 turns the attention to the trigger', 'lock_rate'],
  ['Step 3 stores again, through the attention', 'accuracy'],
];

/** The rows of a run, still without values. */
export const stepRows = () => h('ol', { class: 'steps' }, STEPS.map(([words, name]) => h('li', { 'data-measure': name },
  h('span', {}, `${words}: `, term(name)),
  h('span', { class: 'track', 'aria-hidden': 'true' }, h('span', { class: 'level' })),
  h('span', { class: 'value' }))));

/** Adds the seeds that have come; `delays` has the milliseconds after which each dot comes, or is null where all are there. */
export function showSteps(rows, { by_seed: bySeed, config }, delays) {
  for (const row of rows.children) {
    const values = bySeed[row.dataset.measure] ?? [];
    const track = row.querySelector('.track');
    const shown = track.children.length - 1;
    if (shown === values.length) continue;
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    track.firstChild.style.setProperty('width', `${100 * mean}%`);
    track.append(...values.slice(shown).map((value, index) => h('span', {
      class: delays ? 'seed new' : 'seed', style: { left: `${100 * value}%`, 'animation-delay': delays && `${delays[shown + index]}ms` },
    })));
    say(row.querySelector('.value'), `${share(mean)} (${values.length} of ${config.repeats} ${config.repeats === 1 ? 'seed' : 'seeds'})`);
  }
}

/** Writes the intervals of a run that is done. */
export function showIntervals(rows, record) {
  for (const row of rows.children) say(row.querySelector('.value'), interval(record[row.dataset.measure]));
}
