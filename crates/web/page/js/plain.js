// Sentences of the server in the words of the page: symbols instead of names of settings, thousands separated, and one name for
// each thing that limits recall.

import { count, grouped, words } from './format.js';
import { PLAIN, nameOf } from './terms.js';

const SYMBOLS = { vocab: 'V', dim: 'd', length: 'L', samples: 'N', width: 'm', keep: 'k', max_parameters: 'parameters' };
const RAISED = '⁰¹²³⁴⁵⁶⁷⁸⁹';
const terms = Object.keys(PLAIN).map((term) => [term, new RegExp(`\\b${term.replaceAll('_', '[ _-]')} in the (memory|attention)`, 'gi')]);

/** 2e2 is 200, 1e15 is 10¹⁵. */
function expanded(text) {
  const [digit, power] = text.split('e');
  if (Number(power) < 9) return count(Number(text));
  return `${digit === '1' ? '' : `${digit} × `}10${[...power].map((each) => RAISED[each]).join('')}`;
}

/** A sentence of the server, for people. */
export function plain(text) {
  const named = terms.reduce((sentence, [term, pattern]) => sentence.replace(pattern, (_, part) => nameOf({ part: part.toLowerCase(), term })), text);
  return named
    .replace(/\b(vocab|dim|length|samples|width|keep|max_parameters)(?= = | up to )/g, (name) => SYMBOLS[name])
    .replace(/(?<![\w.,])[0-9]e[0-9]+\b/g, expanded)
    .replace(/(?<![\w.,])[0-9]{4,}(?![\w.])/g, (digits) => grouped(Number(digits)));
}

/** Why a size has no critical value. */
export function plainReason(reason) {
  const forbidden = /^unreachable: (?:(.+) forbids it|no noise term limits it) \(accuracy ([0-9.]+) at/.exec(reason);
  if (forbidden) return `not by this alone: at best ${forbidden[2] === '0.000' ? 'less than 0.001' : forbidden[2]}${forbidden[1] ? ` (${plain(forbidden[1])})` : ''}`;
  const free = /^unlimited: every \w+ up to (\S+) reaches the accuracy$/.exec(reason);
  return free ? `no limit up to ${plain(free[1])}` : plain(words(reason));
}

/** Names of conditions whose cause has another name on the page. */
const CONDITIONS = { capacity: 'interference', 'mean bias': 'mean_bias', 'gradient noise': 'gradient_noise', 'output overlap': 'output_overlap', coverage: 'coverage' };

/** A condition to leading order, with the page's name of what it is about. */
export const plainCondition = (text) => text.replace(/^([a-z ]+)(?=: )/, (name) => PLAIN[CONDITIONS[name]] ?? name);
