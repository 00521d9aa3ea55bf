// Explore, at desktop and phone size: the page draws, sliders move the map, the point is dragged, colours change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drag, drawn, fits, middle, number, picture, SIZES, text, withPage } from './harness.mjs';

/** Colours on the map's canvas. */
const colours = (page) => page.$eval('#map-canvas', (canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
  return seen.size;
});

/** Moves a slider to a share of its track by hand. */
async function slide(page, size, name, share) {
  await page.locator(`#slide-${name}`).scrollIntoViewIfNeeded();
  const track = await middle(page, `#slide-${name}`);
  const knob = await page.$eval(`#slide-${name}`, (input) => input.value / input.max);
  const at = (place) => ({ x: track.left + 8 + place * (track.width - 16), y: track.y });
  await drag(page, size, at(knob), at(share));
  await drawn(page);
}

for (const size of Object.keys(SIZES)) {
  test(`${size}: loads, with a map, numbers and a sentence`, () => withPage({ size }, async (page) => {
    assert.ok(await colours(page) > 100);
    assert.match(await text(page, '#predicted'), /^0\.[0-9]{3}$/);
    assert.match(await text(page, '#sentence'), /Recall is limited to 40\.5% \(facts overlap: too few dimensions\).*with half the facts/);
    assert.ok(await page.locator('#budget-logits tbody tr').count() >= 3);
    assert.ok(await page.locator('#critical li').count() >= 4);
    assert.ok(await page.locator('#hatchings li').count() >= 2, 'what limits recall is named');
    await fits(page);
  }));

  test(`${size}: a slider moves the map, the sentence and the address`, () => withPage({ size }, async (page) => {
    const before = { picture: await picture(page), sentence: await text(page, '#sentence'), vocab: await number(page, 'vocab') };
    await slide(page, size, 'vocab', 0.9);
    assert.ok(await number(page, 'vocab') > 2 * before.vocab);
    assert.notEqual(await picture(page), before.picture);
    assert.notEqual(await text(page, '#sentence'), before.sentence);
    assert.ok(page.url().includes(`vocab=${await number(page, 'vocab')}`), page.url());
  }));

  test(`${size}: the point is dragged; the map stays and the numbers follow`, () => withPage({ size }, async (page) => {
    const before = { picture: await picture(page), predicted: await text(page, '#predicted'), dim: await number(page, 'dim'), samples: await number(page, 'samples') };
    const from = await middle(page, '#point');
    const to = { x: from.x + 25, y: from.y - 15 };
    await drag(page, size, from, to);
    await drawn(page);
    const reached = await middle(page, '#point');
    assert.ok(Math.hypot(reached.x - to.x, reached.y - to.y) < 4, 'the point is where it was let go');
    assert.ok(await number(page, 'dim') > before.dim);
    assert.ok(await number(page, 'samples') > before.samples);
    assert.ok(Number(await text(page, '#predicted')) > Number(before.predicted), 'up and to the right recall is better');
    assert.equal(await picture(page), before.picture);
    assert.match(page.url(), /dim=.*samples=/);
  }));

  test(`${size}: light and dark, by the system and by the button`, async () => {
    const ground = (page) => page.evaluate(() => {
      const parts = getComputedStyle(document.documentElement).backgroundColor.match(/[0-9]+/g).slice(0, 3);
      return parts.reduce((sum, part) => sum + Number(part), 0) / 3;
    });
    await withPage({ size, dark: true }, async (page) => {
      assert.ok(await ground(page) < 60, 'dark where the system is dark');
      const dark = await picture(page);
      await page.click('#theme');
      assert.ok(await ground(page) > 220, 'light after the button');
      assert.notEqual(await picture(page), dark);
      await page.reload();
      await page.waitForSelector('html[data-ready]');
      assert.ok(await ground(page) > 220, 'the choice is kept');
    });
    await withPage({ size }, async (page) => assert.ok(await ground(page) > 220, 'light where the system is light'));
  });
}

test('a click on the plot moves the point there', () => withPage({}, async (page) => {
  const plot = await middle(page, '#plot');
  await page.mouse.click(plot.left + 0.8 * plot.width, plot.top + 0.2 * plot.height);
  await drawn(page);
  assert.ok(await number(page, 'dim') > 500 && await number(page, 'samples') > 100000);
  assert.match(await text(page, '#sentence'), /Nothing limits recall/);
}));

test('axes, the boundary and choices change the map', () => withPage({}, async (page) => {
  let last = await picture(page);
  for (const [selector, value] of [['#axis-x', 'length'], ['#level', '0.9'], ['#choose-trigger', 'values'], ['#choose-embedding', 'sphere'], ['#axis-y', 'parameters']]) {
    await page.selectOption(selector, value);
    await drawn(page);
    const next = await picture(page);
    assert.notEqual(next, last, `${selector} = ${value}`);
    last = next;
  }
  assert.ok(await page.isChecked('#mlp'), 'an axis of parameters brings the MLP');
  assert.ok(await number(page, 'width') > 0);
}));

test('a typed number counts, and a wrong one is refused in words', () => withPage({}, async (page) => {
  await page.fill('#number-dim', '2k');
  await page.press('#number-dim', 'Enter');
  await drawn(page);
  assert.equal(await number(page, 'dim'), 2000);
  await page.fill('#number-dim', 'many');
  await page.press('#number-dim', 'Enter');
  assert.match(await page.locator('.control:has(#number-dim) .refusal').textContent(), /d = many: must be a whole number/);
  assert.ok(page.url().includes('dim=2000'));
}));

test('a critical value takes the point there', () => withPage({}, async (page) => {
  const wanted = Number((await text(page, '#go-samples')).replace(/[^0-9]/g, ''));
  await page.click('#go-samples');
  await drawn(page);
  assert.equal(await number(page, 'samples'), wanted);
  assert.ok(Math.abs(Number(await text(page, '#predicted')) - 0.5) < 0.01);
}));

test('the number of kept tokens is set, refused by name and cleared', () => withPage({ at: '#explore?length=300&samples=3000' }, async (page) => {
  const meter = page.locator('#rates .meter', { hasText: 'keeps the right token' });
  const kept = () => meter.locator('.rate').textContent();
  assert.equal(await meter.count(), 0, 'where all are kept there is nothing to say');
  const type = async (value) => {
    await page.fill('#number-keep', value);
    await page.press('#number-keep', 'Enter');
    await drawn(page);
  };
  await type('3');
  assert.match(page.url(), /keep=3/);
  assert.ok(Number(await kept()) < 0.95);
  await type('0');
  assert.match(await text(page, '#number-keep-refusal'), /^k = 0: must be a whole number from 1/);
  await type('');
  assert.doesNotMatch(page.url(), /keep/);
  assert.equal(await meter.count(), 0);
}));
