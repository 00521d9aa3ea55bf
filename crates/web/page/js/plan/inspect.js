// `inspect` as a form: how the rows of a real embedding matrix overlap, and how many facts they could hold.

import { get, post } from '../api.js';
import { fill, h, say, $ } from '../dom.js';
import { count, digits } from '../format.js';
import { table } from '../table.js';
import { onTheme } from '../theme.js';
import { drawing } from './plan.js';

const ROWS = [
  ['mean square cosine', 'mean_square_cosine'], ['effective dimension', 'effective_dimension'], ['mean cosine', 'mean_cosine'],
  ['mean length', 'norm_mean'], ['spread of lengths', 'norm_cv'],
];

function show(found) {
  const facts = (number) => (number === null || number === undefined ? null : count(number));
  const rows = ROWS.map(([name, key]) => [name, found.raw[key], found.centred[key]]);
  rows.push([`facts at accuracy ${found.accuracy}`, facts(found.raw.facts), facts(found.centred.facts)]);
  fill($('inspect-result'),
    h('p', { class: 'answer' }, `${count(found.rows)} × ${count(found.dim)}`),
    h('p', {}, `${found.tensor}. As Gaussian vectors of the same dimension its rows would hold ${facts(found.gaussian_facts) ?? 'an unknown number of'} facts.`),
    table({ caption: 'The rows as they are, and with their mean taken off.', columns: ['', 'raw', 'centred'], rows, total: rows.length }),
    found.svg ? drawing(found.svg, 'Predicted memory accuracy against the number of facts.') : null);
}

/** Makes the second half of the tab. */
export function makeInspect(state) {
  const form = $('inspect-form');
  const { file, tensor, output_tensor: output, accuracy } = form.elements;
  let files = null;
  let last = null;

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

  async function open() {
    if (state.get().tab !== 'plan' || files) return;
    try {
      const { studies } = await get('/api/studies');
      files = studies.flatMap(({ id, embeddings }) => (embeddings ?? []).filter((each) => !each.error).map((each) => ({ ...each, study: id })));
    } catch (error) {
      refuse(error.message);
      return;
    }
    form.hidden = files.length === 0;
    $('no-embeddings').hidden = files.length > 0;
    if (!files.length) return;
    fill(file, files.map((each, index) => h('option', { value: index }, each.file)));
    const wanted = files.findIndex((each) => each.file === state.get().file);
    if (wanted >= 0) file.selectedIndex = wanted;
    tensors();
    tensor.value = state.get().tensor ?? '';
    if (wanted >= 0) ask();
  }

  async function ask() {
    const { study, file: name } = files[file.selectedIndex];
    const node = $('inspect-result');
    refuse(null);
    node.setAttribute('aria-busy', 'true');
    fill(node, h('p', { class: 'note' }, 'Reading the matrix …'));
    try {
      last = await post('/api/inspect', { study, file: name, tensor: tensor.value || null, output_tensor: output.value || null, accuracy: Number(accuracy.value) });
      show(last);
    } catch (error) {
      fill(node);
      refuse(error.message);
    }
    node.setAttribute('aria-busy', 'false');
  }

  file.addEventListener('change', tensors);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    state.set({ file: files[file.selectedIndex].file, tensor: tensor.value || null });
    ask();
  });
  onTheme(() => { if (last) show(last); });
  state.listen(open);
  open();
}
