// A text field for a whole number. A wrong one is refused in words, and what was typed stays to be mended.

import { h } from './dom.js';
import { grouped, parseWhole } from './format.js';

/** What a whole number may be, in words. */
export const wholeWords = (low, high) => `a whole number from ${grouped(low)} to ${grouped(high)}`;

/**
 * Makes an input such a field: `put` takes a right number, `show` puts one there, `refusal` is the line for a wrong one. An optional
 * field may be empty, which is null. `most` gives the largest number, where that depends on other settings, with its name in words.
 */
export function wholeField(input, { name, low, high, put, optional = false, most = () => ({ high, words: grouped(high) }) }) {
  input.dataset.name = name;
  const refusal = h('p', { class: 'refusal', role: 'alert', id: `${input.id}-refusal`, hidden: true });
  let held = null;

  function refuse(text) {
    refusal.hidden = text === null;
    refusal.textContent = text ?? '';
    if (text === null) input.removeAttribute('aria-invalid');
    else input.setAttribute('aria-invalid', 'true');
  }

  input.setAttribute('aria-describedby', refusal.id);
  /** What is wrong with a number, in words; null: nothing. */
  function fault(number, typed) {
    const largest = most();
    if (typed === '' ? optional : number !== null && number >= low && number <= largest.high) return null;
    return `${typed ? `${name} = ${number === null ? typed : grouped(number)}` : `${name} is empty`}: must be a whole number from ${grouped(low)} to ${largest.words}`;
  }

  input.addEventListener('change', () => {
    const number = parseWhole(input.value);
    const wrong = fault(number, input.value.trim());
    refuse(wrong);
    if (wrong === null) put(number);
  });
  return {
    refusal,
    /** Shows a value. What is being typed, or was refused, stays until the value itself is another, or the whole view is (`anew`). */
    show(value, anew = false) {
      const stays = !refusal.hidden || document.activeElement === input;
      const wrong = value === null ? null : fault(value, String(value));
      if (value === held && stays && !anew && wrong === null) return;
      held = value;
      input.value = value === null ? '' : grouped(value);
      refuse(wrong);
    },
    /** Forgets what was typed: there is no value to show. */
    clear(text) {
      held = null;
      input.value = text;
      refuse(null);
    },
  };
}
