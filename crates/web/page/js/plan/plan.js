// The planner as a form: the smallest model for so many facts, what binds it, and what more dimensions would save.

import { post } from '../api.js';
import { fill, h, raised, s, say, $ } from '../dom.js';
import { count, digits, parseWhole, share, title, words } from '../format.js';
import { csv, formats, png, save } from '../save.js';
import { plain } from '../plain.js';
import { pictured } from '../scroll.js';
import { PLAN, planOf } from '../state.js';
import { table } from '../table.js';
import { term } from '../terms.js';
import { onTheme, theme } from '../theme.js';

const NEEDED = ['facts', 'length'];
const WORDS = ['trigger', 'activation'];
/** What the fields are called. */
const NAMES = { facts: 'V', length: 'L', accuracy: 'Accuracy', dim: 'd', width: 'm', samples: 'N', max_parameters: 'Parameters' };

/** An SVG from the server as an image, in the theme's colours. */
export function drawing(svg, caption) {
  const source = URL.createObjectURL(new Blob([svg[theme()]], { type: 'image/svg+xml' }));
  return pictured(h('img', { src: source, alt: caption, onload: () => URL.revokeObjectURL(source) }), caption);
}

/** What the form asks for, as the server takes it. */
function request(plan) {
  return Object.fromEntries(Object.entries(plan).map(([name, value]) => [name, value === '' ? null : value]));
}

/** Room around the plot, and the radius in which the pointer finds one of its points. */
const PAD = 6;
const REACH = 9;

/**
 * The trade-off as a picture whose points can be read with pointer and Tab key. The server's drawing has one circle for each row in
 * each panel; its own title and note stand in the text around it.
 */
function tradeOff({ svg, curve: rows }, caption) {
  const picture = document.importNode(new DOMParser().parseFromString(svg[theme()], 'image/svg+xml').documentElement, true);
  for (const extra of picture.querySelectorAll(':scope > text, :scope > title, :scope > rect')) extra.remove();
  const panels = [...picture.querySelectorAll(':scope > g')];
  panels.forEach((panel, index) => {
    const size = panels.length > 1 && index === 0 ? 'width' : 'samples';
    const drawn = rows.filter((row) => row[size] !== null);
    const circles = [...panel.querySelectorAll('.points circle')];
    if (circles.length !== drawn.length) return;
    circles.forEach((circle, place) => {
      const { dim, width, samples, parameters } = drawn[place];
      const note = [`d = ${count(dim)}`, width === null ? null : `m = ${count(width)}`, samples === null ? null : `N = ${count(samples)}`, `${count(parameters)} parameters`].filter(Boolean).join(', ');
      panel.append(s('circle', { class: 'reading', cx: circle.getAttribute('cx'), cy: circle.getAttribute('cy'), r: REACH, tabindex: 0, role: 'img', 'aria-label': note, 'data-note': note }));
    });
  });
  picture.setAttribute('class', 'trade-off');
  picture.setAttribute('role', 'group');
  picture.setAttribute('aria-label', caption);
  // The box is that of what is left, once it is on the page.
  requestAnimationFrame(() => {
    const { x, y, width, height } = picture.getBBox();
    if (!width || !height) return;
    picture.setAttribute('viewBox', `${x - PAD} ${y - PAD} ${width + 2 * PAD} ${height + 2 * PAD}`);
    picture.setAttribute('width', width + 2 * PAD);
    picture.removeAttribute('height');
  });
  return h('figure', {}, picture, h('figcaption', {}, caption));
}

function cheapest(found, state) {
  const plan = planOf(state.get());
  const { dim, width, samples, parameters } = found.cheapest;
  const config = { vocab: plan.facts, length: plan.length, dim, width, samples, trigger: plan.trigger };
  if (plan.activation) config.activation = plan.activation;
  const sizes = [`Dimension d = ${count(dim)}`, width === null ? null : `width m = ${count(width)}`, `samples N = ${count(samples)}`];
  return [
    // A line may break between two sizes, and not within one.
    h('p', { class: 'answer' }, sizes.filter((size) => size).map((size, index) => [index ? ', ' : null, h('span', {}, size)])),
    h('p', {}, `${count(plan.facts)} facts in sequences of ${count(plan.length)} tokens need ${count(parameters)} trained parameters `,
      `and ${count(samples)} samples. `, plain(found.binds?.text ?? '')),
    h('p', {}, `Predicted recall ${share(found.accuracy)}; with perfect attention ${share(found.memory_accuracy)}; finds the right token in ${share(found.lock_rate)}. `,
      found.error === null ? `${plain(title(found.error_reason))}.` : ['The closed form is ', term('error', `off by about ${digits(found.error)}`), ' here.']),
    h('p', {}, h('a', { href: state.link({ tab: 'explore', config, accuracy: plan.accuracy }) }, 'Show on the map')),
  ];
}

function curve(points) {
  const mlp = points.some((point) => point.width !== null);
  const sizes = mlp ? ['dim', 'width', 'parameters', 'samples'] : ['dim', 'parameters', 'samples'];
  const symbols = { dim: 'dimension d', width: 'width m', parameters: `parameters ${mlp ? 'm d' : 'd²'}`, samples: 'samples N' };
  const limited = points.some((point) => !point.allowed);
  const cell = (point, size) => (point[size] === null ? null : count(point[size]));
  return table({
    caption: 'The trade-off', total: points.length,
    columns: [...sizes.map((size) => symbols[size]), ...(limited ? ['allowed'] : [])],
    rows: points.map((point) => [...sizes.map((size) => cell(point, size)), ...(limited ? [point.allowed ? 'yes' : plain(words(point.forbids ?? 'no'))] : [])]),
  });
}

/** Files of a plan. */
function files(found) {
  const columns = ['dim', 'width', 'parameters', 'samples', 'allowed'];
  const picture = found.svg?.[theme()];
  const drawn = picture ? {
    SVG: () => save('plan.svg', picture, 'image/svg+xml'),
    PNG: async () => save('plan.png', await png(picture)),
  } : {};
  return formats('Save the plan', {
    ...drawn,
    CSV: () => save('plan.csv', csv(columns, found.curve.map((point) => columns.map((name) => point[name]))), 'text/csv'),
    JSON: () => save('plan.json', JSON.stringify(found, null, 1), 'application/json'),
  });
}

/** The limits that were set, in words. */
const LIMITS = [
  ['dim', (value) => `d = ${value}`], ['width', (value) => `m = ${value}`],
  ['samples', (value) => `at most ${value} samples`], ['max_parameters', (value) => `at most ${value} trained parameters`],
];

/** That there is no such model, within which limits, and what stands in the way. */
function none({ request: asked, binds }) {
  const set = LIMITS.filter(([name]) => asked[name] !== null).map(([name, say]) => say(count(asked[name])));
  const goal = `${count(asked.facts)} facts in sequences of ${count(asked.length)} tokens at accuracy ${asked.accuracy}`;
  return [
    h('p', { class: 'answer' }, `No model does it within these limits${set.length ? `: ${set.join(', ')}` : ''}.`),
    h('p', {}, `${goal} need more. ${set.length ? '' : 'No limit was set; even d = 1,000,000 is not enough. '}`, plain(binds?.text ?? '')),
    set.length ? h('p', {}, 'Loosen a limit, or ask for less.') : null,
  ];
}

function show(found, state) {
  fill($('plan-result'),
    found.cheapest ? cheapest(found, state) : none(found),
    found.svg && found.curve?.length > 1 ? tradeOff(found, 'What other sizes need; point at a dot to read it. The ring is the cheapest. Dashed: beyond what was checked.') : null,
    found.curve?.length > 1 ? [h('h3', {}, 'The trade-off'), curve(found.curve), files(found)] : null,
    h('p', { class: 'note' }, raised(`Cheapest: ${found.criterion}. Formulas ${found.checked}.`)));
}

/** Reads the form: the plan, or a sentence about what is wrong. */
function readForm(form) {
  const plan = {};
  for (const name of Object.keys(PLAN)) {
    const text = form.elements.namedItem(name).value.trim();
    if (WORDS.includes(name)) plan[name] = text;
    else if (name === 'accuracy') plan[name] = Number(text);
    else plan[name] = text === '' ? '' : parseWhole(text);
    const low = name === 'facts' ? 2 : 1;
    const bad = name === 'accuracy' ? !(plan[name] > 0 && plan[name] < 1)
      : plan[name] === null || (plan[name] !== '' && plan[name] < low) || (NEEDED.includes(name) && plan[name] === '');
    const allowed = name === 'accuracy' ? 'a number above 0 and below 1' : `a whole number from ${low}`;
    if (bad) return { field: name, wrong: `${text ? `${NAMES[name]} = ${text}` : `${NAMES[name]} is empty`}: must be ${allowed}` };
  }
  return { plan };
}

/** Makes the planner's half of the tab. */
export function makePlan(state, about) {
  const form = $('plan-form');
  const refusal = $('plan-refusal');
  form.elements.activation.append(...about.choices.activation.map((word) => h('option', { value: word }, word)));
  let held = null;
  let last = null;

  /** Says what is wrong, and with which field; null: nothing. */
  const refuse = (text, name = null) => {
    refusal.hidden = !text;
    say(refusal, text ?? '');
    for (const field of form.elements) field.removeAttribute('aria-invalid');
    if (name === null) return;
    const field = form.elements.namedItem(name);
    field.setAttribute('aria-invalid', 'true');
    field.focus();
  };

  async function update() {
    const { tab } = state.get();
    const plan = planOf(state.get());
    const key = JSON.stringify(plan);
    if (tab !== 'plan' || key === held) return;
    held = key;
    for (const [name, value] of Object.entries(plan)) {
      // By `namedItem`, since a list of elements has a `length` of its own.
      form.elements.namedItem(name).value = typeof value === 'number' && name !== 'accuracy' ? count(value) : value;
    }
    $('plan-result').setAttribute('aria-busy', 'true');
    try {
      const found = await post('/api/plan', request(plan));
      if (held !== key) return;
      last = found;
      refuse(null);
      show(found, state);
    } catch (error) {
      if (held !== key) return;
      held = null;
      refuse(plain(error.message));
      fill($('plan-result'));
    }
    $('plan-result').setAttribute('aria-busy', 'false');
  }

  // What was refused is mended as it is typed; the answer of the old numbers stays pale until there is a new one.
  form.addEventListener('input', ({ target }) => { if (target.getAttribute('aria-invalid') === 'true') refuse(null); });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { plan, wrong, field } = readForm(form);
    if (wrong) return refuse(wrong, field);
    refuse(null);
    const { vocab, length, trigger } = state.get().config;
    // What is as at the point of the map goes on with it.
    const same = { facts: vocab, length, trigger };
    state.set({ plan: Object.fromEntries(Object.entries(plan).map(([name, value]) => [name, same[name] === value ? null : value])) });
  });
  onTheme(() => { if (last) show(last, state); });
  state.listen(update);
  update();
}
