// The controls of a configuration: a slider on a logarithmic scale and a number for each size, and choices by name.

import { h, $ } from '../dom.js';
import { count, words } from '../format.js';
import { wholeField } from '../number.js';
import { place, step, value, whole } from '../scale.js';
import { CHOICES, COUNTS, RANGES, rangeOfSize } from '../state.js';
import { lineOf, minDim, nameOfSize, needsWidth, RULES } from '../sizes.js';
import { TERMS, term } from '../terms.js';

const TRACK = 1000;
const FINE = 1.05;
const COARSE = 2;
const USUAL_WIDTH = 1024;
const LABELS = { trigger: { values: 'keys and values', keys: 'keys only' }, early_rule: RULES };

/** The factor by which a key moves a slider; arrows are fine, pages coarse. */
const KEYS = {
  ArrowRight: FINE, ArrowUp: FINE, ArrowLeft: 1 / FINE, ArrowDown: 1 / FINE, PageUp: COARSE, PageDown: 1 / COARSE,
};

/** One size: its symbol, slider and number. `state.move` while it moves, `state.settle` when it rests. */
function sizeControl(state, line) {
  const { size, low, high } = line;
  const move = (number) => state.move({ config: { [size]: number } });
  const slider = h('input', {
    type: 'range', id: `slide-${size}`, min: 0, max: TRACK, step: 1, 'aria-label': `${nameOfSize(size)} ${line.symbol}`,
    oninput: () => move(whole(value(slider.value / TRACK, low, high), low, high)),
    onchange: () => state.settle(),
    onkeydown: (event) => {
      const now = state.get().config[size];
      const next = { Home: low, End: high }[event.key] ?? (KEYS[event.key] && step(now, KEYS[event.key], low, high));
      if (next === undefined) return;
      event.preventDefault();
      move(next);
    },
    onkeyup: (event) => { if (event.key in KEYS || event.key === 'Home' || event.key === 'End') state.settle(); },
  });
  const number = h('input', { type: 'text', inputmode: 'numeric', id: `number-${size}`, class: 'number', autocomplete: 'off' });
  const [least, most] = rangeOfSize(size);
  const put = (typed) => state.set({ config: { [size]: typed } });
  const field = wholeField(number, { name: line.symbol, low: least, high: most, put });
  const row = h('div', { class: 'control' },
    term(size, TERMS[size][0]), h('label', { for: number.id }, nameOfSize(size)), number, slider, field.refusal);
  const show = ({ config }, anew) => {
    const held = config[size];
    slider.disabled = number.disabled = held === null;
    row.classList.toggle('off', held === null);
    if (held === null) {
      field.clear('none');
      return;
    }
    slider.value = Math.round(TRACK * place(Math.min(Math.max(held, low), high), low, high));
    slider.setAttribute('aria-valuetext', `${line.symbol} = ${count(held)}`);
    field.show(held, anew);
  };
  return { row, show };
}

/** One choice by name. */
function choiceControl(state, name, choices) {
  const choose = () => {
    const config = { ...state.get().config, [name]: select.value };
    // Orthonormal vectors need many dimensions, so choosing them raises the dimension.
    state.set({ config: { [name]: select.value, dim: Math.max(config.dim, minDim(config)) } });
  };
  const select = h('select', { id: `choose-${name}`, 'aria-label': words(name), onchange: choose },
    choices.map((word) => h('option', { value: word }, LABELS[name]?.[word] ?? word)));
  const row = h('div', { class: 'control choice' }, term(name), select);
  const show = ({ config }) => {
    select.value = config[name];
    select.disabled = name === 'activation' && config.width === null;
    row.classList.toggle('off', select.disabled);
  };
  return { row, show };
}

/** How many tokens are kept at test. */
function keepControl(state) {
  const number = h('input', { type: 'text', inputmode: 'numeric', id: 'number-keep', class: 'number', autocomplete: 'off', placeholder: 'all' });
  const put = (keep) => state.set({ config: { keep } });
  const most = () => ({ high: state.get().config.length, words: `L = ${count(state.get().config.length)}` });
  const field = wholeField(number, { name: 'k', low: 1, put, optional: true, most });
  const row = h('div', { class: 'control' }, term('keep', 'k'), h('label', { for: number.id }, 'tokens kept'), number, field.refusal);
  return { row, show: ({ config }, anew) => field.show(config.keep, anew) };
}

/** How often the pair of an attention step and a memory step is repeated. */
function roundsControl(state) {
  const number = h('input', { type: 'text', inputmode: 'numeric', id: 'number-rounds', class: 'number', autocomplete: 'off' });
  const [low, high] = RANGES.rounds;
  const field = wholeField(number, { name: 'Rounds', low, high, put: (rounds) => state.set({ config: { rounds } }) });
  const row = h('div', { class: 'control' }, term('rounds', 'r'), h('label', { for: number.id }, 'rounds of training'), number, field.refusal);
  return { row, show: ({ config }, anew) => field.show(config.rounds, anew) };
}

/** The switch between attention alone and attention with an MLP. */
function mlpSwitch(state) {
  const box = h('input', {
    type: 'checkbox', id: 'mlp', role: 'switch',
    onchange: () => {
      const { x, y } = state.get();
      const axes = !box.checked && (needsWidth(x) || needsWidth(y)) ? { x: 'dim', y: 'samples' } : {};
      state.set({ ...axes, config: { width: box.checked ? USUAL_WIDTH : null } });
    },
  });
  const row = h('div', { class: 'control choice' }, h('label', { for: box.id }, 'MLP after the attention'), box);
  return { row, show: ({ config }) => { box.checked = config.width !== null; } };
}

/** A choice of one of the map's axes. An axis of the MLP's brings the MLP. */
function axisControl(state, about, axis) {
  const select = $(`axis-${axis}`);
  const other = axis === 'x' ? 'y' : 'x';
  select.append(...about.sizes.map(({ size, symbol }) => h('option', { value: size }, `${symbol}  ${nameOfSize(size)}`)));
  select.addEventListener('change', () => {
    const now = state.get();
    const swap = select.value === now[other] ? { [other]: now[axis] } : {};
    const width = needsWidth(select.value) ? { width: now.config.width ?? USUAL_WIDTH } : {};
    state.set({ [axis]: select.value, ...swap, config: width });
  });
  return (now) => {
    select.value = now[axis];
    for (const option of select.options) {
      const pair = [option.value, now[other]];
      option.disabled = pair.includes('parameters') && (pair.includes('dim') || pair.includes('width'));
    }
  };
}

/** Fills the panel of controls and keeps it in step with the state. */
export function makeControls(state, about) {
  const sizes = COUNTS.map((size) => sizeControl(state, lineOf(about, size)));
  const choices = CHOICES.map((name) => choiceControl(state, name, about.choices[name]));
  const [activation, ...rest] = choices;
  const width = sizes.pop();
  const mlp = mlpSwitch(state);
  const keep = keepControl(state);
  const rounds = roundsControl(state);
  $('sizes').append(...sizes.map(({ row }) => row));
  $('choices').append(...[keep, ...rest, rounds, mlp, width, activation].map(({ row }) => row));
  const level = $('level');
  level.addEventListener('change', () => state.set({ accuracy: Number(level.value) }));
  // A plan or a link may ask for an accuracy between those of the list.
  const showLevel = ({ accuracy }) => {
    const listed = () => [...level.options].some((option) => Number(option.value) === accuracy);
    if (!listed()) level.append(h('option', { value: accuracy }, accuracy));
    level.value = accuracy;
  };
  const shows = [...sizes, keep, rounds, width, mlp, ...choices].map(({ show }) => show);
  shows.push(axisControl(state, about, 'x'), axisControl(state, about, 'y'), showLevel);
  const show = (now, anew = false) => shows.forEach((each) => each(now, anew));
  $('reset').addEventListener('click', () => state.replace({ ...state.defaults, tab: 'explore', run: state.get().run }));
  const undo = $('undo');
  undo.addEventListener('click', () => state.undo());
  const offer = () => { undo.disabled = !state.canUndo(); };
  state.listenSettled(offer);
  state.listen((now, _, anew) => {
    show(now, anew);
    offer();
  });
  show(state.get());
}
