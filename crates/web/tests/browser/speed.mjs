// From the move of a slider to the picture: milliseconds from the input event until the map is painted, median of 20 moves.
// Another program may hold the machine for a while, so the best of a few rounds counts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withPage } from './harness.mjs';

const ROUNDS = 5;
const MOST = 100;

const median = (page) => page.evaluate(async () => {
  const slider = document.getElementById('slide-vocab');
  const map = document.getElementById('map');
  const times = [];
  for (let move = 0; move < 20; move++) {
    const began = performance.now();
    const painted = new Promise((done) => {
      new MutationObserver((_, observer) => {
        if (map.getAttribute('aria-busy') !== 'false') return;
        observer.disconnect();
        done();
      }).observe(map, { attributes: true });
    });
    slider.value = 300 + 25 * ((7 * move) % 20);
    slider.dispatchEvent(new Event('input'));
    await painted;
    times.push(performance.now() - began);
    await new Promise((rest) => requestAnimationFrame(rest));
  }
  return times.sort((a, b) => a - b)[10];
});

for (const [name, at] of [['attention only', ''], ['with an MLP', '#explore?width=1024']]) {
  test(`a slider's move is a picture within ${MOST} ms: ${name}`, (context) => withPage({ at }, async (page) => {
    const medians = [];
    while (medians.length < ROUNDS && !(medians.at(-1) < MOST)) medians.push(Math.round(await median(page)));
    context.diagnostic(`median of 20 moves, ${name}: ${medians.join(', ')} ms`);
    assert.ok(Math.min(...medians) < MOST, `${medians.join(', ')} ms`);
  }));
}
