// Starting points: settings that show one thing each.

import { h, $ } from './dom.js';

const PRESETS = {
  'Find the boundary': { note: 'Just below one half: a few more dimensions, or many more samples, cross the line.', view: {} },
  'Why length hurts': {
    note: 'Longer sequences are harder to search. Drag the ring to the right: recall falls until more samples teach the attention. Near the line some seeds fail entirely, so that trainings scatter there.',
    view: { x: 'length', y: 'samples', config: { dim: 96, vocab: 200, length: 128, samples: 3000 } },
  },
  'Orthogonal embeddings': {
    note: 'Vectors that do not overlap: facts no longer interfere, and only facts that were never shown are lost.',
    view: { config: { embedding: 'orthonormal', vocab: 200, dim: 202, samples: 600 } },
  },
};

/** Makes the buttons above the map. */
export function makePresets(state) {
  const go = (view) => state.replace({
    ...state.defaults, ...view, tab: 'explore', run: state.get().run, config: { ...state.defaults.config, ...view.config },
  });
  $('presets').append(...Object.entries(PRESETS).map(([name, { note, view }]) =>
    h('button', { type: 'button', class: 'small', 'data-note': note, onclick: () => go(view) }, name)));
}
