// The read-out under the pointer: sizes, predicted recall, and what limits it there.

import { fill, h, $ } from '../dom.js';
import { count, share } from '../format.js';
import { value, whole } from '../scale.js';
import { lineOf } from '../sizes.js';
import { FINE, NONE, REACHED } from './raster.js';
import { nameOf } from './regions.js';

/** Keeps the read-out at the pointer; `look` gives the map that is shown, its fine picture and the frame, or null. */
export function makeHover(about, look) {
  const plot = $('plot');
  const box = h('div', { id: 'hover', 'aria-hidden': 'true', hidden: true });
  plot.append(box);
  const hide = () => { box.hidden = true; };
  plot.addEventListener('pointerleave', hide);
  plot.addEventListener('pointerdown', hide);
  plot.addEventListener('pointermove', (event) => {
    const seen = look();
    // Over the ring or a measured point their own notes show.
    if (!seen || event.buttons || event.pointerType === 'touch' || event.target !== plot) return hide();
    const place = plot.getBoundingClientRect();
    const [u, v] = [(event.clientX - place.left) / place.width, 1 - (event.clientY - place.top) / place.height];
    if (u < 0 || u >= 1 || v < 0 || v >= 1) return hide();
    const pixel = Math.floor(v * FINE) * FINE + Math.floor(u * FINE);
    const size = (axis, at) => `${lineOf(about, axis.size).symbol} = ${count(whole(value(at, axis.low, axis.high), axis.low, axis.high))}`;
    const { region, accuracy } = seen.fine;
    const kind = region[pixel];
    const why = kind === NONE ? 'no such model' : `recall ${share(accuracy[pixel])}${kind >= 0 && kind !== REACHED ? ` · ${nameOf(seen.map.dominants[kind])}` : ''}`;
    fill(box, h('strong', {}, why), h('span', {}, `${size(seen.asked.x, u)}, ${size(seen.asked.y, v)}`));
    box.hidden = false;
    const [x, y] = [event.clientX - place.left, event.clientY - place.top];
    box.style.setProperty('left', `${x + 16 + box.offsetWidth > place.width ? x - box.offsetWidth - 12 : x + 16}px`);
    box.style.setProperty('top', `${Math.min(Math.max(y - 44, 2), place.height - box.offsetHeight - 2)}px`);
  });
}
