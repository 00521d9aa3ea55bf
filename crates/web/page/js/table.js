// Tables of values as the server sends them: null, a number, a string, or `{mean, low, high}`.

import { h } from './dom.js';
import { digits } from './format.js';
import { scrolling } from './scroll.js';

const FIRST = 12;
const NUMBER = /^[0-9][0-9,.]*(e-?[0-9]+)?$/;

function cell(value) {
  if (value === null) return h('td', { class: 'value' }, '–');
  if (typeof value === 'string') return h('td', { class: NUMBER.test(value) ? 'value' : null }, value);
  if (typeof value === 'boolean') return h('td', {}, value ? 'yes' : 'no');
  if (typeof value === 'number') return h('td', { class: 'value' }, digits(value));
  return h('td', { class: 'value' }, digits(value.mean), h('small', {}, ` ${digits(value.low)} to ${digits(value.high)}`));
}

/** Whether a column holds words, and so begins at the left. */
const worded = (rows, index) => rows.some((row) => typeof row[index] === 'string' && !NUMBER.test(row[index]));

/** A table; long ones show all their rows on a click. */
export function table({ caption, columns, rows, total }) {
  const body = h('tbody', {});
  const shown = scrolling(caption,
    h('table', { class: 'data' },
      h('thead', {}, h('tr', {}, columns.map((name, index) => h('th', { scope: 'col', class: worded(rows, index) ? null : 'value' }, name)))),
      body));
  const put = (some) => body.replaceChildren(...some.map((row) => h('tr', {}, row.map(cell))));
  put(rows.slice(0, FIRST));
  if (rows.length <= FIRST) return h('div', {}, shown);
  const all = h('button', { type: 'button', class: 'small', onclick: () => { put(rows); all.remove(); } },
    total > rows.length ? `Show ${rows.length} of ${total} rows` : `Show all ${rows.length} rows`);
  return h('div', {}, shown, all);
}
