// Training at the point: the buttons, how often and with which seed, and the strip under the map that follows the newest run.

import { h, say, $ } from '../dom.js';
import { active, allRuns, listenRuns, train } from '../events.js';
import { count } from '../format.js';
import { wholeField } from '../number.js';
import { plain } from '../plain.js';
import { atPoint, describe, sizesOf } from '../sizes.js';
import { course, dropButton, seeds, showRun } from './queue.js';

/** A field for a whole number of the configuration. Its message stands under the button, which must not move. */
function field(state, name, label) {
  const [low, high] = state.ranges[name];
  const { refusal, show } = wholeField($(name), { name: label, low, high, put: (number) => state.set({ config: { [name]: number } }) });
  $('train-messages').append(refusal);
  return ({ config }, anew) => show(config[name], anew);
}

/** The field of the present tab whose number was refused, with the focus; null when there is none. */
function refused(state) {
  const field = $(state.get().tab).querySelector('[aria-invalid=true]');
  field?.focus();
  return field;
}

/** The runs at the point with its first seed, newest first. */
const runsHere = ({ config }, usual) => allRuns().reverse().filter((run) => run.config.seed === config.seed && atPoint(run.config, config, usual));

/** What a click trains: the seeds that are set, or those and as many more where they are trained already; null where none is left. */
function wanted(state) {
  const { config } = state.get();
  const had = Math.max(0, ...runsHere(state.get(), state.usual).filter((run) => run.state === 'done').map((run) => run.config.repeats));
  const repeats = had < config.repeats ? config.repeats : Math.min(had + config.repeats, state.ranges.repeats[1]);
  return { had, repeats, more: repeats - had };
}

/** The strip under the map: the run that goes on, or else the newest. One of another point says so and is dimmed. */
function strip(state, fail) {
  const node = $('strip');
  const all = allRuns();
  const run = all.find((each) => each.state === 'running') ?? all.at(-1);
  node.hidden = !run;
  if (!run) return;
  const here = atPoint(run.config, state.get().config, state.usual);
  const link = state.link({ tab: 'try', run: run.id });
  node.dataset.run = run.id;
  node.classList.toggle('elsewhere', !here);
  showRun(node, run, `${link} ${here}`, () => [
    h('a', { id: 'strip-link', href: link }, `Run ${run.id}`), course(run), seeds(), active(run) ? dropButton(run, fail) : null,
    here ? null : h('span', { class: 'where' }, `at another point: ${sizesOf(run.config)}`),
  ]);
}

/** Makes everything that trains. */
export function makeTraining(state) {
  const fail = (error) => {
    for (const id of ['train-refusal', 'strip-refusal']) {
      $(id).hidden = error === null;
      say($(id), error ? plain(error.message) : '');
    }
  };
  let asking = false;
  const busy = () => asking || runsHere(state.get(), state.usual).some((run) => active(run));
  const buttons = [$('train'), $('train-here')];

  /** What the buttons offer: the first seeds, the next ones, or nothing while these are trained. */
  function offer() {
    const { had, more } = wanted(state);
    const waits = busy();
    for (const button of buttons) {
      say(button, waits ? 'Training …' : had > 0 && more > 0 ? `Train ${count(more)} more ${more === 1 ? 'seed' : 'seeds'}` : 'Train at this point');
      button.setAttribute('aria-disabled', String(waits));
    }
  }

  const start = async ({ detail }, openIt) => {
    // A double click is one click, and another click while the same run is under way is none.
    if (detail > 1 || busy()) return;
    fail(null);
    // What stands in the field is not what would be trained.
    const wrong = refused(state);
    if (wrong) {
      fail(new Error(`Not trained: ${wrong.dataset.name} is not valid.`));
      return;
    }
    const { had, repeats } = wanted(state);
    if (repeats <= had) {
      fail(new Error(`Not trained: ${count(had)} seeds are the most, and they are trained already. Set another first seed.`));
      return;
    }
    asking = true;
    offer();
    try {
      const run = await train({ ...state.get().config, repeats });
      if (openIt) state.set({ run: run.id });
    } catch (error) {
      fail(error);
    }
    asking = false;
    offer();
  };
  $('train').addEventListener('click', (event) => start(event, true));
  $('train-here').addEventListener('click', (event) => start(event, false));
  const shows = [field(state, 'repeats', 'Repeats'), field(state, 'seed', 'Seed')];
  const show = (now, before, anew) => {
    shows.forEach((each) => each(now, anew));
    say($('train-config'), describe(now.config));
    if (before && (anew || before.config !== now.config || before.tab !== now.tab)) fail(null);
    offer();
    if (now.tab === 'explore') strip(state, fail);
  };
  listenRuns(() => {
    offer();
    strip(state, fail);
  });
  state.listen(show);
  show(state.get(), null, true);
  return fail;
}
