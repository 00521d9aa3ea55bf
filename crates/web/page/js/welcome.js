// The first minute: one line that says what is seen and what to do first, until the reader has had it.

import { $ } from './dom.js';
import { keep, kept } from './keep.js';

const KEY = 'superpose-welcomed';

/** Shows the line until it has been dismissed. */
export function makeWelcome(state) {
  $('welcome').hidden = kept(KEY) !== null;
  $('welcome-close').addEventListener('click', () => {
    keep(KEY, 'yes');
    $('welcome').hidden = true;
    $('main').focus({ preventScroll: true });
  });
  const show = () => { $('welcome-more').href = state.link({ tab: 'help' }); };
  state.listen(show);
  show();
}
