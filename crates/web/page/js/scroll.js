// Boxes that scroll sideways where the screen is too narrow for what they hold. A cut side fades, and a line under the box says so.

import { h } from './dom.js';

/** A pixel or so is rounding. */
const SLACK = 2;

/** Marks which sides of a box are cut. */
function mark(box) {
  const beyond = box.scrollWidth - box.clientWidth;
  const sides = [['left', box.scrollLeft > SLACK], ['right', box.scrollLeft < beyond - SLACK]];
  box.dataset.cut = sides.filter(([, cut]) => cut).map(([side]) => side).join(' ');
  box.parentElement?.classList.toggle('cut', beyond > SLACK);
  // Only what scrolls is a stop of the Tab key.
  if (beyond > SLACK) box.tabIndex = 0;
  else box.removeAttribute('tabindex');
}

const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) mark(target.classList.contains('scroll') ? target : target.parentElement);
});

/** Puts something wide into a box of its own; `name` is what it is. */
export function scrolling(name, wide) {
  const box = h('div', { class: 'scroll', role: 'region', 'aria-label': name }, wide);
  box.addEventListener('scroll', () => mark(box), { passive: true });
  watch.observe(box);
  watch.observe(wide);
  return h('div', { class: 'wide' }, box, h('p', { class: 'hint', 'aria-hidden': 'true' }, '↔ Wider than the screen: scroll it sideways.'));
}

/** A picture with its caption; on a phone it keeps its size and scrolls. */
export const pictured = (image, caption) => h('figure', {}, scrolling(caption, image), h('figcaption', {}, caption));
