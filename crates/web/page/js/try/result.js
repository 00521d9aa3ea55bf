// What a run measured, beside what was predicted: numbers with intervals, one example, margins, the noise budget.

import { budget } from '../budget.js';
import { fill, h, s, $ } from '../dom.js';
import { active, listenRuns, listed, resultOf, runOf, train } from '../events.js';
import { count, interval, share } from '../format.js';
import { csv, formats, save } from '../save.js';
import { describe, foreign, SETTINGS, unusual } from '../sizes.js';
import { term } from '../terms.js';
import { attention } from './attention.js';
import { margins } from './margins.js';
import { at, course, dropButton, recallOf, shareLine, showRun } from './queue.js';
import { showIntervals, stepRows } from './steps.js';

const RATES = ['accuracy', 'memory_accuracy', 'lock_rate', 'kept_rate', 'one_step_accuracy'];

/** The rates to show; that of kept tokens says something only where some are not kept. */
const ratesOf = (record) => RATES.filter((name) => record[name] && (name !== 'kept_rate' || record.config.keep !== null));

/** One rate on a line: the measured interval, its mean as a dot, and the prediction. */
const line = (measured, predicted) => shareLine(predicted, { 'aria-hidden': 'true' },
  s('line', { class: 'interval', x1: at(measured.low), x2: at(measured.high), y1: 10, y2: 10 }),
  s('circle', { class: 'measured', cx: at(measured.mean), cy: 10, r: 4 }));

function rates(record, prediction) {
  const row = (name) => h('tr', {},
    h('th', { scope: 'row' }, term(name)),
    h('td', { class: 'picture' }, line(record[name], prediction[name])),
    h('td', { class: 'value measured' }, share(record[name].mean),
      h('small', {}, `${share(record[name].low)} to ${share(record[name].high)}`)),
    h('td', { class: 'value predicted' }, share(prediction[name])));
  return h('table', { class: 'rates' },
    h('thead', {}, h('tr', {}, h('td', {}), h('td', { class: 'picture' }),
      h('th', { scope: 'col', class: 'value measured' }, 'measured'), h('th', { scope: 'col', class: 'value predicted' }, 'predicted'))),
    h('tbody', {}, ratesOf(record).map(row)));
}

/** An interval this wide agrees with almost anything. */
const WIDE = 0.3;

/** Measurement and prediction in two sentences. */
function verdict({ accuracy, interval }, prediction, seeds) {
  const { mean, low, high } = accuracy;
  const held = `Recall is ${share(mean)}, with a 95% interval from ${share(low)} to ${share(high)} (${interval.replace('95%, ', '')}).`;
  if (prediction.accuracy === null) return `${held} There is no prediction for these settings.`;
  const away = Math.max(low - prediction.accuracy, prediction.accuracy - high, 0);
  const near = away <= (prediction.error ?? 0) ? ', but by no more than its own usual error' : '';
  const where = away === 0 ? 'inside the interval' : `outside the interval${near}`;
  const wide = high - low > WIDE ? ' The interval is wide: more repeats would narrow it.' : '';
  const [worst, best] = [Math.min(...seeds), Math.max(...seeds)];
  const apart = best - worst > WIDE ? ` Single trainings differ by far more than the closed form is off: the worst seed recalls ${share(worst)}, the best ${share(best)}.` : '';
  return `${held} The closed form said ${share(prediction.accuracy)}, ${where}.${wide}${apart}`;
}

/** Pictures of single sequences are of one trained model, numbers with intervals are of all. */
const ofFirst = ({ repeats, seed }) => (repeats > 1 ? `the first of ${repeats} repeats (seed ${seed})` : `the one repeat (seed ${seed})`);

/** The measures of a run as rows: name, measured with its interval, predicted. */
const measures = ({ record, prediction }) => ratesOf(record)
  .map((name) => [name, record[name].mean, record[name].low, record[name].high, prediction[name]]);

/** Files of a result. */
function files(id, result) {
  const columns = ['measure', 'measured', 'low', 'high', 'predicted', ...SETTINGS];
  const settings = SETTINGS.map((name) => result.record.config[name]);
  return formats('Save this run', {
    CSV: () => save(`run-${id}.csv`, csv(columns, measures(result).map((row) => [...row, ...settings])), 'text/csv'),
    JSON: () => save(`run-${id}.json`, JSON.stringify(result, null, 1), 'application/json'),
  });
}

function details({ record, prediction, example, margins: histogram }, seeds) {
  return [
    h('p', { class: 'verdict' }, verdict(record, prediction, seeds)),
    h('section', {}, h('h3', {}, 'Measured against predicted'), rates(record, prediction),
      h('p', { class: 'note' }, 'Lines from 0 to 1; the thick part is the ', term('interval', '95% interval'), '.')),
    example ? h('section', {}, h('h3', {}, 'Where the attention looks'), attention(example, ofFirst(record.config))) : null,
    histogram ? h('section', {}, h('h3', {}, term('margin', 'Margins')), margins(histogram, ofFirst(record.config))) : null,
    h('section', { class: 'pair' },
      [['logits', 'Noise in the '], ['scores', 'Noise in the token ']].map(([name, words]) => h('div', {}, h('h3', {}, words, term(name)),
        budget({ predicted: prediction.noise[name], measured: record.noise[name], intervals: record.noise_intervals?.[name] }))),
      h('p', { class: 'note' }, 'Standard deviation of each part over the ', term('signal'), '. Measured: ',
        record.noise_intervals ? [`over ${count(record.repeats)} seeds, with the `, term('interval', '95% interval'), '.'] : 'of one seed, without an interval.')),
  ];
}

/** A button that trains the next seeds too. The result is of all seeds, the earlier ones included. */
function again(run, state, fail) {
  const { repeats } = run.config;
  const more = Math.min(2 * repeats, state.ranges.repeats[1]);
  if (more <= repeats) return null;
  const go = (event) => {
    event.currentTarget.disabled = true;
    train({ ...run.config, repeats: more }).then(({ id }) => state.set({ run: id })).catch(fail);
  };
  return h('div', { class: 'course' }, course(run),
    h('button', { type: 'button', id: 'again', class: 'small', onclick: go, 'data-note': `Seeds ${run.config.seed} to ${run.config.seed + more - 1}, those of this run included: a narrower interval.` },
      `Train ${more - repeats} more seeds`));
}

/** What of a run's settings the page has no control for, and what follows from it. */
function unusualNote({ config }, usual) {
  const others = unusual(config, usual);
  const apart = foreign(config, usual) ? ' No map here is of its kind, so its point is a square.' : '';
  return others ? h('p', { class: 'unusual' }, `Set without a control of the page: ${others}.${apart}`) : null;
}

/** Keeps the chosen run on show. */
export function makeResult(state, fail) {
  const node = $('result');

  function none(id) {
    delete node.dataset.run;
    delete node.dataset.key;
    node.dataset.state = '';
    fill(node, h('p', { class: 'empty' }, id === null ? 'Train a model, or choose a run, to see what it learned.' : `Run ${id} is no longer here.`));
  }

  /** A place that fills itself, and the steps before it, with what the run measured. */
  function measured(run, steps) {
    const place = h('div');
    resultOf(run.id).then((result) => {
      showIntervals(steps, result.record);
      fill(place, details(result, recallOf(run)), files(run.id, result));
      // The attention is even before step 2; it moves to what step 2 made of it.
      requestAnimationFrame(() => requestAnimationFrame(() => place.querySelector('.attention')?.classList.add('learned')));
    }).catch(fail);
    return place;
  }

  function show() {
    const { tab, run: id } = state.get();
    const run = runOf(id);
    if (tab !== 'try') return;
    if (!run) {
      if (id === null || listed()) none(id);
      return;
    }
    node.dataset.run = id;
    showRun(node, run, '', () => {
      const here = { tab: 'explore', config: pick(run.config, Object.keys(state.defaults.config)) };
      const steps = stepRows();
      return [
        h('h2', {}, `Run ${id}`),
        h('p', { class: 'note' }, `${describe(run.config)}, seed ${run.config.seed}. `, h('a', { href: state.link(here) }, 'Show on the map')),
        unusualNote(run, state.usual),
        run.state === 'done' ? again(run, state, fail) : h('div', { class: 'course' }, course(run), active(run) ? dropButton(run, fail) : null),
        run.state === 'running' || recallOf(run).length ? h('section', {}, h('h3', {}, 'Step by step'), steps) : null,
        run.state === 'done' ? measured(run, steps) : null,
      ];
    });
  }

  listenRuns(show);
  state.listen((now, before) => {
    show();
    // On a phone the list of runs is under the result.
    if (now.tab === 'try' && now.run !== before.run && node.getBoundingClientRect().top < 0) node.scrollIntoView();
  });
  show();
}

const pick = (object, names) => Object.fromEntries(names.map((name) => [name, object[name]]));
