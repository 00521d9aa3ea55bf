// Logarithmic scales: sliders, the axes of the map, their ticks.

/** Where a value lies between low and high, 0 to 1 in logarithms. */
export const place = (value, low, high) => Math.log(value / low) / Math.log(high / low);

/** The value at a place between 0 and 1. */
export const value = (at, low, high) => low * (high / low) ** at;

/** A whole number of three digits near a value, within the range. */
export function whole(number, low, high) {
  const rounded = Math.round(Number(number.toPrecision(3)));
  return Math.min(Math.max(rounded, low), high);
}

/** The next whole number a factor further on, at least one further, within the range. */
export function step(number, factor, low, high) {
  const next = whole(number * factor, low, high);
  if (next !== number) return next;
  return Math.min(Math.max(number + (factor > 1 ? 1 : -1), low), high);
}

/** Ticks of a logarithmic axis: `[{value, major}]`. Powers of ten are major; over a short range so are 2 and 5. */
export function ticks(low, high) {
  const short = high / low < 150;
  const found = [];
  for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade++) {
    for (let digit = 1; digit < 10; digit++) {
      const number = digit * 10 ** decade;
      if (number < low * 0.999 || number > high * 1.001) continue;
      found.push({ value: number, major: digit === 1 || (short && (digit === 2 || digit === 5)) });
    }
  }
  return found;
}

/** Ticks of a linear axis at round numbers, about `wanted` of them. */
export function evenTicks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const found = [];
  for (let index = Math.ceil(low / unit); index * unit <= high * (1 + 1e-12); index++) found.push(index * unit);
  return found;
}
