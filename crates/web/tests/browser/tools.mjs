// What the page offers beside the map: read-out, isolines, files, commands, presets, undo, seeds, the table of runs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { api, done, drawn, forget, middle, number, text, trained, withPage } from './harness.mjs';

/** What a click on a button gives to save: its name and text. */
async function saved(page, selector) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

test('the strip shows the task and moves', () => withPage({}, async (page) => {
  assert.match(await text(page, '#task'), /V = 512, L = 16, predicted recall 0\.405/);
  await page.waitForSelector('#task .answer', { timeout: 15000 });
  assert.equal(await page.locator('#task .token').count(), 7);
  assert.equal(await page.locator('#task .marked').count(), 1);
  assert.match(await text(page, '#task .answer'), /label [0-9]+(✓ right|✗ not [0-9]+)/);
}));

test('a note says why recall after step 1 may be higher', () => withPage({ at: '#explore?trigger=values&dim=128&samples=8192' }, async (page) => {
  assert.match(await text(page, '#one-step-note:not([hidden])'), /measured on single tokens/);
  await page.click('#reset');
  await drawn(page);
  assert.ok(await page.locator('#one-step-note').isHidden());
}));

test('the pointer reads sizes and recall off the map', () => withPage({}, async (page) => {
  const plot = await middle(page, '#plot');
  await page.mouse.move(plot.left + 0.75 * plot.width, plot.top + 0.3 * plot.height);
  assert.match(await text(page, '#hover:not([hidden])'), /^recall (0\.9|> 0\.999|1\.000).*d = [0-9]+, N = [0-9,]+$/);
  await page.mouse.move(plot.left + 0.1 * plot.width, plot.top + 0.3 * plot.height);
  assert.match(await text(page, '#hover'), /^recall [0< ]+\.0.* · facts overlap/);
  await page.mouse.move(2, 2);
  assert.ok(await page.locator('#hover').isHidden());
}));

test('where the formulas were never validated is marked, and the legend says so', async () => {
  await withPage({}, async (page) => assert.ok(await page.locator('#key-unchecked').isVisible()));
  const axes = { x: { size: 'dim', low: 8, high: 2048 }, y: { size: 'samples', low: 10, high: 1e7 }, resolution: 64 };
  const { checked } = await api('/api/map', { ...axes, config: {} });
  assert.ok(checked[0][0] >= 16 && checked[0][1] <= 512, String(checked));
  assert.equal((await api('/api/map', { ...axes, config: { vocab: 2e6 } })).checked, null);
});

test('the map is saved as SVG, PNG, CSV and JSON', () => withPage({}, async (page) => {
  const get = (format) => saved(page, `#map-formats [data-format=${format}]`);
  const svg = await get('SVG');
  assert.equal(svg.name, 'map.svg');
  assert.match(String(svg.content), /^<svg .*dimension d.*<\/svg>$/s);
  const png = await get('PNG');
  assert.equal(png.content.subarray(1, 4).toString(), 'PNG');
  const csv = String((await get('CSV')).content).trim().split('\n');
  assert.equal(csv[0], 'dim,samples,predicted_accuracy,part,term,vocab,length,embedding,trigger');
  const json = JSON.parse((await get('JSON')).content);
  assert.equal(csv.length, 1 + json.accuracy.length);
  assert.equal(json.request.config.trigger, 'keys');
}));

test('the point is copied as command and as Python', () => withPage({}, async (page) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = async (id) => {
    await page.click(id);
    await page.waitForSelector(`${id} >> text=Copied`);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.equal(await copied('#copy-command'), 'superpose run --vocab 512 --dim 80 --length 16 --samples 2048 --trigger keys --repeats 5');
  assert.equal(await copied('#copy-python'), 'import superpose\nsuperpose.Config(vocab=512, dim=80, length=16, samples=2048, trigger="keys", repeats=5).run()');
}));

test('presets set the view, and undo takes a step back', () => withPage({}, async (page) => {
  assert.ok(await page.locator('#undo').isDisabled());
  await page.click('#presets >> text=Why length hurts');
  await drawn(page);
  assert.equal(await page.inputValue('#axis-x'), 'length');
  await page.click('#presets >> text=Orthogonal embeddings');
  await drawn(page);
  assert.equal(await page.inputValue('#choose-embedding'), 'orthonormal');
  assert.match(await text(page, '#predicted'), /^0\.[0-9]+$/);
  await page.click('#undo');
  await drawn(page);
  assert.equal(await page.inputValue('#axis-x'), 'length');
  await page.click('#undo');
  await drawn(page);
  assert.equal(await number(page, 'dim'), 80);
  assert.ok(await page.locator('#undo').isDisabled());
}));

test('a run shows a dot for every seed, an interval, and is continued with more seeds', () => forget().then(() => withPage({}, async (page) => {
  await trained(page);
  assert.equal(await page.locator('#strip .seed').count(), 5);
  assert.match(await text(page, '#strip .standing'), /^0\.[0-9]{3} \(0\.[0-9]{3} to 0\.[0-9]{3}\), predicted 0\.40[0-9]$/);
  const [low, high] = (await text(page, '#strip .standing')).match(/0\.[0-9]{3}/g).slice(1, 3).map(Number);
  assert.ok(low <= 0.405 && 0.405 <= high, 'training confirms the prediction at the point where the page begins');
  await page.click('#strip-link');
  await page.click('#again');
  await page.waitForFunction(() => document.querySelectorAll('#result [data-measure=accuracy] .seed').length === 10, null, { timeout: 60000 });
  const id = await page.$eval('#result', (node) => node.dataset.run);
  assert.equal((await api(`/api/runs/${id}`)).config.repeats, 10);
})));

test('runs are sorted, compared and saved', async () => {
  const runs = [];
  for (const samples of [1500, 6000, 3000]) runs.push(await done({ dim: 80, trigger: 'keys', samples, repeats: 1 }));
  await withPage({ at: '#try' }, async (page) => {
    const ids = runs.map((run) => String(run.id));
    const order = async () => (await page.$$eval('#runs-table tbody tr', (rows) => rows.map((row) => row.dataset.run))).filter((id) => ids.includes(id));
    await page.waitForSelector('#runs-table tbody tr');
    await page.click('#sort-N');
    assert.deepEqual(await order(), [ids[1], ids[2], ids[0]]);
    await page.click('#sort-N');
    assert.deepEqual(await order(), [ids[0], ids[2], ids[1]]);
    assert.equal(await page.locator('th[aria-sort=ascending]').textContent(), 'N');
    for (const id of ids.slice(0, 2)) await page.check(`#runs-table tr[data-run="${id}"] input`);
    await page.waitForSelector('#compared tbody tr');
    assert.match(await text(page, '#compared'), new RegExp(`Run ${ids[0]}.*Run ${ids[1]}.*recall`, 's'));
    const csv = await saved(page, '#runs-table [data-format=CSV]');
    assert.match(String(csv.content), /^run,vocab,dim,length,samples,width,activation,embedding,trigger,keep,early_rule,rounds,repeats,seed,measured,low,high,predicted,seconds\n/);
    await page.click(`#run-${ids[0]}`);
    await page.waitForSelector('#result [data-format=JSON]');
    assert.equal(JSON.parse((await saved(page, '#result [data-format=JSON]')).content).record.config.samples, 1500);
  });
  for (const { id } of runs) await api(`/api/runs/${id}`, null, 'DELETE');
});

test('a plan is saved as SVG, PNG, CSV and JSON', () => withPage({ at: '#plan' }, async (page) => {
  await page.waitForSelector('#plan-result [data-format=SVG]');
  assert.match(String((await saved(page, '#plan-result [data-format=SVG]')).content), /^<svg/);
  assert.equal((await saved(page, '#plan-result [data-format=PNG]')).content.subarray(1, 4).toString(), 'PNG');
  assert.match(String((await saved(page, '#plan-result [data-format=CSV]')).content), /^dim,width,parameters,samples,allowed\n/);
  assert.ok(JSON.parse((await saved(page, '#plan-result [data-format=JSON]')).content).cheapest);
}));
