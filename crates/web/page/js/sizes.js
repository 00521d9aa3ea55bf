// Sizes of a configuration: what sliders set and axes span. `parameters` is width times dimension.

import { grouped, words } from './format.js';

const NAMES = { vocab: 'facts', dim: 'dimension' };

/** A size in a word for people; most are called what the programs call them. */
export const nameOfSize = (size) => NAMES[size] ?? size;

/** Rules of the memory steps that have a name of their own. */
export const RULES = { muon: 'Muon', newton: 'Newton' };

/** The value of a size; null where the model has none. */
export function sizeOf(config, size) {
  if (size !== 'parameters') return config[size];
  return config.width === null ? null : config.width * config.dim;
}

/** What to change in a configuration for a size to have a value. */
export function withSize(config, size, value) {
  if (size !== 'parameters') return { [size]: value };
  return { width: Math.max(1, Math.round(value / config.dim)) };
}

/** The names of what an axis sets. */
export const setBy = (size) => (size === 'parameters' ? 'width' : size);

/** The line of a size in what the server says of itself. */
export const lineOf = (about, size) => about.sizes.find((line) => line.size === size);

/** The range of an axis: the usual one, stretched to hold the point. */
export function rangeOf(about, config, size) {
  const { low, high } = lineOf(about, size);
  const value = sizeOf(config, size) ?? low;
  return { size, low: Math.min(low, value), high: Math.max(high, value) };
}

/** Whether a size is of the MLP alone. */
export const needsWidth = (size) => size === 'width' || size === 'parameters';

/** The settings for which the page has controls. */
export const SETTINGS = ['vocab', 'dim', 'length', 'samples', 'width', 'activation', 'embedding', 'trigger', 'keep', 'early_rule', 'rounds', 'repeats', 'seed'];

/** What changes how closely a run is measured, and not what is measured. */
const CLOSENESS = ['precision', 'test_samples'];

/** The names of settings for which the page has no control and that are not the usual ones. Programs can ask for them. */
function uncontrolled(config, usual) {
  const names = [...new Set([...Object.keys(usual), ...Object.keys(config)])];
  return names.filter((name) => !SETTINGS.includes(name) && (config[name] ?? null) !== (usual[name] ?? null));
}

/** These settings in words; null when there are none. */
export function unusual(config, usual) {
  const names = uncontrolled(config, usual);
  return names.length ? names.map((name) => `${words(name)} ${config[name] ?? 'none'}`).join(', ') : null;
}

/** Whether a run is of another task or training than any map of the page. */
export const foreign = (config, usual) => uncontrolled(config, usual).some((name) => !CLOSENESS.includes(name));

/** The settings that make a point, beside the activation of an MLP. */
const POINT = ['vocab', 'dim', 'length', 'samples', 'width', 'embedding', 'trigger', 'keep', 'early_rule', 'rounds'];

/** Whether a run has the settings of a point, but for those that are left out; how many seeds it has does not matter. */
export function atPoint(run, config, usual, without = []) {
  const names = config.width === null ? POINT : [...POINT, 'activation'];
  return !foreign(run, usual) && names.every((name) => without.includes(name) || (run[name] ?? null) === (config[name] ?? null));
}

/** The four sizes of a point. */
export const sizesOf = ({ vocab, dim, length, samples }) => `V = ${grouped(vocab)}, d = ${grouped(dim)}, L = ${grouped(length)}, N = ${grouped(samples)}`;

/** The smallest dimension of a configuration's embedding: orthonormal vectors of all tokens, the trigger and a spare. */
export const minDim = ({ embedding, vocab }) => (embedding === 'orthonormal' ? vocab + 2 : 1);

/** The configuration in a line. */
export function describe(config) {
  const model = config.width === null ? 'attention only' : `MLP m = ${grouped(config.width)}, ${config.activation}`;
  const trigger = config.trigger === 'keys' ? 'trigger in keys' : 'trigger in keys and values';
  const kept = (config.keep ?? null) === null ? '' : `, ${grouped(config.keep)} tokens kept`;
  const rule = config.early_rule === 'gradient' ? '' : `, memory steps by ${RULES[config.early_rule] ?? config.early_rule}`;
  const rounds = config.rounds === 1 ? '' : `, ${grouped(config.rounds)} rounds`;
  return `${sizesOf(config)}, ${model}, ${config.embedding} embeddings, ${trigger}${kept}${rule}${rounds}`;
}
