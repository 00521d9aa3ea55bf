// The first minute: one line that says what is seen and what to do first, until the reader has had it.

import { $ } from './dom.js';
import { keep, kept } from './keep.js';

const KEY = 'superpose-welcomed';

/** Shows the line until it has been dismissed, and again when it is asked for. */
export function makeWelcome(state) {
  $('welcome').hidden = kept(KEY) === 'yes';
  $('welcome-close').addEventListener('click', () => {
    keep(KEY, 'yes');
    $('welcome').hidden = true;
    $('main').focus({ preventScroll: true });
  });
  $('welcome-again').addEventListener('click', () => {
    keep(KEY, 'no');
    $('welcome').hidden = false;
    state.set({ tab: 'explore' });
    $('main').focus({ preventScroll: true });
  });
  const show = () => { $('welcome-more').href = state.link({ tab: 'help' }); };
  state.listen(show);
  show();
}
