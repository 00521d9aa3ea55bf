// The noise budget as bars: the standard deviation of each named part over the signal. Predicted, and measured where it was.

import { h } from './dom.js';
import { ratio } from './format.js';
import { term } from './terms.js';

const PARTS = ['mean_bias', 'interference', 'gradient_noise', 'output_overlap', 'mlp_noise', 'attention_leak'];
const MIN_SCALE = 0.1;

/** Standard deviation over the signal, by part; null where it is not known. */
function ratios(noise) {
  const ratio = (part) => (noise[part] === null || !noise.signal ? null : Math.sqrt(noise[part] / noise.signal));
  return Object.fromEntries(PARTS.map((part) => [part, ratio(part)]));
}

function bar(kind, value, scale) {
  if (value === null) return null;
  return h('span', { class: `bar ${kind}`, style: { width: `${100 * Math.min(value / scale, 1)}%` } });
}

/** The 95% interval of a measured part, where there is one. */
const between = (interval) => (interval ? h('small', {}, `${ratio(interval.low)} to ${ratio(interval.high)}`) : null);

/**
 * Rows of bars, largest first. `predicted` and `measured` are noise budgets; either may be left out. `intervals` has those of
 * what was measured.
 */
export function budget({ predicted, measured, intervals }) {
  const kinds = [['measured', measured], ['predicted', predicted]].filter(([, noise]) => noise).map(([kind, noise]) => [kind, ratios(noise)]);
  const largest = (part) => Math.max(...kinds.map(([, all]) => all[part] ?? 0));
  const known = PARTS.filter((part) => largest(part) > 0).sort((a, b) => largest(b) - largest(a));
  const scale = Math.max(MIN_SCALE, ...known.map(largest));
  if (!known.length) return h('p', { class: 'note' }, 'Not known here.');
  const head = h('tr', { class: kinds.length < 2 ? 'unseen' : '' }, h('td', {}), h('td', {}),
    kinds.map(([kind]) => h('th', { scope: 'col', class: `value ${kind}` }, kind)));
  const row = (part) => h('tr', {},
    h('th', { scope: 'row' }, term(part)),
    h('td', { class: 'bars', 'aria-hidden': 'true' }, kinds.map(([kind, all]) => bar(kind, all[part], scale))),
    kinds.map(([kind, all]) => h('td', { class: `value ${kind}` }, all[part] === null ? '–' : ratio(all[part]), kind === 'measured' ? between(intervals?.[part]) : null)));
  return h('table', { class: 'budget' }, h('thead', {}, head), h('tbody', {}, known.map(row)));
}
