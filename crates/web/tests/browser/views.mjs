// Studies, Plan, the text for newcomers, and addresses that reproduce a view.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { drawn, fits, number, picture, runSweep, SIZES, text, withPage } from './harness.mjs';

let samples = 800;

for (const size of Object.keys(SIZES)) {
  test(`${size}: a study: figures, tables, downloads, and new runs while it is open`, () => withPage({ size, at: '#studies' }, async (page) => {
    await page.waitForSelector('#study table tbody tr');
    const cells = await text(page, '#study-cells');
    assert.match(cells, /^[0-9]+ runs done$/);
    const loaded = () => page.$eval('#study img', (image) => image.decode().then(() => image.naturalWidth));
    assert.ok(await loaded() > 100);
    const source = await page.getAttribute('#study img', 'src');
    await page.click('.files summary');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('.files a:has-text("cells.csv")')]);
    assert.match(readFileSync(await download.path(), 'utf8'), /accuracy/);
    await fits(page);
    samples += 100;
    runSweep([200, samples]);
    await page.waitForFunction((before) => document.getElementById('study-cells').textContent !== before, cells);
    await page.waitForFunction((before) => document.querySelector('#study img').getAttribute('src') !== before, source);
    assert.ok(await loaded() > 100);
  }));

  test(`${size}: the planner answers, draws, and refuses in words`, () => withPage({ size, at: '#plan?plan.facts=2000&plan.length=64&plan.trigger=values' }, async (page) => {
    await page.waitForSelector('#plan-result .answer');
    const first = await text(page, '#plan-result .answer');
    assert.match(first, /^Dimension d = [0-9,]+, samples N = [0-9,]+$/);
    assert.ok((await page.locator('#plan-result .trade-off').boundingBox()).width > 100);
    assert.ok(await page.locator('#plan-result tbody tr').count() > 3);
    await page.fill('#plan-facts', '500');
    await page.click('#plan-form button.main');
    await page.waitForFunction((before) => document.querySelector('#plan-result .answer').textContent !== before, first);
    assert.ok(page.url().includes('plan.facts=500'));
    await page.fill('#plan-accuracy', '2');
    await page.click('#plan-form button.main');
    assert.match(await text(page, '#plan-refusal'), /Accuracy = 2: must be/);
    await page.fill('#plan-accuracy', '0.9');
    await page.fill('#plan-max', '100');
    await page.click('#plan-form button.main');
    await page.waitForSelector('#plan-result >> text=No model does it within these limits: at most 1,000,000 samples, at most 100 trained parameters.');
    assert.match(await text(page, '#plan-result'), /500 facts in sequences of 64 tokens at accuracy 0.9 need more.*Parameters bind: 100 are allowed/);
    await page.goBack();
    await page.waitForSelector('#plan-result >> text=Show on the map');
    await fits(page);
    await page.click('#plan-result >> text=Show on the map');
    await drawn(page);
    assert.equal(await number(page, 'vocab'), 500);
    assert.ok(Math.abs(Number(await text(page, '#predicted')) - 0.9) < 0.02, 'the planned model is predicted to reach its accuracy');
  }));

  test(`${size}: an embedding file is inspected`, () => withPage({ size, at: '#plan' }, async (page) => {
    await page.waitForSelector('#inspect-form:not([hidden])');
    await page.selectOption('#inspect-tensor', 'z_in');
    await page.click('#inspect-form button.main');
    await page.waitForSelector('#inspect-result table', { timeout: 60000 });
    assert.equal(await text(page, '#inspect-result .answer'), '200 × 16');
    const row = await page.locator('#inspect-result tr', { hasText: 'effective dimension' }).locator('td').nth(1).textContent();
    assert.ok(Math.abs(Number(row) - 16) < 3, `Gaussian rows of dimension 16 have effective dimension ${row}`);
    assert.ok(await page.$eval('#inspect-result img', (image) => image.decode().then(() => image.naturalWidth)) > 100);
    await fits(page);
  }));

  test(`${size}: the text for newcomers, with notes`, () => withPage({ size, at: '#help' }, async (page) => {
    await fits(page);
    await page.locator('#help .term-word', { hasText: 'Finds the right token' }).click();
    assert.match(await text(page, '#tip:not([hidden])'), /largest attention weight/);
    await page.keyboard.press('Escape');
    assert.ok(await page.locator('#tip').isHidden());
  }));
}

test('a link reproduces a view; back and forward go through what was set', async () => {
  let link;
  let saved;
  await withPage({}, async (page) => {
    const first = await picture(page);
    await page.fill('#number-vocab', '1000');
    await page.press('#number-vocab', 'Enter');
    await page.selectOption('#axis-x', 'length');
    await page.selectOption('#level', '0.9');
    await drawn(page);
    link = new URL(page.url()).hash;
    saved = { picture: await picture(page), sentence: await text(page, '#sentence') };
    assert.notEqual(saved.picture, first);
    await page.click('#to-plan');
    await page.waitForSelector('#plan-result .answer');
    await page.goBack();
    await drawn(page);
    assert.equal(await picture(page), saved.picture);
    for (let step = 0; step < 3; step++) await page.goBack();
    await drawn(page);
    assert.equal(await picture(page), first, 'three steps back is the beginning');
    await page.goForward();
    await drawn(page);
    assert.equal(await number(page, 'vocab'), 1000);
  });
  await withPage({ at: link }, async (page) => {
    assert.equal(await number(page, 'vocab'), 1000);
    assert.equal(await page.inputValue('#axis-x'), 'length');
    assert.equal(await page.inputValue('#level'), '0.9');
    assert.equal(await picture(page), saved.picture);
    assert.equal(await text(page, '#sentence'), saved.sentence);
  });
});

test('an address with nonsense shows the defaults', () => withPage({ at: '#explore?vocab=-3&dim=x&x=y&accuracy=7&tab=<b>' }, async (page) => {
  assert.equal(await number(page, 'vocab'), 512);
  assert.equal(await number(page, 'dim'), 80);
  assert.equal(await page.inputValue('#axis-x'), 'dim');
  const said = await text(page, '#ignored-text');
  assert.ok(said.includes('vocab = -3 (must be a whole number from 2 to 2,147,483,647)'), said);
  assert.ok(said.includes('x = y (must be vocab or dim or length'), said);
  assert.ok(said.includes('accuracy = 7 (must be a number above 0 and below 1)'), said);
  assert.ok(said.includes('tab = <b> (the page has no such setting)'), said);
  await page.click('#ignored-close');
  assert.ok(await page.locator('#ignored').isHidden());
}));

test('a good address says nothing; one with two axes that clash, or an unknown tab, does', async () => {
  await withPage({ at: '#explore?dim=256&x=length' }, async (page) => {
    assert.ok(await page.locator('#ignored').isHidden());
    await page.evaluate(() => { location.hash = '#explore?dim=abc'; });
    await page.waitForSelector('#ignored-text >> text=dim = abc');
    await page.goBack();
    await page.waitForSelector('#ignored', { state: 'hidden' });
  });
  await withPage({ at: '#nowhere?x=dim&y=dim' }, async (page) => {
    const said = await text(page, '#ignored-text');
    assert.ok(said.includes('the tab nowhere (must be explore or try') && said.includes('x = dim with y = dim'), said);
  });
});

test('the accuracy of a link that is not in the list is shown in it', () => withPage({ at: '#explore?accuracy=0.8' }, async (page) => {
  assert.equal(await page.inputValue('#level'), '0.8');
  assert.equal(await text(page, '#critical-level'), '80%');
}));
