// One example sequence: a bar for the attention weight of every token at its position, with the trigger marked.

import { h } from '../dom.js';
import { count, share } from '../format.js';
import { evenTicks } from '../scale.js';

const LABELLED = 20;

/** A weight from which on a bar is a stop of the Tab key. */
const HEAVY = 0.02;

function bar({ position, token, weight, trigger }, length, labelled) {
  const note = `Position ${position + 1}, token ${token}: weight ${share(weight)}${trigger ? ', the trigger' : ''}`;
  return h('li', {
    class: trigger ? 'trigger' : null, 'data-note': note, tabindex: trigger || weight >= HEAVY ? 0 : null, 'aria-label': note,
    style: { left: `${(100 * position) / length}%`, width: `${100 / length}%` },
  },
    h('span', { class: 'mark', 'aria-hidden': 'true' }, trigger ? '▼' : ''),
    h('span', { class: 'column', 'aria-hidden': 'true' }, h('span', { style: { '--even': `${100 / length}%`, height: `${100 * weight}%` } })),
    h('span', { class: 'token', 'aria-hidden': 'true' }, labelled ? token : ''));
}

/** Positions along a long sequence, under the bars. */
function positions(length) {
  const marks = [1, ...evenTicks(2, length, 5).map(Math.round).filter((at) => at > 0.06 * length)];
  return h('div', { class: 'positions', 'aria-hidden': 'true' },
    marks.map((at) => h('span', { style: { left: `${(100 * (at - 0.5)) / length}%` } }, count(at))));
}

/** The example of a run; `model` says of which trained model it is. */
export function attention({ tokens, length, rest, label, answer, right }, model) {
  const heaviest = tokens.reduce((best, each) => (each.weight > best.weight ? each : best));
  const trigger = tokens.find((each) => each.trigger);
  const few = length <= LABELLED;
  const where = heaviest.trigger ? 'on the trigger' : trigger ? `not on the trigger, which has ${share(trigger.weight)}` : 'not on the trigger';
  return [
    h('p', {}, `One test sequence of ${model}. ${trigger ? `The trigger marks token ${trigger.token}, its label is ${label}. ` : ''}`,
      `The largest weight, ${share(heaviest.weight)}, is ${where}. `,
      right ? `The model answers with label ${answer}, which is right.` : `The model answers with label ${answer}; the right one is ${label}.`),
    h('ol', { class: few ? 'attention' : 'attention many', 'data-tokens': tokens.length }, tokens.map((each) => bar(each, length, few))),
    few ? null : positions(length),
    h('p', { class: 'note' }, few ? '▼ trigger. Below: the token at each position. ' : `▼ trigger, token ${trigger?.token}. Below: positions. `,
      tokens.length < length ? `Only the ${tokens.length} largest weights are drawn; the other ${count(length - tokens.length)} tokens have ${share(rest)} together.` : null),
  ];
}
