// Measured points on the map. A run at the same settings, but for the axes, is a dot in the colour of its accuracy with the
// number beside it; one at other settings is a faint ring.

import { colour } from '../colour.js';
import { fill, h, $ } from '../dom.js';
import { share } from '../format.js';
import { allRuns, listenRuns } from '../events.js';
import { place } from '../scale.js';
import { describe, setBy, sizeOf } from '../sizes.js';
import { onTheme, theme } from '../theme.js';

const SAME = ['vocab', 'dim', 'length', 'samples', 'width', 'embedding', 'trigger'];

/** Whether a run was made in the slice that the map shows. */
function inSlice(run, config, axes) {
  const names = config.width === null ? SAME : [...SAME, 'activation'];
  return names.every((name) => axes.includes(name) || run[name] === config[name]);
}

/** Makes the measured points; `place(frame)` puts them on the plot. */
export function makeDots(state) {
  let frame = null;

  function show() {
    if (!frame) return;
    const { config, x, y } = state.get();
    const axes = [setBy(x), setBy(y)];
    const done = allRuns().filter((run) => run.state === 'done' && run.accuracy);
    fill($('dots'), done.map((run) => {
      const at = [place(sizeOf(run.config, x) ?? 0, frame.x.low, frame.x.high), place(sizeOf(run.config, y) ?? 0, frame.y.low, frame.y.high)];
      if (at.some((share) => !(share >= 0 && share <= 1))) return null;
      const same = inSlice(run.config, config, axes);
      const text = share(run.accuracy.mean);
      const note = `Measured ${text} (${share(run.accuracy.low)} to ${share(run.accuracy.high)}), predicted ${share(run.predicted)}. ${describe(run.config)}.`;
      return h('a', {
        class: same ? 'dot' : 'dot elsewhere', href: state.link({ tab: 'try', run: run.id }), 'data-run': run.id, 'data-note': note,
        'aria-label': `Run ${run.id}. ${note}`,
        style: { left: `${100 * at[0]}%`, top: `${100 * (1 - at[1])}%`, '--dot': colour(run.accuracy.mean, theme()) },
      }, same ? h('span', {}, text) : null);
    }));
    $('elsewhere').hidden = !$('dots').querySelector('.elsewhere');
    $('measured').hidden = done.length === 0;
  }

  listenRuns(show);
  onTheme(show);
  return {
    place(next) {
      frame = next;
      show();
    },
  };
}
