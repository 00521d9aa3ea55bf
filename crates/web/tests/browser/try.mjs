// Try: training from the map and from its tab, progress, results beside predictions, the queue, cancelling.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, drawn, fits, forget, middle, SIZES, text, trained, withPage } from './harness.mjs';

/** A run of a second or more, so that its progress can be watched. */
const SLOW = 'vocab=1000&samples=200000&length=32&repeats=4';
/** A run of some tens of seconds, to be cancelled. */
const LONG = 'vocab=2000&samples=2000000&length=64&repeats=12';

/** Notes every progress value that a run shows from now on. */
const watchProgress = (page) => page.evaluate(() => {
  window.seen = new Set();
  const look = () => document.querySelectorAll('progress').forEach((bar) => { if (bar.value > 0 && bar.value < 1) window.seen.add(bar.value); });
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
});

for (const size of Object.keys(SIZES)) {
  test(`${size}: train at the point, watch progress, see the measured point`, () => forget().then(() => withPage({ size, at: `#explore?${SLOW}` }, async (page) => {
    const dots = await page.locator('#dots .dot').count();
    await watchProgress(page);
    const run = await trained(page);
    assert.ok(await page.evaluate(() => window.seen.size) >= 2, 'progress was seen on the way');
    assert.equal(await page.locator('#dots .dot').count(), dots + 1);
    assert.equal(run.config.samples, 200000);
    const dot = page.locator(`#dots .dot[data-run="${run.id}"]`);
    assert.equal(await dot.textContent(), run.accuracy.mean.toFixed(3));
    const [measured, point] = [await dot.boundingBox(), await middle(page, '#point')];
    assert.ok(Math.hypot(measured.x + measured.width / 2 - point.x, measured.y + measured.height / 2 - point.y) < 3, 'the dot is where it was trained');
    // It stays in its colour when the point goes on, and becomes a ring when another setting changes.
    await page.focus('#point');
    await page.keyboard.press('Shift+ArrowLeft');
    await drawn(page);
    assert.equal(await dot.getAttribute('class'), 'dot here');
    await page.selectOption('#choose-trigger', 'values');
    await drawn(page);
    assert.equal(await dot.getAttribute('class'), 'dot elsewhere');
  })));

  test(`${size}: a result shows what was measured beside what was predicted`, () => withPage({ size, at: '#try?length=12&repeats=2' }, async (page) => {
    await page.click('#train');
    await page.waitForSelector('#result[data-state=done] .rates');
    const id = await page.$eval('#result', (node) => node.dataset.run);
    const { result } = await api(`/api/runs/${id}`);
    const row = (name) => page.locator('.rates tr', { has: page.locator('button', { hasText: new RegExp(`^${name}$`) }) });
    assert.ok((await row('recall').locator('.measured.value').textContent()).startsWith(result.record.accuracy.mean.toFixed(3)));
    assert.equal(await row('recall').locator('td.predicted').textContent(), result.prediction.accuracy.toFixed(3));
    assert.match(await text(page, '.verdict'), /95% interval.*closed form said/);
    assert.equal(await page.locator('.attention li').count(), 12);
    assert.equal(await page.locator('.attention li.trigger').count(), 1);
    const heights = await page.$$eval('.attention .column span', (bars) => bars.map((bar) => parseFloat(bar.style.height)));
    assert.ok(Math.abs(heights.reduce((sum, height) => sum + height, 0) - 100) < 1, 'weights add up to one');
    assert.equal(await page.locator('.margins rect').count(), result.margins.counts.length);
    const budget = page.locator('#result .budget').first();
    const shown = await budget.locator('tr', { hasText: 'facts overlap' }).locator('td.measured').innerText();
    const { interference: part, signal } = result.record.noise.logits;
    const { mean, low, high } = result.record.noise_intervals.logits.interference;
    assert.ok(Math.abs(mean / Math.sqrt(part / signal) - 1) < 1e-9 && low < mean && mean < high);
    assert.match(shown, new RegExp(`^${mean.toFixed(3)}\\s+${low.toFixed(3)} to ${high.toFixed(3)}$`), 'the measured interference is the record’s');
    await fits(page);
    await page.click('#result >> text=Show on the map');
    await drawn(page);
    assert.ok(await page.locator(`#dots .dot[data-run="${id}"]`).isVisible());
  }));

  test(`${size}: a rule of the memory steps and rounds are chosen, trained and kept in the address`, () => withPage({ size, at: '#explore?vocab=64&dim=32&samples=400&repeats=1' }, async (page) => {
    await page.selectOption('#choose-early_rule', 'muon');
    await page.fill('#number-rounds', '2');
    await page.press('#number-rounds', 'Enter');
    await drawn(page);
    assert.match(page.url(), /rounds=2/);
    assert.match(page.url(), /early_rule=muon/);
    assert.match(await text(page, '#map-note'), /the formulas are for gradient steps of the memory/);
    const run = await trained(page);
    assert.deepEqual([run.config.early_rule, run.config.rounds], ['muon', 2]);
    assert.equal(await page.locator(`#dots .dot[data-run="${run.id}"]`).getAttribute('class'), 'dot here');
    await page.click('#strip-link');
    await page.waitForSelector('#result[data-state=done] .rates');
    assert.match(await text(page, '#train-config'), /memory steps by Muon, 2 rounds/);
    await fits(page);
    await page.goBack();
    await drawn(page);
    await page.fill('#number-rounds', '0');
    await page.press('#number-rounds', 'Enter');
    assert.match(await text(page, '#number-rounds-refusal'), /^Rounds = 0: must be a whole number from 1 to 1,000$/);
  }));

  test(`${size}: runs queue and are cancelled`, () => withPage({ size, at: `#try?${LONG}` }, async (page) => {
    await page.click('#train');
    const first = Number(await page.waitForSelector('#result[data-state=running]').then((node) => node.getAttribute('data-run')));
    // The same run once more would be none; another seed is another run.
    await page.fill('#seed', '1000');
    await page.press('#seed', 'Enter');
    await page.click('#train');
    await page.waitForSelector(`#runs [data-run="${first + 1}"][data-state=queued]`);
    assert.match(await page.locator(`#runs [data-run="${first + 1}"] .standing`).textContent(), /queue/);
    for (const id of [first + 1, first]) {
      await page.click(`#runs [data-run="${id}"] .drop`);
      await page.waitForSelector(`#runs [data-run="${id}"][data-state=cancelled]`);
      assert.equal((await api(`/api/runs/${id}`)).state, 'cancelled');
    }
    await page.click(`#runs [data-run="${first}"] .drop`);
    await page.waitForSelector(`#runs [data-run="${first}"]`, { state: 'detached' });
    await page.click('#to-explore');
    await drawn(page);
    assert.equal(await page.locator(`#dots .dot[data-run="${first}"]`).count(), 0, 'what was cancelled is not measured');
  }));
}

test('a button that is pressed slowly while progress comes in still works', () => withPage({ at: `#try?${LONG}` }, async (page) => {
  await page.click('#train');
  await page.waitForSelector('#result[data-state=running] .drop');
  const button = await middle(page, '#result .drop');
  const before = await text(page, '#result .standing');
  await page.mouse.move(button.x, button.y);
  await page.mouse.down();
  await page.waitForFunction((words) => document.querySelector('#result .standing').textContent !== words, before);
  await page.mouse.up();
  await page.waitForSelector('#result[data-state=cancelled]');
}));

test('the three steps move while a run goes on, with a dot for every seed', () => forget().then(() => withPage({ at: `#try?${SLOW}` }, async (page) => {
  await page.evaluate(() => {
    window.seen = [];
    const result = document.getElementById('result');
    const look = () => {
      const row = result.querySelector('[data-measure=lock_rate]');
      if (row && result.dataset.state === 'running') window.seen.push(`${row.querySelectorAll('.seed').length}: ${row.querySelector('.value').textContent}`);
    };
    new MutationObserver(look).observe(result, { subtree: true, childList: true, characterData: true });
  });
  await page.click('#train');
  await page.waitForSelector('#result[data-state=done] .rates', { timeout: 60000 });
  const seen = await page.evaluate(() => window.seen);
  assert.ok(seen.some((words) => /^[123]: [01]\.[0-9]{3} \([123] of 4 seeds\)$/.test(words)), String([...new Set(seen)]));
  const { result } = await api(`/api/runs/${await page.$eval('#result', (node) => node.dataset.run)}`);
  for (const name of ['one_step_accuracy', 'lock_rate', 'accuracy']) {
    const places = await page.$$eval(`.steps [data-measure=${name}] .seed`, (dots) => dots.map((dot) => parseFloat(dot.style.left)));
    assert.deepEqual(places.map((place) => place.toFixed(2)), result.record.by_seed[name].map((value) => (100 * value).toFixed(2)));
    assert.ok((await text(page, `.steps [data-measure=${name}] .value`)).startsWith(`${result.record[name].mean.toFixed(3)} (`));
  }
})));
