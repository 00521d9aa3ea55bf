// The read-out under the pointer: sizes, predicted recall, and what limits it there. At the ring it says what was measured too.

import { fill, h, say, $ } from '../dom.js';
import { allRuns, listenRuns } from '../events.js';
import { count, interval, share } from '../format.js';
import { value, whole } from '../scale.js';
import { atPoint, lineOf, sizesOf } from '../sizes.js';
import { FINE, NONE } from './raster.js';
import { listenPrediction } from './readout.js';
import { nameOf } from '../terms.js';

/** Keeps the read-out at the pointer, or at the ring; `look` gives the map that is shown, its fine picture and the frame, or null. */
export function makeHover(state, about, look) {
  const plot = $('plot');
  const box = h('div', { id: 'hover', 'aria-hidden': 'true', hidden: true });
  plot.append(box);
  const ring = $('point');
  let predicted = null;
  const hide = () => { box.hidden = true; };
  const put = (x, y) => {
    const { width, height } = plot.getBoundingClientRect();
    box.hidden = false;
    box.style.setProperty('left', `${Math.max(x + 16 + box.offsetWidth > width ? x - box.offsetWidth - 16 : x + 16, 2)}px`);
    box.style.setProperty('top', `${Math.min(Math.max(y - 48, 2), height - box.offsetHeight - 2)}px`);
  };

  /** What is predicted at the ring, and what the newest run there measured. */
  function reading() {
    const { config } = state.get();
    const run = allRuns().reverse().find((each) => each.state === 'done' && each.accuracy && atPoint(each.config, config, state.usual));
    return `predicted ${share(predicted)}${run ? `, measured ${interval(run.accuracy)}, Run ${run.id}` : ', not measured yet'}`;
  }
  const spoken = h('span', { id: 'point-reading', hidden: true });
  plot.append(spoken);
  ring.setAttribute('aria-describedby', spoken.id);
  const describe = () => say(spoken, reading());
  function atRing() {
    const { left, top } = plot.getBoundingClientRect();
    const at = ring.getBoundingClientRect();
    fill(box, h('strong', {}, reading()), h('span', {}, sizesOf(state.get().config)));
    put(at.left + at.width / 2 - left, at.top + at.height / 2 - top);
  }
  const again = () => {
    describe();
    if (!box.hidden && (document.activeElement === ring || ring.matches(':hover'))) atRing();
  };
  listenPrediction((found) => {
    predicted = found.accuracy;
    again();
  });
  listenRuns(again);
  ring.addEventListener('focus', () => { if (ring.matches(':focus-visible')) atRing(); });
  ring.addEventListener('keyup', () => atRing());
  ring.addEventListener('blur', hide);
  ring.addEventListener('keydown', (event) => { if (event.key === 'Escape') hide(); });
  plot.addEventListener('pointerleave', hide);
  plot.addEventListener('pointerdown', hide);
  plot.addEventListener('pointermove', (event) => {
    const seen = look();
    if (event.target === ring && event.pointerType !== 'touch') return atRing();
    // Over a measured point its own note shows.
    if (!seen || event.buttons || event.pointerType === 'touch' || event.target !== plot) return hide();
    const place = plot.getBoundingClientRect();
    const [u, v] = [(event.clientX - place.left) / place.width, 1 - (event.clientY - place.top) / place.height];
    if (u < 0 || u >= 1 || v < 0 || v >= 1) return hide();
    const pixel = Math.floor(v * FINE) * FINE + Math.floor(u * FINE);
    const size = (axis, at) => `${lineOf(about, axis.size).symbol} = ${count(whole(value(at, axis.low, axis.high), axis.low, axis.high))}`;
    const { region, accuracy } = seen.fine;
    const kind = region[pixel];
    const why = kind === NONE ? 'no such model' : `recall ${share(accuracy[pixel])}${kind >= 0 ? ` · ${nameOf(seen.map.dominants[kind])}` : ''}`;
    fill(box, h('strong', {}, why), h('span', {}, `${size(seen.asked.x, u)}, ${size(seen.asked.y, v)}`));
    return put(event.clientX - place.left, event.clientY - place.top);
  });
}
