// The closed form at the point: accuracies, what limits recall and what would help, critical values, the noise budget.

import { newest } from '../api.js';
import { budget } from '../budget.js';
import { fill, h, raised, say, $ } from '../dom.js';
import { listenLink } from '../events.js';
import { count, share, title, words } from '../format.js';
import { plain, plainCondition, plainReason } from '../plain.js';
import { PLAIN, nameOf, term } from '../terms.js';
import { lineOf, minDim, nameOfSize } from '../sizes.js';

const RATES = ['memory_accuracy', 'lock_rate', 'kept_rate', 'one_step_accuracy'];
const ORDER = ['samples', 'dim', 'width', 'length', 'vocab'];

function meter(name, value) {
  return h('div', { class: 'meter' },
    h('dt', {}, term(name)),
    h('dd', {}, h('span', { class: 'rate' }, share(value)), h('span', { class: 'track', 'aria-hidden': 'true' },
      h('span', { class: 'level', style: { width: `${100 * (value ?? 0)}%` } }))));
}

/** How far a size must go: by a factor, or by a difference where that is less than twofold. */
function change(from, to) {
  const factor = Math.max(to / from, from / to);
  if (factor === 1) return 'as now';
  if (factor < 2) return `${to > from ? '+' : '−'}${count(Math.abs(to - from))}`;
  return `${to > from ? '×' : '÷'}${factor < 10 ? factor.toFixed(1) : count(Math.round(factor))}`;
}

/** One critical value: a button that goes there, or the reason why there is none. */
function critical(state, about, found, size) {
  const { symbol, helps } = lineOf(about, size);
  const value = found.critical[size];
  const text = value === null ? null : `${symbol} ${helps ? '≥' : '≤'} ${count(value)}`;
  const go = () => state.set({ config: { [size]: value } });
  return h('li', {}, value === null
    ? [h('span', { class: 'symbol' }, symbol), h('span', { class: 'reason' }, plainReason(found.critical_reason[size] ?? 'unknown'))]
    : [h('button', { type: 'button', class: 'go', id: `go-${size}`, onclick: go, 'data-note': `Set ${symbol} = ${count(value)}.` }, text),
      h('span', { class: 'reason' }, `${change(found.config[size], value)} ${nameOfSize(size)}`)]);
}

/** The advice of the server with the plain name of what limits recall. */
function plainly({ advice, dominant }) {
  const limits = /^.+ in the (?:memory|attention) limits recall to ([^;,]+?)(?=[;,.](?: |$))/;
  const sentence = dominant ? advice.sentence.replace(limits, (_, to) => `Recall is limited to ${to} (${nameOf(dominant)})`) : advice.sentence;
  return plain(sentence);
}

const onPrediction = [];
/** Calls back with every new prediction at the point. */
export const listenPrediction = (listener) => onPrediction.push(listener);

function show(state, about, found) {
  onPrediction.forEach((listener) => listener(found));
  say($('predicted'), share(found.accuracy));
  say($('error-size'), found.error === null ? '' : String(found.error));
  $('scatter').hidden = found.error === null;
  $('error').hidden = found.error === null;
  $('unchecked').hidden = found.error_reason === null;
  say($('unchecked-reason'), found.error_reason ? `${plain(title(found.error_reason))}.` : '');
  say($('sentence'), plainly(found));
  $('one-step-note').hidden = !(found.one_step_accuracy > found.accuracy);
  const rates = RATES.filter((name) => name !== 'kept_rate' || found.config.keep !== null);
  fill($('rates'), rates.map((name) => meter(name, found[name])));
  const reached = found.accuracy !== null && found.accuracy >= found.target.accuracy;
  say($('critical-title').querySelector('.term-word'), reached ? 'How far you could go and keep' : 'What would reach');
  say($('critical-level'), `${Math.round(1000 * found.target.accuracy) / 10}%`);
  const sizes = ORDER.filter((size) => size !== 'width' || found.config.width !== null);
  fill($('critical'), sizes.map((size) => critical(state, about, found, size)));
  fill($('gaps'), found.gaps.map(({ quantity, text }) => h('li', {}, `${PLAIN[quantity] ?? words(quantity)}: ${plain(text)}`)));
  fill($('budget-logits'), budget({ predicted: found.noise.logits }));
  fill($('budget-scores'), budget({ predicted: found.noise.scores }));
  fill($('conditions'), found.conditions.map(({ text, holds }) => h('li', { class: holds ? 'holds' : 'fails' }, raised(plainCondition(words(text))))));
}

/** Keeps the numbers beside the map in step with the point. They wait for the map, which is what the eye follows. */
export function makeReadout(state, about, afterMap) {
  const panel = $('readout');
  let key = null;
  const mend = $('mend');
  mend.addEventListener('click', () => state.set({ config: { dim: minDim(state.get().config) } }));
  /** There is no model of these settings: no numbers and nothing to train, and a button where one size mends it. */
  const refused = (is) => {
    const { config } = state.get();
    $('numbers').classList.toggle('silent', is);
    panel.hidden = is;
    $('train-here').disabled = is;
    mend.hidden = !is || config.dim >= minDim(config);
    say(mend, `Set d = ${count(minDim(config))}`);
  };
  function refuse(error) {
    refused(true);
    say($('predicted'), 'no model');
    $('error').hidden = $('scatter').hidden = $('unchecked').hidden = true;
    say($('sentence'), plain(error.message));
    fill($('gaps'));
    panel.setAttribute('aria-busy', 'false');
  }

  const ask = newest('/api/predict', {
    busy: (is) => panel.setAttribute('aria-busy', is),
    show(found) {
      refused(false);
      show(state, about, found);
    },
    fail(error) {
      key = null;
      refuse(error);
    },
  });
  const update = () => {
    const { tab, config, accuracy } = state.get();
    const next = JSON.stringify([config, accuracy]);
    if (tab !== 'explore' || next === key) return;
    key = next;
    const least = minDim(config);
    if (config.keep > config.length) refuse(new Error(`There is no such model: k = ${count(config.keep)} of L = ${count(config.length)} tokens cannot be kept.`));
    else if (config.dim < least) refuse(new Error(`There is no such model: orthonormal vectors for ${count(config.vocab)} facts need d of at least ${count(least)}.`));
    else {
      panel.setAttribute('aria-busy', 'true');
      afterMap(() => { if (key === next) ask({ config, accuracy }); });
    }
  };
  state.listen(update);
  listenLink((there) => { if (there) update(); });
  update();
}
