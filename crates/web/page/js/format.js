// Numbers and names as people read them.

const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** A count: 8,192; from a thousand million on 1.26e9. */
export function count(value) {
  return Math.abs(value) < 1e9 ? grouped(value) : scientific(value);
}

/** A whole number with all its digits: 2,147,483,647. */
export const grouped = (value) => WHOLE.format(value);

/** A count in the space of an axis tick: 500, 20k, 3M. */
export function brief(value) {
  if (value >= 1e9) return scientific(value);
  if (value >= 1e6) return `${trim(value / 1e6)}M`;
  if (value >= 1e3) return `${trim(value / 1e3)}k`;
  return trim(value);
}

// A zero has no sign.
const trim = (value) => String(Number(value.toPrecision(3)) || 0);

const scientific = (value) => Number(value.toPrecision(3)).toExponential().replace('e+', 'e');

/** An accuracy or rate between 0 and 1. Only what is exactly 1 reads 1. */
export function share(value) {
  if (value === null || value === undefined) return 'unknown';
  if (value > 0.9995 && value < 1) return '> 0.999';
  if (value > 0 && value < 0.0005) return '< 0.001';
  return value.toFixed(3);
}

/** A ratio in as many digits as a share has. */
export const ratio = (value) => (value > 0 && value < 0.0005 ? '< 0.001' : value.toFixed(3));

/** A measured share with its 95% interval. */
export const interval = (measured) => (measured ? `${share(measured.mean)} (${share(measured.low)} to ${share(measured.high)})` : 'unknown');

/** A number of any size in three digits; whole numbers as they are. */
export function digits(value) {
  if (value === null || value === undefined) return 'unknown';
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e5) return grouped(Number(value.toPrecision(3)));
  return size >= 0.001 && size < 1e5 ? trim(value) : scientific(value);
}

/** Bytes: 12 kB, 3.4 MB. */
export function bytes(value) {
  return value < 1000 ? `${value} bytes` : value < 1e6 ? `${trim(value / 1e3)} kB` : `${trim(value / 1e6)} MB`;
}

/** Seconds: 0.4 s, 12 s, 3 min. */
export function seconds(value) {
  return value < 10 ? `${value.toFixed(1)} s` : value < 120 ? `${Math.round(value)} s` : `${Math.round(value / 60)} min`;
}

/** A name as the programs spell it, for people: `mean_bias` is mean bias; MLP keeps its capitals, and one-step its line. */
export const words = (name) => name.replaceAll('_', ' ').replace(/\bmlp\b/, 'MLP').replace(/\bone step accuracy\b/, 'one-step accuracy');

/** The same at the beginning of a line. */
export const title = (name) => words(name).replace(/^./, (letter) => letter.toUpperCase());

/** A whole number as people type it (8192, 8,192, 8e3, 1.5k, 2M), or null; 12.7 is none, and neither is 2,5. */
export function parseWhole(text) {
  const match = /^((?:[0-9]{1,3}(?:[,_ ][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:e\+?[0-9]+)?)\s*([km]?)$/i.exec(text.trim());
  if (!match) return null;
  const unit = { '': 1, k: 1e3, m: 1e6 }[match[2].toLowerCase()];
  // 1.1 times a thousand is not quite 1100 in floating point.
  const value = Number((Number(match[1].replace(/[,_ ]/g, '')) * unit).toPrecision(15));
  return Number.isSafeInteger(value) ? value : null;
}
