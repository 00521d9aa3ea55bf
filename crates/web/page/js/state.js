// What the page shows, and its address. Everything that makes a view is in the address after `#`: the tab, then what differs
// from the defaults, as in `#explore?dim=256&x=length`. A link reproduces the view; back and forward go through what was set.

import { wholeWords } from './number.js';

export const TABS = ['explore', 'try', 'studies', 'plan', 'help'];
export const COUNTS = ['vocab', 'dim', 'length', 'samples', 'width'];
export const CHOICES = ['activation', 'embedding', 'trigger', 'early_rule'];
/** What one chooses in the planner's form; empty is left to the planner, and null is as at the point of the map. */
export const PLAN = {
  facts: null, length: null, accuracy: 0.9, trigger: null, activation: '', dim: '', width: '', samples: 1000000, max_parameters: '',
};
/** The plan of a view, with what it takes from the point of the map. */
export const planOf = ({ plan, config }) => ({ ...plan, facts: plan.facts ?? config.vocab, length: plan.length ?? config.length, trigger: plan.trigger ?? config.trigger });

/** What whole numbers of a configuration may be; how many repeats, the server says. One fact alone is no choice. */
const MAX_COUNT = 2 ** 31 - 1;
export const RANGES = { size: [1, MAX_COUNT], vocab: [2, MAX_COUNT], rounds: [1, 1000], seed: [0, 2 ** 32] };
/** What a size may be. */
export const rangeOfSize = (size) => RANGES[size] ?? RANGES.size;
/** Where the page begins: near the boundary, at sizes where a training takes a moment. */
const START = { dim: 80, samples: 2048, trigger: 'keys', repeats: 5, seed: 0 };
/** Characters of a wrong value that are quoted. */
const QUOTED = 24;

/** Checks of what stands in an address: `read` gives the value, or undefined where it is none; `allowed` says what it may be. */
const wholeFrom = (low, high) => ({
  allowed: wholeWords(low, high),
  read(text) {
    const number = Number(text);
    return /^[0-9]+$/.test(text) && number >= low && number <= high ? number : undefined;
  },
});
const oneOf = (words) => ({ allowed: words.join(' or '), read: (text) => (words.includes(text) ? text : undefined) });
const between = {
  allowed: 'a number above 0 and below 1',
  read(text) {
    const number = Number(text);
    return number > 0 && number < 1 ? number : undefined;
  },
};
const anything = { allowed: 'a name', read: (text) => text };
const orEmpty = ({ allowed, read }) => ({ allowed: `${allowed}, or empty`, read: (text) => (text === '' ? '' : read(text)) });

/** The fields of a view: where each is kept, and what it may be. */
function fieldsOf(about) {
  const sizes = about.sizes.map((line) => line.size);
  const fields = [];
  const field = (key, holder, name, check) => fields.push({ key, holder, name, check });
  for (const name of COUNTS) field(name, 'config', name, wholeFrom(...rangeOfSize(name)));
  field('keep', 'config', 'keep', wholeFrom(...RANGES.size));
  field('rounds', 'config', 'rounds', wholeFrom(...RANGES.rounds));
  for (const name of CHOICES) field(name, 'config', name, oneOf(about.choices[name]));
  field('repeats', 'config', 'repeats', wholeFrom(1, about.limits.repeats));
  field('seed', 'config', 'seed', wholeFrom(...RANGES.seed));
  field('x', null, 'x', oneOf(sizes));
  field('y', null, 'y', oneOf(sizes));
  field('accuracy', null, 'accuracy', between);
  field('run', null, 'run', wholeFrom(0, 2 ** 32));
  field('study', null, 'study', wholeFrom(0, 2 ** 32));
  field('file', null, 'file', anything);
  field('file.study', null, 'holder', wholeFrom(0, 2 ** 32));
  field('tensor', null, 'tensor', anything);
  for (const name of Object.keys(PLAN)) {
    const check = { accuracy: between, trigger: oneOf(about.choices.trigger), activation: oneOf(about.choices.activation) };
    const one = check[name] ?? wholeFrom(1, Number.MAX_SAFE_INTEGER);
    const needed = ['facts', 'length', 'accuracy', 'trigger'].includes(name);
    field(`plan.${name}`, 'plan', name, needed ? one : orEmpty(one));
  }
  return fields;
}

/** Whether two axes do not go together: `parameters` is m d at the given d. */
const clash = (x, y) => x === y || (x === 'parameters' && (y === 'dim' || y === 'width')) || (y === 'parameters' && (x === 'dim' || x === 'width'));

/** A view with axes that go together. */
const apart = (view) => (clash(view.x, view.y) ? { ...view, x: 'dim', y: 'samples' } : view);

const quote = (text) => (text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text);

/** The page's state, made from what the server says of itself. */
export function makeState(about) {
  const fields = fieldsOf(about);
  const config = {};
  for (const name of [...COUNTS, 'keep', 'rounds', ...CHOICES]) config[name] = about.defaults[name];
  const defaults = {
    tab: 'explore', config: { ...config, ...START }, x: 'dim', y: 'samples', accuracy: 0.5,
    run: null, study: null, file: null, holder: null, tensor: null, plan: PLAN,
  };
  const listeners = [];
  const settled = [];
  let ignored = [];
  let now = read(location.hash);

  /** The view of an address. What it asks for and cannot have is noted. */
  function read(hash) {
    const [tab, query = ''] = hash.slice(1).split('?');
    const view = { ...defaults, config: { ...defaults.config }, plan: { ...PLAN }, tab: TABS.includes(tab) ? tab : 'explore' };
    const given = new URLSearchParams(query);
    ignored = tab && !TABS.includes(tab) ? [`the tab ${quote(tab)} (must be ${TABS.join(' or ')})`] : [];
    for (const [key, text] of given) {
      const field = fields.find((each) => each.key === key);
      const value = field?.check.read(text);
      if (value !== undefined) (field.holder ? view[field.holder] : view)[field.name] = value;
      else ignored.push(`${text ? `${quote(key)} = ${quote(text)}` : `${quote(key)} is empty`} (${field ? `must be ${field.check.allowed}` : 'the page has no such setting'})`);
    }
    if (clash(view.x, view.y)) ignored.push(`x = ${view.x} with y = ${view.y} (two axes that do not go together)`);
    return apart(view);
  }

  function address(view) {
    const query = new URLSearchParams();
    for (const { key, holder, name } of fields) {
      const value = (holder ? view[holder] : view)[name];
      const usual = (holder ? defaults[holder] : defaults)[name];
      if (value !== usual && value !== null) query.set(key, value);
    }
    const text = query.toString();
    return `#${view.tab}${text ? `?${text}` : ''}`;
  }

  /** `anew`: the whole view is another, so that what was typed and refused goes. */
  function change(next, anew = false) {
    const before = now;
    now = next;
    for (const listener of listeners) listener(now, before, anew);
  }

  // How many steps of the history this page has written and not gone back.
  let steps = history.state?.steps ?? 0;
  addEventListener('popstate', () => {
    steps = history.state?.steps ?? 0;
    change(read(location.hash), true);
  });

  return {
    defaults,
    /** All settings of a run as they usually are, also those without a control. */
    usual: about.defaults,
    ranges: { ...RANGES, repeats: [1, about.limits.repeats] },
    get: () => now,
    /** What the last address that was read asked for in vain, in words; a new list for every address. */
    ignored: () => ignored,
    /** Calls back with the new and the old state, and whether the whole view is another. */
    listen: (listener) => listeners.push(listener),
    /** Changes what is shown; `config` and `plan` are merged. The address waits for `settle`. */
    move(part) {
      change(apart({ ...now, ...part, config: { ...now.config, ...part.config }, plan: { ...now.plan, ...part.plan } }));
    },
    /** Writes the address: one step of the history. */
    settle() {
      const target = address(now);
      if (target === (location.hash || '#explore')) return;
      steps += 1;
      history.pushState({ steps }, '', target);
      for (const listener of settled) listener();
    },
    /** Whether there is a step to undo. */
    canUndo: () => steps > 0,
    undo: () => history.back(),
    /** Calls back when a step was written. */
    listenSettled: (listener) => settled.push(listener),
    /** Both at once. */
    set(part) {
      this.move(part);
      this.settle();
    },
    /** Shows another view: what was typed and refused goes with the old one. */
    replace(view) {
      change(apart({ ...now, ...view }), true);
      this.settle();
    },
    /** The address of the present view with some parts changed. */
    link: (part) => address({ ...now, ...part, config: { ...now.config, ...part.config }, plan: { ...now.plan, ...part.plan } }),
  };
}
