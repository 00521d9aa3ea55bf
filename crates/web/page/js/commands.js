// The configuration as a command and as Python: the sizes, and what else differs from the defaults of the programs.

import { SETTINGS } from './sizes.js';

const SIZES = ['vocab', 'dim', 'length', 'samples'];

/** Names and values of the sizes and of what differs from the defaults. The activation says nothing without an MLP. */
function given(config, usual) {
  const differs = (name) => (config[name] ?? null) !== (usual[name] ?? null) && (name !== 'activation' || config.width !== null);
  return SETTINGS.filter((name) => (config[name] ?? null) !== null && (SIZES.includes(name) || differs(name))).map((name) => [name, config[name]]);
}

/** The command that trains at a point. */
export const asCommand = (config, usual) =>
  ['superpose run', ...given(config, usual).map(([name, value]) => `--${name.replaceAll('_', '-')} ${value}`)].join(' ');

/** The same in Python. */
export const asPython = (config, usual) =>
  `import superpose\nsuperpose.Config(${given(config, usual).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ')}).run()`;
