// Everything by keyboard alone: sliders, numbers, the point, training, cancelling, the tabs; focus is always to be seen.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawn, number, picture, text, withPage } from './harness.mjs';

const focused = (page) => page.evaluate(() => document.activeElement?.id ?? '');

/** Presses Tab until an element has the focus. Every stop on the way must show that it has it. */
async function tabTo(page, id, key = 'Tab') {
  for (let press = 0; press < 120; press++) {
    await page.keyboard.press(key);
    const seen = await page.evaluate(() => {
      const style = getComputedStyle(document.activeElement);
      return document.activeElement === document.body || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0);
    });
    assert.ok(seen, `focus is not to be seen on ${await focused(page)}`);
    if (await focused(page) === id) return;
  }
  assert.fail(`Tab does not reach ${id}`);
}

test('keyboard only: from the first slider to a measured point and a cancelled run', () => withPage({ at: '#explore?repeats=2' }, async (page) => {
  await tabTo(page, 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), 'main');

  const before = { picture: await picture(page), length: await number(page, 'length') };
  await tabTo(page, 'slide-length');
  await page.keyboard.press('ArrowRight');
  assert.ok(await number(page, 'length') > before.length, 'an arrow is at least one');
  await page.keyboard.press('PageUp');
  await drawn(page);
  assert.ok(await number(page, 'length') >= 2 * before.length);
  assert.notEqual(await picture(page), before.picture);
  await page.keyboard.press('Home');
  assert.equal(await number(page, 'length'), 1);

  await tabTo(page, 'number-samples');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('20000');
  await page.keyboard.press('Enter');
  await drawn(page);
  assert.equal(await number(page, 'samples'), 20000);

  await tabTo(page, 'point', 'Shift+Tab');
  const point = { dim: await number(page, 'dim'), samples: await number(page, 'samples'), predicted: await text(page, '#predicted') };
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('ArrowUp');
  await drawn(page);
  assert.ok(await number(page, 'dim') > point.dim && await number(page, 'samples') > point.samples);
  assert.notEqual(await text(page, '#predicted'), point.predicted);

  const dots = await page.locator('#dots .dot').count();
  await tabTo(page, 'train-here');
  await page.keyboard.press('Enter');
  await page.waitForFunction((count) => document.querySelectorAll('#dots .dot').length > count, dots);

  await tabTo(page, 'number-samples');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('4000000');
  await page.keyboard.press('Enter');
  await tabTo(page, 'to-try', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await tabTo(page, 'repeats');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('20');
  await tabTo(page, 'train');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#result[data-state=running]');
  const id = await page.$eval('#result', (node) => node.dataset.run);
  await tabTo(page, `run-${id}`);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`#runs [data-run="${id}"][data-state=cancelled]`);
}));

test('every field and button has a name', () => withPage({}, async (page) => {
  for (const tab of ['explore', 'try', 'studies', 'plan', 'help']) {
    await page.click(`#to-${tab}`);
    const nameless = await page.$$eval('input, select, button, a, [role=slider]', (nodes) => nodes
      .filter((node) => node.checkVisibility())
      .filter((node) => !(node.getAttribute('aria-label') || node.textContent.trim() || node.labels?.length))
      .map((node) => node.outerHTML.slice(0, 80)));
    assert.deepEqual(nameless, [], tab);
  }
}));
