// The runs: waiting, going on, ended. Each with its progress and a way to cancel or remove it.

import { fill, h, $ } from '../dom.js';
import { active, allRuns, drop, listenRuns } from '../events.js';
import { seconds, share } from '../format.js';
import { describe } from '../sizes.js';

const places = (ahead) => (ahead === 0 ? 'next in the queue' : `${ahead} ahead in the queue`);

/** Where a run stands, in words. */
export function standing(run) {
  switch (run.state) {
    case 'queued': return run.position === null ? 'queued' : places(run.position);
    case 'running': {
      const repeat = run.config.repeats > 1 ? `, repeat ${run.repeat + 1} of ${run.config.repeats}` : '';
      return `${run.stage ?? 'starting'}${repeat}, ${seconds(run.seconds ?? 0)}`;
    }
    case 'done': return `${share(run.accuracy?.mean)}, predicted ${share(run.predicted)}`;
    case 'failed': return run.error;
    default: return 'cancelled';
  }
}

/** The button that cancels a run or removes it from the list. */
export function dropButton(run, fail) {
  const text = active(run) ? 'Cancel' : 'Remove';
  return h('button', {
    type: 'button', id: `drop-${run.id}`, class: 'small', 'aria-label': `${text} run ${run.id}`,
    onclick: () => drop(run.id).catch(fail),
  }, text);
}

/** The progress of a run as a bar. */
export const progress = (run) => h('progress', { max: 1, value: run.share ?? 0, 'aria-label': `Progress of run ${run.id}` });

function row(run, state, fail) {
  const chosen = state.get().run === run.id;
  return h('li', { class: `run ${run.state}${chosen ? ' chosen' : ''}`, 'data-run': run.id, 'data-state': run.state },
    h('a', { id: `run-${run.id}`, href: state.link({ tab: 'try', run: run.id }), 'aria-current': chosen ? 'true' : null }, `Run ${run.id}`),
    h('span', { class: 'standing' }, standing(run)),
    dropButton(run, fail),
    active(run) ? progress(run) : null,
    h('p', { class: 'note' }, describe(run.config)));
}

/** Keeps the list of runs, newest first. */
export function makeQueue(state, fail) {
  const show = () => {
    if (state.get().tab !== 'try') return;
    const runs = allRuns().reverse();
    $('no-runs').hidden = runs.length > 0;
    fill($('runs'), runs.map((run) => row(run, state, fail)));
  };
  listenRuns(show);
  state.listen(show);
  show();
}
