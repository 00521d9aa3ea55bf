// `inspect` as a form: how the rows of a real embedding matrix overlap, and how many facts they could hold.

import { get, post } from '../api.js';
import { fill, h, say, $ } from '../dom.js';
import { count, seconds } from '../format.js';
import { plain } from '../plain.js';
import { nameIn } from '../studies/studies.js';
import { table } from '../table.js';
import { term } from '../terms.js';
import { onTheme } from '../theme.js';
import { drawing } from './plan.js';

const ROWS = [
  ['mean square cosine', 'mean_square_cosine'], ['effective dimension', 'effective_dimension'], ['mean cosine', 'mean_cosine'],
  ['mean length', 'norm_mean'], ['spread of lengths', 'norm_cv'],
];
const TICK = 500;
/** In place of the largest matrix where a file has none: the server says why it cannot be inspected. */
const NO_MATRIX = { rows: 0, columns: 0, seconds: 0 };

function show(found) {
  const facts = (number) => (number === null || number === undefined ? null : count(number));
  const rows = ROWS.map(([name, key]) => [name, found.raw[key], found.centred[key]]);
  rows.push([`facts at accuracy ${found.accuracy}`, facts(found.raw.facts), facts(found.centred.facts)]);
  fill($('inspect-result'),
    h('p', { class: 'answer' }, `${count(found.rows)} × ${count(found.dim)}`),
    h('p', {}, `${found.tensor} has ${count(found.rows)} rows of dimension ${count(found.dim)}. Gaussian vectors of that dimension would hold `,
      `${facts(found.gaussian_facts) ?? 'an unknown number of'} facts at accuracy ${found.accuracy}.`),
    table({ caption: 'The rows as they are, and minus their mean.', columns: ['quantity', 'raw', 'centred'], rows, total: rows.length }),
    h('p', { class: 'note' }, 'Raw: the rows as they are; centred: minus their mean. With the ', term('effective_dimension'), ', Gaussian vectors would overlap as much.'),
    found.svg ? drawing(found.svg, 'Predicted memory accuracy against the number of facts.') : null);
}

/** Shows that the matrix is being read, for how long of the estimated seconds, and a way to stop; gives what ends it. */
function waiting(node, name, estimate, stop) {
  const since = performance.now();
  const clock = h('span', { 'aria-hidden': 'true' });
  const bar = h('progress', { max: 1, 'aria-label': `Progress of reading ${name}` });
  const tick = () => {
    const gone = (performance.now() - since) / 1000;
    const left = estimate - gone;
    say(clock, ` ${seconds(gone)}${left > 0 ? `, about ${seconds(Math.max(left, 0.1))} left` : ', longer than estimated'}`);
    bar.value = Math.min(gone / estimate || 0, 0.97);
  };
  tick();
  fill(node, h('p', { class: 'waiting' }, h('span', {}, `Reading ${name} …`, clock), bar,
    h('button', { type: 'button', class: 'small', id: 'inspect-cancel', onclick: stop }, 'Cancel')));
  const timer = setInterval(tick, TICK);
  return () => clearInterval(timer);
}

/** All files of embeddings that can be read, with the study each is of. */
async function embeddings() {
  const { studies } = await get('/api/studies');
  const files = studies.flatMap((study) => (study.embeddings ?? [])
    .filter((each) => !each.error)
    .map((each) => ({ ...each, study: study.id, within: nameIn(studies, study) })));
  // Two files of one name are told apart by what they were opened in.
  const alike = ({ file }) => files.filter((other) => other.file === file).length > 1;
  return files.map((each) => ({ ...each, shown: !alike(each) ? each.file : each.within.startsWith(each.file) ? each.within : `${each.file} in ${each.within}` }));
}

/** Makes the second half of the tab. */
export function makeInspect(state, { threads }) {
  const form = $('inspect-form');
  const node = $('inspect-result');
  const { file, tensor, output_tensor: output, accuracy } = form.elements;
  let files = null;
  let loading = null;
  let last = null;
  /** Which matrix the address asked for when it was last looked at. */
  let asked = null;
  /** What stops the inspection under way. */
  let abort = null;

  const refuse = (text) => {
    $('inspect-refusal').hidden = !text;
    say($('inspect-refusal'), text ?? '');
  };

  /** The matrices of the chosen file. */
  function tensors() {
    const { tensors: all } = files[file.selectedIndex];
    const shape = ({ name, rows, columns }) => h('option', { value: name }, `${name} (${count(rows)} × ${count(columns)})`);
    fill(tensor, h('option', { value: '' }, 'the largest'), all.map(shape));
    fill(output, h('option', { value: '' }, 'Gaussian vectors'), all.map(shape));
  }

  async function load() {
    files = await embeddings();
    form.hidden = files.length === 0;
    $('no-embeddings').hidden = files.length > 0;
    if (!files.length) return;
    fill(file, files.map((each, index) => h('option', { value: index }, each.shown)));
    tensors();
  }

  const keyOf = (view) => JSON.stringify([view.holder, view.file, view.tensor]);

  /** Chooses the file of the address, and inspects it when the address is another than before. */
  async function follow() {
    if (state.get().tab !== 'plan') {
      // What was cancelled or refused is tried again by the next link to it.
      if (!last && !abort) asked = null;
      return;
    }
    try {
      await (loading ??= load());
    } catch (error) {
      loading = null;
      refuse(error.message);
      return;
    }
    const now = state.get();
    if (now.file === null || keyOf(now) === asked) return;
    asked = keyOf(now);
    const named = (each) => each.file === now.file;
    const wanted = files.findIndex((each) => named(each) && (now.holder === null || each.study === now.holder));
    if (wanted < 0) {
      refuse(`file = ${now.file}: is not open here`);
      return;
    }
    file.selectedIndex = wanted;
    tensors();
    const known = [...tensor.options].some((option) => option.value === (now.tensor ?? ''));
    if (!known) {
      refuse(`tensor = ${now.tensor}: is no matrix of ${now.file}`);
      return;
    }
    tensor.value = now.tensor ?? '';
    ask();
  }

  async function ask() {
    const { study, file: name, shown } = files[file.selectedIndex];
    const level = Number(accuracy.value);
    const right = accuracy.value.trim() !== '' && level > 0 && level < 1;
    accuracy.setAttribute('aria-invalid', !right);
    if (!right) {
      refuse(`${accuracy.value.trim() ? `Accuracy = ${accuracy.value.trim()}` : 'Accuracy is empty'}: must be a number above 0 and below 1`);
      return;
    }
    refuse(null);
    abort?.abort();
    const mine = abort = new AbortController();
    node.setAttribute('aria-busy', 'true');
    const { tensors: all } = files[file.selectedIndex];
    const size = ({ rows, columns }) => rows * columns;
    const matrix = all.find((each) => each.name === tensor.value) ?? all.reduce((best, each) => (size(each) > size(best) ? each : best), NO_MATRIX);
    const end = waiting(node, tensor.value ? `${tensor.value} of ${shown}` : shown, matrix.seconds / threads, () => mine.abort());
    try {
      const body = { study, file: name, tensor: tensor.value || null, output_tensor: output.value || null, accuracy: level };
      const found = await post('/api/inspect', body, mine.signal);
      if (abort !== mine) return;
      last = found;
      show(found);
    } catch (error) {
      if (abort !== mine) return;
      last = null;
      if (error.name === 'AbortError') fill(node, h('p', { class: 'note' }, 'Cancelled.'));
      else {
        fill(node);
        refuse(plain(error.message));
      }
    } finally {
      end();
      if (abort === mine) {
        abort = null;
        node.setAttribute('aria-busy', 'false');
      }
    }
  }

  file.addEventListener('change', tensors);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { study, file: name } = files[file.selectedIndex];
    const chosen = { holder: study, file: name, tensor: tensor.value || null };
    asked = keyOf(chosen);
    state.set(chosen);
    ask();
  });
  onTheme(() => { if (last && !abort) show(last); });
  state.listen(follow);
  follow();
}
