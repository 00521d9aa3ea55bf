// The beginning: asks the server what it is, then makes every part of the page and shows the tab of the address.

import { get } from './api.js';
import { say, $ } from './dom.js';
import { connect, listenLink } from './events.js';
import { makeControls } from './explore/controls.js';
import { makeMap } from './explore/map.js';
import { makeReadout } from './explore/readout.js';
import { makeIgnored } from './ignored.js';
import { makeInspect } from './plan/inspect.js';
import { makePlan } from './plan/plan.js';
import { TABS, makeState } from './state.js';
import { makeStudies } from './studies/studies.js';
import { explainTerms } from './terms.js';
import { switchTheme } from './theme.js';
import { makeQueue } from './try/queue.js';
import { makeResult } from './try/result.js';
import { makeTable } from './try/table.js';
import { makeTraining } from './try/train.js';
import { asCommand, asPython } from './commands.js';
import { makePresets } from './presets.js';
import { copies } from './save.js';
import { makeTask } from './task.js';
import { makeWelcome } from './welcome.js';

const TITLES = { explore: 'Explore', try: 'Train', studies: 'Studies', plan: 'Plan', help: 'How to read this' };

/** Shows the tab of the state, and gives the links of the others the present view. */
function showTab(state, before) {
  const { tab } = state.get();
  for (const name of TABS) {
    $(name).hidden = name !== tab;
    const link = $(`to-${name}`);
    link.href = state.link({ tab: name });
    if (name === tab) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${TITLES[tab]} · Superpose`;
  if (before && before.tab !== tab) scrollTo(0, 0);
}

async function start() {
  explainTerms();
  switchTheme($('theme'));
  const about = await get('/api/about');
  const state = makeState(about);
  state.listen((_, before) => showTab(state, before));
  showTab(state, null);
  // The part after `#` is the view, so the skip link must not be one.
  $('skip').addEventListener('click', (event) => {
    event.preventDefault();
    $('main').focus();
  });
  copies($('copy'), () => {
    state.settle();
    return location.href;
  }, 'Link');
  copies($('copy-command'), () => asCommand(state.get().config, state.usual), 'Command');
  copies($('copy-python'), () => asPython(state.get().config, state.usual), 'Python');
  makePresets(state);
  makeIgnored(state);
  makeWelcome(state);
  makeTask(state);
  makeControls(state, about);
  const afterMap = makeMap(state, about);
  makeReadout(state, about, afterMap);
  const fail = makeTraining(state);
  makeQueue(state, fail);
  makeResult(state, fail);
  makeTable(state, fail);
  makeStudies(state);
  makePlan(state, about);
  makeInspect(state, about);
  listenLink((there) => { $('lost').hidden = there; });
  connect();
  say($('version'), `Superpose ${about.version}, on this machine with ${about.threads === 1 ? 'one thread' : `${about.threads} threads`}${about.device === 'cpu' ? '' : `; runs are computed on ${about.device}`}.`);
  document.documentElement.dataset.ready = 'true';
}

start().catch((error) => {
  $('lost').hidden = false;
  say($('lost'), `The page could not start: ${error.message}`);
});
