// Training at the point: the buttons, how often and with which seed, and the strip under the map that follows the newest run.

import { h, say, $ } from '../dom.js';
import { active, allRuns, listenRuns, train } from '../events.js';
import { wholeField } from '../number.js';
import { describe } from '../sizes.js';
import { course, dropButton, showRun } from './queue.js';

/** A field for a whole number of the configuration. */
function field(state, name) {
  const [low, high] = state.ranges[name];
  const { refusal, show } = wholeField($(name), { name, low, high, put: (number) => state.set({ config: { [name]: number } }) });
  $('train-fields').append(refusal);
  return ({ config }) => show(config[name]);
}

/** Puts the focus on a field of the present tab whose number was refused; whether there was one. */
function refused(state) {
  const field = $(state.get().tab).querySelector('[aria-invalid=true]');
  field?.focus();
  return field !== null;
}

/** The strip under the map: the run of this page that goes on, or else the newest. */
function strip(state, mine, fail) {
  const node = $('strip');
  const all = allRuns().filter((run) => mine.has(run.id));
  const run = all.find((each) => each.state === 'running') ?? all.at(-1);
  node.hidden = !run;
  if (!run) return;
  const link = state.link({ tab: 'try', run: run.id });
  showRun(node, run, link, () => [h('a', { id: 'strip-link', href: link }, `Run ${run.id}`), course(run), active(run) ? dropButton(run, fail) : null]);
}

/** Makes everything that trains. */
export function makeTraining(state) {
  const mine = new Set();
  const fail = (error) => {
    for (const id of ['train-refusal', 'strip-refusal']) {
      $(id).hidden = error === null;
      say($(id), error?.message ?? '');
    }
  };
  const start = async (openIt) => {
    fail(null);
    // What stands in the field is not what would be trained.
    if (refused(state)) return;
    try {
      const run = await train(state.get().config);
      mine.add(run.id);
      strip(state, mine, fail);
      if (openIt) state.set({ run: run.id });
    } catch (error) {
      fail(error);
    }
  };
  $('train').addEventListener('click', () => start(true));
  $('train-here').addEventListener('click', () => start(false));
  const shows = [field(state, 'repeats'), field(state, 'seed')];
  const show = (now) => {
    shows.forEach((each) => each(now));
    say($('train-config'), describe(now.config));
    if (now.tab === 'explore') strip(state, mine, fail);
  };
  listenRuns(() => strip(state, mine, fail));
  state.listen(show);
  show(state.get());
  return fail;
}
