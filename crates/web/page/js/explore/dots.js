// Measured points on the map. A run at the same settings, but for the axes, is a dot in the colour of its accuracy with the
// number beside it, where there is room; one at other settings is a faint ring, and one of another task or training, for which
// the page has no control, a faint square: no setting of the sliders makes the map its own.

import { colour } from '../colour.js';
import { fill, h, $ } from '../dom.js';
import { interval, share } from '../format.js';
import { allRuns, keyOf, listenRuns } from '../events.js';
import { place } from '../scale.js';
import { atPoint, describe, foreign, setBy, sizeOf, unusual } from '../sizes.js';
import { onTheme, theme } from '../theme.js';

/** Half the width and height of a dot and of its number, and how far their middles are apart. */
const DOT = { across: 8, up: 8 };
const NUMBER = { across: 22, up: 9 };
const AWAY = 34;

/** How a run stands to the slice that the map shows: `here`, `elsewhere` at other settings, or `foreign`. */
function kindOf(run, { config, x, y }, usual) {
  if (foreign(run, usual)) return 'foreign';
  return atPoint(run, config, usual, [setBy(x), setBy(y)]) ? 'here' : 'elsewhere';
}

/** The side of a dot on which its number overlaps no other and stays on the plot; null when there is none. */
function sideFor({ x, y }, taken, frame) {
  for (const side of ['right', 'left']) {
    const at = { x: x + (side === 'right' ? AWAY : -AWAY), y, ...NUMBER };
    const inside = at.x > at.across && at.x < frame.across - at.across;
    const free = taken.every((other) => Math.abs(other.x - at.x) >= other.across + at.across || Math.abs(other.y - at.y) >= other.up + at.up);
    if (inside && free) {
      taken.push(at);
      return side;
    }
  }
  return null;
}

function noteOf(run, usual) {
  const others = unusual(run.config, usual);
  const predicted = run.predicted === null ? 'no prediction' : `predicted ${share(run.predicted)}`;
  return `Run ${run.id}: measured ${interval(run.accuracy)}, ${predicted}. ${describe(run.config)}.${others ? ` Also: ${others}.` : ''}`;
}

/** Makes the measured points; `changed` is called when there are others. */
export function makeDots(state, changed) {
  let frame = null;
  let names = [];
  let dots = [];

  /** Runs that are on the plot, with their places in pixels. Newest first, since they have the first choice of room. */
  function onPlot() {
    const { x, y } = state.get();
    const at = (run) => ({
      x: frame.across * place(sizeOf(run.config, x) ?? 0, frame.x.low, frame.x.high),
      y: frame.down * (1 - place(sizeOf(run.config, y) ?? 0, frame.y.low, frame.y.high)),
    });
    return allRuns().reverse()
      .filter((run) => run.state === 'done' && run.accuracy)
      .map((run) => ({ run, at: at(run) }))
      .filter((dot) => dot.at.x >= 0 && dot.at.x <= frame.across && dot.at.y >= 0 && dot.at.y <= frame.down);
  }

  const boxesOf = (dots) => dots.filter((dot) => dot.kind === 'here').map((dot) => ({ ...dot.at, ...DOT }));

  function show() {
    if (!frame) return;
    dots = onPlot().map((dot) => ({ ...dot, kind: kindOf(dot.run.config, state.get(), state.usual) }));
    const taken = [...names, ...boxesOf(dots)];
    for (const dot of dots) dot.side = dot.kind === 'here' ? sideFor(dot.at, taken, frame) : null;
    fill($('dots'), dots.map(({ run, at, kind, side }) => {
      const note = noteOf(run, state.usual);
      return h('a', {
        class: `dot ${kind}`, href: state.link({ tab: 'try', run: run.id }), 'data-run': run.id, 'data-note': note,
        'aria-label': `Run ${run.id}, ${share(run.accuracy.mean)}. ${note}`,
        style: { left: `${at.x}px`, top: `${at.y}px`, '--dot': colour(run.accuracy.mean, theme()) },
      }, side ? h('span', { class: side }, share(run.accuracy.mean)) : null);
    }));
    for (const kind of ['here', 'elsewhere', 'foreign']) $(`key-${kind}`).hidden = dots.every((dot) => dot.kind !== kind);
    $('measured').hidden = dots.length === 0;
  }

  // Progress comes many times a second; only what is done changes the dots.
  let known = '';
  listenRuns(() => {
    const done = allRuns().filter((run) => run.state === 'done').map(keyOf).join(' ');
    if (done === known) return;
    known = done;
    show();
    changed();
  });
  onTheme(show);
  return {
    /** Puts them on the plot. */
    place(next) {
      frame = next;
      show();
    },
    /** All that are on the plot, with their places in pixels. */
    all: () => dots,
    /** The boxes that they take on it, without their numbers. */
    taken: () => boxesOf(dots),
    /** Leaves the boxes of names free of numbers. */
    leave(written) {
      names = written;
      show();
    },
  };
}
