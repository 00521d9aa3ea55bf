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

test('phone: a figure that is cut says so, on the side where it is', () => withPage({ at: '#plan?file=model.safetensors', size: 'phone' }, async (page) => {
  await page.waitForSelector('#inspect-result figure .scroll[data-cut=right]', { timeout: 60000 });
  assert.match(await text(page, '#inspect-result figure .hint'), /scroll it sideways/);
  assert.ok(await page.locator('#inspect-result figure .hint').isVisible());
  await page.$eval('#inspect-result figure .scroll', (box) => { box.scrollLeft = box.scrollWidth; });
  await page.waitForSelector('#inspect-result figure .scroll[data-cut=left]');
}));

test('phone: the figure of a plan is not cut', () => withPage({ at: '#plan?plan.facts=2000&plan.length=64', size: 'phone' }, async (page) => {
  await page.waitForSelector('#plan-result .trade-off .reading');
  await page.waitForFunction(() => document.querySelector('.trade-off').getBoundingClientRect().right <= document.documentElement.clientWidth);
  const small = await page.$$eval('.trade-off text', (words) => words.filter((word) => word.getBoundingClientRect().height < 9).length);
  assert.equal(small, 0, 'its words can be read');
}));

test('desktop: what fits has no such sign', () => withPage({ at: '#plan?file=model.safetensors' }, async (page) => {
  await page.waitForSelector('#inspect-result figure .scroll[data-cut=""]', { timeout: 60000 });
  assert.ok(await page.locator('#inspect-result figure .hint').isHidden());
}));
