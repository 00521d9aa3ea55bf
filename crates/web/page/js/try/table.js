// All runs as a table that is sorted by a click on a column, and runs side by side.

import { fill, h, $ } from '../dom.js';
import { allRuns, keyOf, listenRuns, resultOf } from '../events.js';
import { count, interval, seconds, share } from '../format.js';
import { csv, formats, save } from '../save.js';
import { scrolling } from '../scroll.js';
import { SETTINGS } from '../sizes.js';
import { term } from '../terms.js';

/** Columns: name, the value that sorts, and how it is shown. */
const COLUMNS = [
  ['run', (run) => run.id, String],
  ['V', (run) => run.config.vocab, count], ['d', (run) => run.config.dim, count], ['L', (run) => run.config.length, count],
  ['N', (run) => run.config.samples, count], ['m', (run) => run.config.width, (width) => (width === null ? '–' : count(width))],
  ['trigger', (run) => run.config.trigger, String], ['embedding', (run) => run.config.embedding, String], ['seeds', (run) => run.config.repeats, count],
  ['measured', (run) => run.accuracy?.mean ?? null, (_, run) => interval(run.accuracy)],
  ['predicted', (run) => run.predicted, (value) => (value === null ? '–' : share(value))],
  ['difference', (run) => (run.predicted === null ? null : run.accuracy.mean - run.predicted), (value) => (value === null ? '–' : value.toFixed(3))],
  ['time', (run) => run.seconds, seconds],
];
const COMPARED = ['V', 'd', 'L', 'N', 'm', 'trigger', 'embedding', 'seeds'];
const RATES = ['accuracy', 'memory_accuracy', 'lock_rate', 'one_step_accuracy'];

/** Columns of the file, and a run's values in them. */
const SAVED = ['run', ...SETTINGS, 'measured', 'low', 'high', 'predicted', 'seconds'];
const saved = ({ id, config, accuracy, predicted, seconds: time }) =>
  [id, ...SETTINGS.map((name) => config[name]), accuracy.mean, accuracy.low, accuracy.high, predicted, time];

/** Makes the table of runs that are done. */
export function makeTable(state, fail) {
  const chosen = new Set();
  let by = 0;
  let down = true;
  let known = '';

  const done = () => allRuns().filter((run) => run.state === 'done' && run.accuracy);

  function sorted() {
    const value = COLUMNS[by][1];
    const order = (a, b) => (value(a) === value(b) ? 0 : value(a) === null ? 1 : value(b) === null ? -1 : value(a) < value(b) ? -1 : 1);
    return done().sort((a, b) => (down ? order(b, a) : order(a, b)));
  }

  const head = ([name], index) => h('th', { scope: 'col', 'aria-sort': by === index ? (down ? 'descending' : 'ascending') : 'none' },
    h('button', { type: 'button', id: `sort-${name}`, onclick: () => { down = by === index ? !down : true; by = index; show(true); } }, name));

  function row(run) {
    const pick = h('input', {
      type: 'checkbox', 'aria-label': `Compare run ${run.id}`, checked: chosen.has(run.id),
      onchange: () => { if (pick.checked) chosen.add(run.id); else chosen.delete(run.id); compare(); },
    });
    const cells = COLUMNS.map(([name, value, shown]) => h('td', { class: 'value' },
      name === 'run' ? h('a', { href: state.link({ tab: 'try', run: run.id }) }, `Run ${run.id}`) : shown(value(run), run)));
    return h('tr', { 'data-run': run.id }, h('td', {}, pick), cells);
  }

  /** The chosen runs side by side. */
  async function compare() {
    const runs = done().filter((run) => chosen.has(run.id));
    if (runs.length < 2) return fill($('compared'), runs.length ? h('p', { class: 'note' }, 'Choose another run to compare it with.') : null);
    try {
      const results = await Promise.all(runs.map((run) => resultOf(run.id)));
      const row = (name, cells) => h('tr', {}, h('th', { scope: 'row' }, name), cells.map((cell) => h('td', { class: 'value' }, cell)));
      const settings = COLUMNS.filter(([name]) => COMPARED.includes(name)).map(([name, value, shown]) => row(name, runs.map((run) => shown(value(run), run))));
      const line = (name) => row(term(name), results.map(({ record, prediction }) => [interval(record[name]), h('small', {}, `predicted ${share(prediction[name])}`)]));
      fill($('compared'), scrolling('Runs side by side', h('table', { class: 'data' },
        h('thead', {}, h('tr', {}, h('td', {}), runs.map((run) => h('th', { scope: 'col', class: 'value' }, `Run ${run.id}`)))),
        h('tbody', {}, settings, RATES.map(line)))));
    } catch (error) {
      fail(error);
    }
    return null;
  }

  function show(anew) {
    const runs = sorted();
    const key = runs.map(keyOf).join(' ');
    if (state.get().tab !== 'try' || (!anew && key === known)) return;
    known = key;
    $('all-runs').hidden = runs.length === 0;
    fill($('runs-table'), scrolling('Table of all runs', h('table', { class: 'data runs-table' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'compare'), COLUMNS.map(head))), h('tbody', {}, runs.map(row)))),
    formats('Save all runs', {
      CSV: () => save('runs.csv', csv(SAVED, runs.map(saved)), 'text/csv'),
      JSON: () => save('runs.json', JSON.stringify(runs, null, 1), 'application/json'),
    }));
    for (const id of chosen) if (!runs.some((run) => run.id === id)) chosen.delete(id);
    compare();
  }

  listenRuns(() => show(false));
  state.listen(() => show(false));
  show(false);
}
