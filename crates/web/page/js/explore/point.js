// The configuration as a point on the map: dragged with mouse or finger, moved with arrow keys, or put by a click.

import { $ } from '../dom.js';
import { count } from '../format.js';
import { place, step, value, whole } from '../scale.js';
import { lineOf, rangeOf, sizeOf, withSize } from '../sizes.js';

const FINE = 1.05;
const COARSE = 1.5;
/** Half the width of the ring with its shadow. */
const RING = 16;
/** Which axis a key moves along, and which way. */
const KEYS = { ArrowRight: ['x', 1], ArrowLeft: ['x', -1], ArrowUp: ['y', 1], ArrowDown: ['y', -1] };

/** Makes the point; `place(frame)` puts it where the configuration is. */
export function makePoint(state, about) {
  const plot = $('plot');
  const handle = $('point');
  let frame = null;
  let dragging = false;

  const sides = () => [['x', frame.x], ['y', frame.y]];

  function moveTo(event) {
    const box = plot.getBoundingClientRect();
    const at = { x: (event.clientX - box.left) / box.width, y: 1 - (event.clientY - box.top) / box.height };
    const { config } = state.get();
    const change = {};
    for (const [axis, { size, low, high }] of sides()) {
      const inside = Math.min(Math.max(at[axis], 0), 1);
      Object.assign(change, withSize(config, size, whole(value(inside, low, high), low, high)));
    }
    state.move({ config: change });
  }

  plot.addEventListener('pointerdown', (event) => {
    // A finger on the plot may want to scroll the page; a tap arrives as a click.
    const grabbed = event.target === handle;
    if (event.button !== 0 || event.target.closest('a') || (event.pointerType === 'touch' && !grabbed)) return;
    dragging = true;
    plot.setPointerCapture(event.pointerId);
    if (!grabbed) moveTo(event);
  });
  plot.addEventListener('pointermove', (event) => { if (dragging) moveTo(event); });
  for (const end of ['pointerup', 'pointercancel']) {
    plot.addEventListener(end, () => {
      if (dragging) state.settle();
      dragging = false;
      handle.focus({ preventScroll: true });
    });
  }
  plot.addEventListener('click', (event) => {
    if (event.pointerType !== 'touch' || event.target === handle || event.target.closest('a')) return;
    moveTo(event);
    state.settle();
  });

  handle.addEventListener('keydown', (event) => {
    const move = KEYS[event.key];
    if (!move) return;
    event.preventDefault();
    const { config } = state.get();
    const [axis, way] = move;
    const { size, low, high } = frame[axis];
    const next = step(sizeOf(config, size), (event.shiftKey ? COARSE : FINE) ** way, low, high);
    state.move({ config: withSize(config, size, next) });
  });
  handle.addEventListener('keyup', (event) => { if (event.key in KEYS) state.settle(); });

  return {
    /** The box of the ring in pixels of the plot; null where there is none. */
    box() {
      if (!frame || handle.hidden) return null;
      const { config, x, y } = state.get();
      return {
        x: frame.across * place(sizeOf(config, x), frame.x.low, frame.x.high), across: RING,
        y: frame.down * (1 - place(sizeOf(config, y), frame.y.low, frame.y.high)), up: RING,
      };
    },
    place(next) {
      frame = next;
      const { config, x, y } = state.get();
      for (const [key, length] of [['left', frame.left], ['top', frame.top], ['width', frame.across], ['height', frame.down]]) {
        plot.style.setProperty(key, `${length}px`);
      }
      const held = [sizeOf(config, x), sizeOf(config, y)];
      handle.hidden = held.includes(null);
      if (handle.hidden) return;
      plot.style.setProperty('--x', `${100 * place(held[0], frame.x.low, frame.x.high)}%`);
      plot.style.setProperty('--y', `${100 * (1 - place(held[1], frame.y.low, frame.y.high))}%`);
      const name = (size, number) => `${lineOf(about, size).symbol} = ${count(number)}`;
      const range = rangeOf(about, config, x);
      handle.setAttribute('aria-valuemin', range.low);
      handle.setAttribute('aria-valuemax', range.high);
      handle.setAttribute('aria-valuenow', held[0]);
      handle.setAttribute('aria-valuetext', `${name(x, held[0])}, ${name(y, held[1])}`);
    },
  };
}
