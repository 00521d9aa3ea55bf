// The configuration as a command and as Python: what differs from the defaults of the programs.

const SETTINGS = ['vocab', 'dim', 'length', 'samples', 'width', 'activation', 'embedding', 'trigger', 'keep', 'repeats', 'seed'];

/** Names and values of what differs from the defaults of the programs. The activation says nothing without an MLP. */
function given(config, usual) {
  const names = SETTINGS.filter((name) => (config[name] ?? null) !== (usual[name] ?? null) && (name !== 'activation' || config.width !== null));
  return names.filter((name) => config[name] !== null && config[name] !== undefined).map((name) => [name, config[name]]);
}

/** The command that trains at a point. */
export const asCommand = (config, usual) =>
  ['superpose run', ...given(config, usual).map(([name, value]) => `--${name.replaceAll('_', '-')} ${value}`)].join(' ');

/** The same in Python. */
export const asPython = (config, usual) =>
  `import superpose\nsuperpose.Config(${given(config, usual).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ')}).run()`;
