// Opened studies: their tables and figures, live while a sweep runs, and files to download.

import { get } from '../api.js';
import { fill, h, raised, say, $ } from '../dom.js';
import { listenStudies } from '../events.js';
import { bytes, count } from '../format.js';
import { pictured, scrolling } from '../scroll.js';
import { table } from '../table.js';
import { onTheme, theme } from '../theme.js';

const PAUSE = 1000;
const KINDS = { study: 'study', store: 'store', folder: 'folder', embedding: 'embeddings' };

const cellsOf = (cells) => (cells ? `${count(cells.done)} runs done${cells.failed ? `, ${count(cells.failed)} failed` : ''}` : '');

function picture(study, { name, caption }) {
  const source = `/api/studies/${study.id}/pictures/${encodeURIComponent(name)}.svg?theme=${theme()}&v=${study.revision}`;
  return pictured(h('img', { src: source, alt: caption, 'data-picture': name }), caption);
}

function section(study, { title, headline, sentences, pictures, tables }) {
  return h('section', { class: 'part' },
    h('h3', {}, title),
    headline ? h('p', { class: 'headline' }, raised(headline)) : null,
    (pictures ?? []).map((each) => picture(study, each)),
    (sentences ?? []).filter((sentence) => sentence !== headline).map((sentence) => h('p', {}, raised(sentence))),
    (tables ?? []).map((each) => h('details', { open: study.kind === 'store' }, h('summary', {}, `Table: ${each.caption}`), table(each))));
}

/** All comparisons of a study with their verdicts. */
function results(sections) {
  const claims = sections.flatMap(({ title, claims: all }) => (all ?? []).map((claim) => ({ ...claim, title })));
  if (!claims.length) return null;
  const row = ({ title, claim, measured, predicted, verdict, agreement }) => h('tr', { 'data-note': title },
    [claim, measured, predicted].map((cell) => h('td', {}, raised(cell))), h('td', { class: `verdict-${agreement}` }, verdict));
  return h('section', { class: 'part', id: 'study-results' }, h('h3', {}, 'Results'), scrolling('All comparisons', h('table', { class: 'data' },
    h('thead', {}, h('tr', {}, ['claim', 'measured', 'predicted', 'verdict'].map((name) => h('th', { scope: 'col' }, name)))), h('tbody', {}, claims.map(row)))));
}

function downloads({ id, files }) {
  if (!files.length) return null;
  const path = (name) => `/api/studies/${id}/files/${name.split('/').map(encodeURIComponent).join('/')}`;
  return h('details', { class: 'files' }, h('summary', {}, `Download (${files.length} files)`),
    h('ul', {}, files.map(({ name, bytes: size }) => h('li', {},
      h('a', { href: path(name), download: '' }, name), h('small', {}, size === null ? '' : ` ${bytes(size)}`)))));
}

function facts(pairs) {
  if (!pairs?.length) return null;
  return h('details', {}, h('summary', {}, 'How it was made'),
    h('dl', { class: 'facts' }, pairs.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])));
}

/** The name of a study among others; of several with one name, which it is. */
export function nameIn(studies, { id, name }) {
  const alike = studies.filter((other) => other.name === name).map((other) => other.id);
  return alike.length > 1 ? `${name} (${alike.indexOf(id) + 1})` : name;
}

/** What a folder without tables or figures has. */
function bare(study, state) {
  if (study.error) return null;
  if (!study.embeddings?.length) return h('p', { class: 'empty' }, 'There are no tables or figures here.');
  return h('ul', {}, study.embeddings.map(({ file, bytes: size, error }) => h('li', {}, error ? [`${file}: `, h('span', { class: 'refusal' }, error)]
    : [h('a', { href: state.link({ tab: 'plan', holder: study.id, file, tensor: null }) }, `Inspect ${file}`), h('small', {}, ` ${bytes(size)}`)])));
}

/** Makes the tab. */
export function makeStudies(state) {
  let listed = null;
  let held = null;
  let timer = null;

  async function show() {
    const { tab, study: chosen } = state.get();
    if (tab !== 'studies') return;
    try {
      listed ??= (await get('/api/studies')).studies;
      $('no-studies').hidden = listed.length > 0;
      $('studies-note').hidden = listed.length === 0;
      const id = listed.some((study) => study.id === chosen) ? chosen : listed[0]?.id;
      fill($('study-list'), listed.map((study) => h('li', {},
        h('a', { id: `study-${study.id}`, href: state.link({ tab: 'studies', study: study.id }), 'aria-current': study.id === id ? 'true' : null },
          nameIn(listed, study), h('small', {}, cellsOf(study.cells) || KINDS[study.kind])))));
      $('study-list').hidden = listed.length < 2;
      if (id === undefined) return;
      $('study-missing').hidden = chosen === null || id === chosen;
      say($('study-missing'), `Study ${chosen} is not open here.`);
      const key = `${id} ${theme()}`;
      if (key === held) return;
      held = key;
      const found = await get(`/api/studies/${id}`);
      // Another may have been chosen meanwhile.
      if (held === key) open({ ...found, name: nameIn(listed, found) });
    } catch (error) {
      held = null;
      $('study-refusal').hidden = false;
      say($('study-refusal'), error.message);
    }
  }

  function open(study) {
    $('study-refusal').hidden = true;
    const node = $('study');
    node.dataset.study = study.id;
    node.dataset.revision = study.revision;
    const scroll = scrollY;
    const opened = new Set([...node.querySelectorAll('details[open] > summary')].map((summary) => summary.textContent));
    fill(node,
      h('h2', {}, study.name),
      h('p', { class: 'note', id: 'study-cells' }, cellsOf(study.cells)),
      study.error ? h('p', { class: 'refusal', id: 'study-error' }, study.error, study.sections?.length ? '; what follows is from before.' : '') : null,
      downloads(study), facts(study.facts),
      results(study.sections ?? []),
      (study.sections ?? []).map((each) => section(study, each)),
      study.sections?.length ? null : bare(study, state));
    // What the reader had opened stays open when new runs come in.
    for (const summary of node.querySelectorAll('summary')) if (opened.has(summary.textContent)) summary.parentElement.open = true;
    scrollTo(0, scroll);
  }

  // A running sweep changes often; tables and figures are fetched again at most once a second.
  listenStudies(({ id, cells, revision }) => {
    const node = $('study');
    const known = listed?.find((study) => study.id === id);
    if (known) known.cells = cells;
    if (Number(node.dataset.study) !== id || node.dataset.study === undefined) return;
    const line = $('study-cells');
    if (line) say(line, cellsOf(cells));
    if (Number(node.dataset.revision) === revision) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      held = null;
      show();
    }, PAUSE);
  });
  onTheme(show);
  state.listen(show);
  show();
}
