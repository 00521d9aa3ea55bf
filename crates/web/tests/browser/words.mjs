// What the page says of what it shows: settings without a control, what ± means, which repeat a picture is of, numbers that are
// refused, files of one name, an inspection that is cancelled, and the first minute.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, done, drawn, middle, number, text, withPage } from './harness.mjs';

/** Runs a configuration to its end without the page; what is not given is as the page begins. */
const measured = (config) => done({ dim: 80, trigger: 'keys', ...config });

test('settings without a control are named beside the run, and its point is no measurement of this map', async () => {
  const plain = await measured({ samples: 3000 });
  const other = await measured({ samples: 4000, zipf: 1, precision: 'f64', labels: 'mod:10', noise_vocab: 50, regime: 'exact' });
  assert.equal(other.state, 'done', other.error);
  const words = /labels mod:10, zipf 1, noise vocab 50, regime exact, precision f64/;
  await withPage({ at: `#try?run=${other.id}` }, async (page) => {
    assert.match(await text(page, `#runs [data-run="${other.id}"] .unusual`), words);
    assert.match(await text(page, '#result .unusual'), words);
    assert.equal(await page.locator(`#runs [data-run="${plain.id}"] .unusual`).count(), 0);
  });
  await withPage({}, async (page) => {
    const dot = (run) => page.locator(`#dots .dot[data-run="${run.id}"]`);
    assert.equal(await dot(plain).getAttribute('class'), 'dot here');
    assert.equal(await dot(other).getAttribute('class'), 'dot foreign');
    assert.equal(await dot(other).textContent(), '', 'it has no number as if it were of this map');
    assert.match(await dot(other).getAttribute('data-note'), words);
    assert.ok(await page.locator('#key-foreign').isVisible(), 'the legend has it');
    await page.selectOption('#choose-trigger', 'values');
    await drawn(page);
    assert.equal(await dot(other).getAttribute('class'), 'dot foreign');
  });
  const close = await measured({ samples: 5000, test_samples: 500 });
  await withPage({}, async (page) => {
    const dot = page.locator(`#dots .dot[data-run="${close.id}"]`);
    assert.equal(await dot.getAttribute('class'), 'dot here', 'how many were tested does not change what is measured');
    assert.match(await dot.getAttribute('data-note'), /Also: test samples 500/);
  });
  for (const { id } of [plain, other, close]) await api(`/api/runs/${id}`, null, 'DELETE');
  await withPage({}, async (page) => assert.ok(await page.locator('#key-foreign').isHidden()));
});

test('the name of a region makes way for a point that is measured under it', () => withPage({}, async (page) => {
  const name = '#names span:has-text("recall above 0.5")';
  const before = await middle(page, name);
  await page.mouse.click(before.x, before.y);
  await drawn(page);
  const run = await measured({ dim: await number(page, 'dim'), samples: await number(page, 'samples'), repeats: 1 });
  const dot = await middle(page, `#dots .dot[data-run="${run.id}"]`);
  assert.ok(Math.hypot(dot.x - before.x, dot.y - before.y) < 5, 'the point is where the name was');
  await page.waitForFunction(([selector, y]) => {
    const named = [...document.querySelectorAll('#names span')].find((span) => span.textContent === selector);
    return Math.abs(named.getBoundingClientRect().y - y) > 1;
  }, ['recall above 0.5', before.top]);
  const after = await middle(page, name);
  const apart = Math.abs(after.x - dot.x) >= (after.width + dot.width) / 2 || Math.abs(after.y - dot.y) >= (after.height + dot.height) / 2;
  assert.ok(apart, 'the name and the point do not overlap');
  await api(`/api/runs/${run.id}`, null, 'DELETE');
}));

test('± has a note, and sizes that were not checked are said to be so', () => withPage({}, async (page) => {
  await page.click('#error .term-word');
  assert.match(await text(page, '#tip:not([hidden])'), /root mean square of predicted minus simulated recall.*not a bound or an interval/);
  assert.equal(await text(page, '#error-size'), String((await api('/api/predict', { config: { dim: 80, trigger: 'keys' } })).error));
  await page.fill('#number-vocab', '9000');
  await page.press('#number-vocab', 'Enter');
  await drawn(page);
  assert.ok(await page.locator('#error').isHidden());
  assert.match(await text(page, '#unchecked:not([hidden])'), /^Extrapolated: V = 9,000 lies outside the ranges; checked up to V = 1,000,000/);
}));

test('pictures of one trained model say which it is', async () => {
  const run = await measured({ samples: 3000, repeats: 2, seed: 7, test_samples: 300 });
  await withPage({ at: `#try?run=${run.id}` }, async (page) => {
    await page.waitForSelector('#result .margins');
    const said = await text(page, '#result');
    assert.match(said, /Shown are 300 test sequences of the first of 2 repeats \(seed 7\)/);
    assert.match(said, /One test sequence of the first of 2 repeats \(seed 7\)/);
  });
});

test('numbers that are refused stay to be mended, and nothing is trained with others in their place', () => withPage({ at: '#try' }, async (page) => {
  const before = (await api('/api/runs')).runs.length;
  for (const [typed, said] of [['0', /^Repeats = 0: must be a whole number from 1 to 100$/], ['12.7', /^Repeats = 12.7: must be/], ['', /^Repeats is empty: must be/]]) {
    await page.fill('#repeats', typed);
    await page.press('#repeats', 'Enter');
    assert.match(await text(page, '#repeats-refusal'), said);
    await page.click('#train');
    assert.equal(await page.inputValue('#repeats'), typed);
    assert.equal(await text(page, '#train-refusal:not([hidden])'), 'Not trained: Repeats is not valid.');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'repeats');
  }
  await page.fill('#seed', '5');
  await page.press('#seed', 'Enter');
  assert.equal(await page.inputValue('#repeats'), '', 'another field does not take it away');
  assert.equal((await api('/api/runs')).runs.length, before);
  await page.fill('#repeats', '4');
  await page.press('#repeats', 'Enter');
  assert.ok(await page.locator('#repeats-refusal').isHidden());
  assert.match(page.url(), /repeats=4&seed=5/);

  await page.click('#to-explore');
  await drawn(page);
  await page.fill('#number-dim', '12.7');
  await page.press('#number-dim', 'Enter');
  await page.fill('#number-samples', '1.5k');
  await page.press('#number-samples', 'Enter');
  await drawn(page);
  assert.equal(await page.inputValue('#number-samples'), '1,500');
  assert.equal(await page.inputValue('#number-dim'), '12.7');
  assert.match(await text(page, '#number-dim-refusal'), /^d = 12.7: must be a whole number from 1 to 2,147,483,647$/);
  await page.fill('#number-dim', '64');
  await page.press('#number-dim', 'Enter');
  assert.ok(await page.locator('#number-dim-refusal').isHidden());
}));

test('a file is inspected by its link, also when another of its name was opened first', () => withPage({ at: '#plan' }, async (page) => {
  await page.waitForSelector('#inspect-form:not([hidden])');
  assert.deepEqual(await page.$$eval('#inspect-file option', (options) => options.map((option) => option.textContent)), ['model.safetensors', 'model.safetensors in other']);
  for (const [study, rows] of [[2, '150 × 16'], [1, '200 × 16'], [2, '150 × 16']]) {
    await page.click('#to-studies');
    await page.click(`#study-${study}`);
    await page.click('#study >> text=Inspect model.safetensors');
    await page.waitForSelector(`#inspect-result .answer >> text=${rows}`, { timeout: 60000 });
    assert.equal(await page.$eval('#inspect-file', (select) => select.selectedIndex), study - 1);
  }
  // Another study that is looked at is no wish to inspect another file.
  await page.click('#to-studies');
  await page.click('#study-0');
  await page.click('#to-plan');
  assert.equal(await page.$eval('#inspect-file', (select) => select.selectedIndex), 1);
  assert.match(await text(page, '#inspect-result .answer'), /150 × 16/);
}));

test('an inspection under way is shown and can be cancelled', () => withPage({ at: '#plan' }, async (page) => {
  await page.waitForSelector('#inspect-form:not([hidden])');
  // The answer is held back, so that there is something to cancel.
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route('**/api/inspect', async (route) => {
    await held;
    await route.continue().catch(() => {});
  });
  await page.click('#inspect-form button.main');
  assert.match(await text(page, '.waiting'), /Reading model\.safetensors …/);
  const [failed] = await Promise.all([page.waitForEvent('requestfailed'), page.click('#inspect-cancel')]);
  assert.equal(failed.failure().errorText, 'net::ERR_ABORTED');
  await page.waitForSelector('#inspect-result >> text=Cancelled.');
  assert.ok(await page.locator('#inspect-refusal').isHidden());
  release();
  await page.unroute('**/api/inspect');
  await page.click('#inspect-form button.main');
  await page.waitForSelector('#inspect-result .answer', { timeout: 60000 });
}));

test('the first visit says what is seen and what to do, until it is put away', () => withPage({}, async (page) => {
  assert.match(await text(page, '#welcome'), /A fact is a token and its label.*learns V.*facts.*Drag the ring.*train at that point/s);
  assert.ok((await page.locator('#train-here').boundingBox()).y < 800 - 30, 'the button to train is on the first screen');
  await page.click('#welcome-close');
  assert.ok(await page.locator('#welcome').isHidden());
  await page.reload();
  await page.waitForSelector('html[data-ready]');
  assert.ok(await page.locator('#welcome').isHidden());
}));
