// One example sequence: a bar for the attention weight of every token, with the trigger marked.

import { h } from '../dom.js';
import { share } from '../format.js';

const LABELLED = 20;

/** A weight from which on a bar is a stop of the Tab key. */
const HEAVY = 0.02;

function bar({ position, token, weight, trigger }, labelled) {
  const note = `Position ${position + 1}, token ${token}: weight ${share(weight)}${trigger ? ', the trigger' : ''}`;
  return h('li', { class: trigger ? 'trigger' : null, 'data-note': note, tabindex: trigger || weight >= HEAVY ? 0 : null, 'aria-label': note },
    h('span', { class: 'mark', 'aria-hidden': 'true' }, trigger ? '▼' : ''),
    h('span', { class: 'column', 'aria-hidden': 'true' }, h('span', { style: { height: `${100 * weight}%` } })),
    h('span', { class: 'token', 'aria-hidden': 'true' }, labelled ? token : ''));
}

/** The example of a run; `model` says of which trained model it is. */
export function attention({ tokens, length, rest, label, answer, right }, model) {
  const heaviest = tokens.reduce((best, each) => (each.weight > best.weight ? each : best));
  const trigger = tokens.find((each) => each.trigger);
  const few = tokens.length <= LABELLED;
  const where = heaviest.trigger ? 'on the trigger' : trigger ? `not on the trigger, which has ${share(trigger.weight)}` : 'not on the trigger';
  return [
    h('p', {}, `One test sequence of ${model}. The largest weight, ${share(heaviest.weight)}, is ${where}. `,
      right ? `The model answers with label ${answer}, which is right.` : `The model answers with label ${answer}; the right one is ${label}.`),
    h('ol', { class: 'attention', 'data-tokens': tokens.length }, tokens.map((each) => bar(each, few || each.trigger))),
    h('p', { class: 'note' }, few ? '▼ trigger. Below: the token at each position. ' : '▼ trigger, and its token. ',
      tokens.length < length ? `The other ${length - tokens.length} tokens have ${share(rest)} together.` : null),
  ];
}
