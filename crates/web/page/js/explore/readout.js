// The closed form at the point: accuracies, what limits recall and what would help, critical values, the noise budget.

import { newest } from '../api.js';
import { budget } from '../budget.js';
import { fill, h, say, $ } from '../dom.js';
import { listenLink } from '../events.js';
import { count, share, title, words } from '../format.js';
import { term } from '../terms.js';
import { lineOf, nameOfSize } from '../sizes.js';

const RATES = ['memory_accuracy', 'lock_rate', 'kept_rate', 'one_step_accuracy'];
const ORDER = ['samples', 'dim', 'width', 'length', 'vocab'];

function meter(name, value) {
  return h('div', { class: 'meter' },
    h('dt', {}, term(name)),
    h('dd', {}, h('span', { class: 'rate' }, share(value)), h('span', { class: 'track', 'aria-hidden': 'true' },
      h('span', { class: 'level', style: { width: `${100 * (value ?? 0)}%` } }))));
}

/** One critical value: a button that goes there, or the reason why there is none. */
function critical(state, about, found, size) {
  const { symbol, helps } = lineOf(about, size);
  const value = found.critical[size];
  const text = value === null ? null : `${symbol} ${helps ? '≥' : '≤'} ${count(value)}`;
  const go = () => state.set({ config: { [size]: value } });
  return h('li', {}, value === null
    ? [h('span', { class: 'symbol' }, symbol), h('span', { class: 'reason' }, words(found.critical_reason[size] ?? 'unknown'))]
    : [h('button', { type: 'button', class: 'go', id: `go-${size}`, onclick: go, 'data-note': 'Go there.' }, text), h('span', { class: 'reason' }, nameOfSize(size))]);
}

function show(state, about, found) {
  say($('predicted'), share(found.accuracy));
  say($('error-size'), found.error === null ? '' : String(found.error));
  $('error').hidden = found.error === null;
  $('unchecked').hidden = found.error_reason === null;
  say($('unchecked-reason'), found.error_reason ? `${title(found.error_reason)}.` : '');
  say($('sentence'), found.advice.sentence);
  fill($('rates'), RATES.map((name) => meter(name, found[name])));
  say($('critical-level'), String(found.target.accuracy));
  const sizes = ORDER.filter((size) => size !== 'width' || found.config.width !== null);
  fill($('critical'), sizes.map((size) => critical(state, about, found, size)));
  fill($('gaps'), found.gaps.map(({ quantity, text }) => h('li', {}, `${words(quantity)}: ${text}`)));
  fill($('budget-logits'), budget({ predicted: found.noise.logits }));
  fill($('budget-scores'), budget({ predicted: found.noise.scores }));
  fill($('conditions'), found.conditions.map(({ text, holds }) => h('li', { class: holds ? 'holds' : 'fails' }, words(text))));
}

/** Keeps the numbers beside the map in step with the point. */
export function makeReadout(state, about) {
  const panel = $('readout');
  let key = null;
  const refused = (is) => {
    $('numbers').classList.toggle('silent', is);
    panel.classList.toggle('stale', is);
  };
  const ask = newest('/api/predict', {
    busy: (is) => panel.setAttribute('aria-busy', is),
    show(found) {
      refused(false);
      show(state, about, found);
    },
    fail(error) {
      key = null;
      refused(true);
      say($('predicted'), 'none');
      $('error').hidden = $('unchecked').hidden = true;
      say($('sentence'), error.message);
      fill($('gaps'));
    },
  });
  const update = () => {
    const { tab, config, accuracy } = state.get();
    const next = JSON.stringify([config, accuracy]);
    if (tab !== 'explore' || next === key) return;
    key = next;
    ask({ config, accuracy });
  };
  state.listen(update);
  listenLink((there) => { if (there) update(); });
  update();
}
