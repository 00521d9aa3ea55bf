// On a phone nothing makes the page itself scroll sideways, and what is cut shows that it is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fits, text, withPage } from './harness.mjs';

/** Visible elements that reach beyond the screen without a box of their own to scroll in. */
const overflowing = (page) => page.evaluate(() => [...document.querySelectorAll('main *')]
  .filter((node) => node.checkVisibility() && !node.closest('.scroll') && !node.closest('.unseen') && !node.closest('svg'))
  .filter((node) => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && node.getBoundingClientRect().width > 0)
  .map((node) => node.outerHTML.slice(0, 90)));

for (const at of ['#explore?width=1024', '#try', '#studies', '#studies?study=1', '#plan?plan.activation=relu', '#plan?file=model.safetensors', '#help']) {
  test(`phone: ${at} stays within the screen`, () => withPage({ at, size: 'phone' }, async (page) => {
    if (at.startsWith('#studies')) await page.waitForSelector('#study h2');
    if (at.startsWith('#plan')) await page.waitForSelector('#plan-result .answer');
    if (at.includes('file')) await page.waitForSelector('#inspect-result .answer', { timeout: 60000 });
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      assert.deepEqual(await overflowing(page), [], `at ${width} pixels`);
      await fits(page);
    }
  }));
}

test('phone: a figure that is cut says so, on the side where it is', () => withPage({ at: '#plan', size: 'phone' }, async (page) => {
  await page.waitForSelector('#plan-result figure .scroll[data-cut=right]');
  assert.match(await text(page, '#plan-result figure .hint'), /scroll it sideways/);
  assert.ok(await page.locator('#plan-result figure .hint').isVisible());
  await page.$eval('#plan-result figure .scroll', (box) => { box.scrollLeft = box.scrollWidth; });
  await page.waitForSelector('#plan-result figure .scroll[data-cut=left]');
}));

test('desktop: what fits has no such sign', () => withPage({ at: '#plan' }, async (page) => {
  await page.waitForSelector('#plan-result figure .scroll[data-cut=""]');
  assert.ok(await page.locator('#plan-result figure .hint').isHidden());
}));
