// A text field for a whole number. A wrong one is refused in words, and what was typed stays to be mended.

import { h } from './dom.js';
import { grouped, parseWhole } from './format.js';

/** What a whole number may be, in words. */
export const wholeWords = (low, high) => `a whole number from ${grouped(low)} to ${grouped(high)}`;

/**
 * Makes an input such a field: `put` takes a right number, `show` puts one there, `refusal` is the line for a wrong one. An optional
 * field may be empty, which is null.
 */
export function wholeField(input, { name, low, high, put, optional = false }) {
  const refusal = h('p', { class: 'refusal', role: 'alert', id: `${input.id}-refusal`, hidden: true });
  let held = null;

  function refuse(text) {
    refusal.hidden = text === null;
    refusal.textContent = text ?? '';
    if (text === null) input.removeAttribute('aria-invalid');
    else input.setAttribute('aria-invalid', 'true');
  }

  input.setAttribute('aria-describedby', refusal.id);
  input.addEventListener('change', () => {
    const number = parseWhole(input.value);
    const right = input.value.trim() ? number !== null && number >= low && number <= high : optional;
    refuse(right ? null : `${name} = ${input.value.trim() || 'nothing'}: must be ${wholeWords(low, high)}`);
    if (right) put(number);
  });
  return {
    refusal,
    /** Shows a value. What is being typed, or was refused, stays until the value itself is another. */
    show(value) {
      if (value === held && (!refusal.hidden || document.activeElement === input)) return;
      held = value;
      input.value = value === null ? '' : grouped(value);
      refuse(null);
    },
    /** Forgets what was typed: there is no value to show. */
    clear(text) {
      held = null;
      input.value = text;
      refuse(null);
    },
  };
}
