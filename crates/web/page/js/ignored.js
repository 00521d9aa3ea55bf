// What an address asked for and the page could not show: one line that says which values were left out and what is allowed.

import { say, $ } from './dom.js';

/** Keeps the line in step with the address; it goes when the reader dismisses it or another address is read. */
export function makeIgnored(state) {
  let told = null;
  const show = () => {
    const list = state.ignored();
    if (list === told) return;
    told = list;
    $('ignored').hidden = list.length === 0;
    say($('ignored-text'), list.length ? `Not understood in the link, and left out: ${list.join('; ')}.` : '');
  };
  $('ignored-close').addEventListener('click', () => {
    $('ignored').hidden = true;
    $('main').focus({ preventScroll: true });
  });
  state.listen(show);
  show();
}
