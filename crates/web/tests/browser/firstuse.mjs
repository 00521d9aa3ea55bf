// Faults that a first-time user met, one test each.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { api, done, drawn, forget, middle, number, text, trained, withPage } from './harness.mjs';

const boxes = (page, selector) => page.$$eval(selector, (nodes) => nodes.filter((node) => node.checkVisibility()).map((node) => {
  const { left, right, top, bottom } = node.getBoundingClientRect();
  return { text: node.textContent, left, right, top, bottom };
}));
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Types into a field of the page and leaves it with Enter. */
async function type(page, selector, typed) {
  await page.fill(selector, typed);
  await page.press(selector, 'Enter');
}

test('the picture of the task gives facts labels of their own, and tells the stored fact', () => withPage({}, async (page) => {
  for (let seen = 0; seen < 2; seen++) {
    await page.waitForSelector('#task .answer', { timeout: 15000 });
    const [, token, label] = /memory holds([0-9]+) → label ([0-9]+)/.exec(await text(page, '#task .memory'));
    const looked = await text(page, '#task .looked');
    assert.equal(token, looked);
    const answer = await text(page, '#task .answer');
    const right = answer.includes('right');
    if (right) assert.ok(answer.startsWith(`label ${label}`), answer);
    else assert.match(answer, /✗ not [0-9]+/);
    await page.waitForSelector('#task .answer', { state: 'detached', timeout: 15000 });
  }
  const same = await page.evaluate(() => [...Array(50).keys()].filter((token) => 1 + ((token * 611953 + 7) % 512) === token).length);
  assert.ok(same < 5, 'labels are not the numbers of tokens');
}));

test('the picture of the task follows V and L at once, and its numbers stay in their boxes', () => withPage({}, async (page) => {
  for (const [vocab, length] of [['9999', '16'], ['2000000', '16'], ['2147483647', '16'], ['512', '2']]) {
    await type(page, '#number-vocab', vocab);
    await type(page, '#number-length', length);
    await drawn(page);
    await page.waitForFunction((most) => document.querySelectorAll('#task .token').length <= most, Number(length), { timeout: 900 });
    const outside = await page.$$eval('#task .token, #task .memory', (groups) => groups.filter((group) => {
      const rect = group.querySelector('rect').getBBox();
      return [...group.querySelectorAll('text')].some((each) => each.getBBox().x < rect.x + 2 || each.getBBox().x + each.getBBox().width > rect.x + rect.width - 2);
    }).map((group) => group.textContent));
    assert.deepEqual(outside, [], vocab);
  }
}));

test('reset, presets and undo clear an entry that was refused, and the button says why it does not train', () => forget().then(() => withPage({}, async (page) => {
  const wrong = async () => {
    await type(page, '#number-vocab', 'abc');
    assert.equal(await page.locator('#number-vocab-refusal').isVisible(), true);
  };
  const right = async () => {
    await drawn(page);
    assert.ok(await page.locator('#number-vocab-refusal').isHidden());
    assert.match(await page.inputValue('#number-vocab'), /^[0-9,]+$/);
  };
  await wrong();
  await page.click('#train-here');
  assert.equal(await text(page, '#strip-refusal:not([hidden])'), 'Not trained: V is not valid.');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'number-vocab');
  assert.ok(await page.$eval('#map', (map) => Number(getComputedStyle(map).opacity) < 0.6), 'the map of an earlier V is grey');
  await page.click('#reset');
  await right();
  assert.ok(await page.locator('#strip-refusal').isHidden(), 'the message goes with what it was about');
  await wrong();
  await page.click('#presets >> text=Why length hurts');
  await right();
  await wrong();
  await page.click('#undo');
  await right();
  assert.equal((await api('/api/runs')).runs.length, 0);
})));

test('a click on Train that ends the correction of a number trains', () => forget().then(() => withPage({ at: '#try?repeats=1' }, async (page) => {
  const before = await middle(page, '#train');
  await page.fill('#seed', 'abc');
  await page.press('#seed', 'Tab');
  await page.waitForSelector('#seed-refusal:not([hidden])');
  const after = await middle(page, '#train');
  assert.deepEqual([after.left, after.top, after.width], [before.left, before.top, before.width], 'the button does not move');
  await page.fill('#seed', '7');
  await page.mouse.move(after.x, after.y);
  await page.mouse.down();
  await page.mouse.up();
  await page.waitForSelector('#result[data-state=done]', { timeout: 60000 });
  assert.equal((await api('/api/runs')).runs.at(-1).config.seed, 7);
})));

test('nothing written on the map lies on the ring, a measured point, an edge or other writing', async () => {
  const run = await done({ dim: 94, samples: 2048, trigger: 'keys', repeats: 1 });
  for (const at of ['#explore', '#explore?dim=200&samples=60000', '#explore?x=length&vocab=200&dim=64']) {
    await withPage({ at }, async (page) => {
      const names = await boxes(page, '#names span');
      assert.ok(names.length >= 2, String(names.map((each) => each.text)));
      if (at === '#explore') assert.ok(names.some(({ text: word }) => word === '0.9'), 'every line has its value');
      const [plot] = await boxes(page, '#plot');
      const fixed = await boxes(page, '#point, .hair, #dots .dot, #dots .dot span');
      names.forEach((name, index) => {
        assert.ok(name.left >= plot.left && name.right <= plot.right && name.top >= plot.top && name.bottom <= plot.bottom, `${name.text} is cut`);
        for (const other of [...fixed, ...names.slice(index + 1)]) assert.ok(!overlap(name, other), `${at}: ${name.text} on ${other.text || 'a mark'}`);
      });
    });
  }
  await api(`/api/runs/${run.id}`, null, 'DELETE');
});

test('the number of a measured point stands clear of a ring beside it', async () => {
  const run = await done({ dim: 94, samples: 2048, trigger: 'keys', repeats: 1 });
  await withPage({ at: '#explore?dim=120&samples=3000' }, async (page) => {
    const [ring] = await boxes(page, '#point');
    for (const shown of await boxes(page, `#dots .dot[data-run="${run.id}"] span`)) assert.ok(!overlap(shown, ring), 'the number is under the ring');
  });
  await api(`/api/runs/${run.id}`, null, 'DELETE');
});

test('the ring reads what is predicted and measured there, with pointer and keyboard', () => forget().then(() => withPage({}, async (page) => {
  await page.hover('#point');
  assert.match(await text(page, '#hover:not([hidden])'), /^predicted 0\.405, not measured yetV = 512, d = 80, L = 16, N = 2,048$/);
  const { id, accuracy } = await trained(page);
  const share = (value) => value.toFixed(3);
  const words = `predicted 0.405, measured ${share(accuracy.mean)} (${share(accuracy.low)} to ${share(accuracy.high)}), Run ${id}`;
  await page.mouse.move(2, 2);
  await page.hover('#point');
  assert.ok((await text(page, '#hover:not([hidden])')).startsWith(words));
  await page.mouse.move(2, 2);
  await page.focus('#undo').catch(() => {});
  await page.focus('#axis-x');
  await page.focus('#point');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Tab');
  if (await page.evaluate(() => document.activeElement.id) !== 'point') await page.focus('#point');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction((said) => {
    const [hover, reading] = ['hover', 'point-reading'].map((id) => document.getElementById(id).textContent);
    return hover.startsWith(said) && reading === said;
  }, words);
  const [ring, cover] = await page.$eval('#point', (node) => {
    const box = node.getBoundingClientRect();
    const beside = document.elementFromPoint(box.right + 6, box.top + box.height / 2);
    return [box.width, beside === node];
  });
  assert.ok(ring < 30 && !cover, 'what can be grabbed is the ring as it is drawn');
})));

test('the result beside the button says of which point it is', () => forget().then(() => withPage({}, async (page) => {
  await trained(page);
  assert.equal(await page.locator('#strip .where').count(), 0);
  await type(page, '#number-dim', '200');
  await drawn(page);
  assert.equal(await text(page, '#strip .where'), 'at another point: V = 512, d = 80, L = 16, N = 2,048');
  await page.click('#undo');
  await drawn(page);
  assert.equal(await page.locator('#strip .where').count(), 0);
})));

test('a run outlives a reload of the page', () => forget().then(() => withPage({ at: '#explore?vocab=2000&samples=2000000&length=64&repeats=12' }, async (page) => {
  await page.click('#train-here');
  await page.waitForSelector('#strip[data-state=running]');
  await page.reload();
  await page.waitForSelector('#strip[data-state=running]');
  await page.click('#strip .drop');
  await page.waitForSelector('#strip[data-state=cancelled]');
})));

test('quick clicks train once, and training again takes the next seeds and pools them', () => forget().then(() => withPage({}, async (page) => {
  await page.click('#train-here', { clickCount: 4 });
  await page.waitForSelector('#strip[data-state=done]', { timeout: 60000 });
  assert.equal((await api('/api/runs')).runs.length, 1);
  assert.equal(await text(page, '#train-here'), 'Train 5 more seeds');
  const first = (await api('/api/runs')).runs[0];
  const again = await trained(page);
  assert.equal(again.config.repeats, 10);
  assert.deepEqual(again.by_seed.accuracy.slice(0, 5), first.by_seed.accuracy, 'the earlier seeds are part of it');
  assert.ok(again.accuracy.high - again.accuracy.low < first.accuracy.high - first.accuracy.low + 0.05);
})));

test('the saved map says what it is of, and has what is seen', () => forget().then(() => withPage({}, async (page) => {
  await trained(page);
  const saved = async (format) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(`#map-formats [data-format=${format}]`)]);
    return readFileSync(await download.path());
  };
  const svg = String(await saved('SVG'));
  for (const part of ['V = 512, L = 16', 'linearGradient', 'facts never shown', 'recall above 0.5', '>0.5<', '>0.9<', 'ring: the chosen point', '<title>Run ']) assert.ok(svg.includes(part), part);
  const png = await saved('PNG');
  assert.equal(png.readUInt32BE(16), 2 * Number(/width="([0-9]+)"/.exec(svg)[1]), 'two pixels per pixel');
  const [head, first] = String(await saved('CSV')).split('\n');
  assert.equal(head, 'dim,samples,predicted_accuracy,part,term,vocab,length,embedding,trigger');
  assert.match(first, /,(memory|attention),[a-z_]+,512,16,gaussian,keys$/);
})));

test('the page has one name for each cause, and no names or numbers of the programs', () => withPage({ at: '#explore?vocab=2000&dim=128&length=64&samples=20000&trigger=values' }, async (page) => {
  assert.doesNotMatch(await text(page, '#critical'), /interference|unreachable|forbids|1e15|samples = /);
  assert.match(await text(page, '#critical'), /not by this alone: at best 0\.[0-9]{3} \(/);
  assert.doesNotMatch(await text(page, '#explore'), /mean_bias|[a-z] in the (memory|attention)\b/);
  const plain = (sentence) => page.evaluate(async (given) => (await import('./js/plain.js')).plain(given), sentence);
  assert.equal(await plain('samples = 2000000000: too long; samples up to 12000 would fit'), 'N = 2,000,000,000: too long; N up to 12,000 would fit');
  assert.equal(await plain('What binds: interference in the memory.'), 'What binds: facts overlap: too few dimensions.');
  const reason = (sentence) => page.evaluate(async (given) => (await import('./js/plain.js')).plainReason(given), sentence);
  assert.equal(await reason('unlimited: every vocab up to 2e2 reaches the accuracy'), 'no limit up to 200');
}));

test('every field has one range, told at the field', () => withPage({}, async (page) => {
  for (const [field, typed, words] of [['vocab', '1', /^V = 1: must be a whole number from 2 to 2,147,483,647$/], ['keep', '1000', /^k = 1,000: must be a whole number from 1 to L = 16$/]]) {
    await type(page, `#number-${field}`, typed);
    assert.match(await text(page, `#number-${field}-refusal:not([hidden])`), words);
  }
  await page.click('#reset');
  await type(page, '#number-vocab', '2147483647');
  await drawn(page);
  assert.ok(await page.$eval('#number-vocab', (field) => field.scrollWidth <= field.clientWidth), 'the whole number is seen');
}));

test('what would reach one half says how far away it is, and above it how far one could go', () => withPage({}, async (page) => {
  assert.match(await text(page, '#critical li:has(#go-dim)'), /^d ≥ 94\+14 dimension$/);
  assert.match(await text(page, '#critical li:has(#go-samples)'), /^N ≥ [0-9,]+×1[0-9] samples$/);
  assert.match(await text(page, '#critical-title .term-word'), /^What would reach$/);
  await type(page, '#number-dim', '200');
  await drawn(page);
  assert.equal(await text(page, '#critical-title .term-word'), 'How far you could go and keep');
  assert.match(await text(page, '#critical li:has(#go-dim)'), /−[0-9]+ dimension|÷[0-9.]+ dimension/);
}));

test('numbers are rounded in one way', () => forget().then(() => withPage({}, async (page) => {
  assert.equal(await text(page, '#predicted'), '0.405');
  assert.match(await text(page, '#sentence'), /limited to 40\.5%/);
  const { accuracy } = await trained(page);
  assert.equal(await text(page, '#dots .dot span'), accuracy.mean.toFixed(3));
  const shown = await page.$$eval('.budget .value', (cells) => cells.map((cell) => cell.textContent).filter((words) => /[0-9]/.test(words)));
  assert.ok(shown.every((words) => /^(< )?[0-9]+\.[0-9]{3}$/.test(words)), String(shown));
})));

test('a run says which token the trigger marks and its label, and what each step brought', async () => {
  const run = await done({ dim: 80, trigger: 'keys', samples: 2048, repeats: 2 });
  await withPage({ at: `#try?run=${run.id}` }, async (page) => {
    await page.waitForSelector('#result .steps');
    const { tokens, label } = run.result.example;
    const marked = tokens.find((each) => each.trigger).token;
    assert.ok((await text(page, '#result')).includes(`The trigger marks token ${marked}, its label is ${label}.`));
    assert.equal(await page.locator('.steps li').count(), 3);
    assert.ok((await text(page, '.steps li:nth-child(3)')).includes(run.result.record.accuracy.mean.toFixed(3)));
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#result [data-format=CSV]')]);
    assert.match(readFileSync(await download.path(), 'utf8'), /^measure,measured,low,high,predicted,vocab,dim,length,samples,.*\naccuracy,.*,512,80,16,2048,/);
  });
  await api(`/api/runs/${run.id}`, null, 'DELETE');
});

test('the dots of seeds come in one after the other', () => forget().then(() => withPage({}, async (page) => {
  await trained(page);
  const turns = await page.$$eval('#strip .seed.new', (dots) => dots.map((dot) => getComputedStyle(dot).animationDelay));
  assert.ok(new Set(turns).size > 1, String(turns));
  await page.reload();
  await page.waitForSelector('#strip .seed');
  assert.equal(await page.locator('#strip .seed.new').count(), 0, 'those of an earlier training stand there');
})));

test('the introduction comes back, and stands over its picture on a narrower screen', () => withPage({}, async (page) => {
  await page.click('#welcome-close');
  await page.click('#to-help');
  await page.click('#welcome-again');
  assert.ok(await page.locator('#welcome').isVisible());
  await page.setViewportSize({ width: 900, height: 800 });
  const [words, picture] = [await middle(page, '.task-words'), await middle(page, '#task')];
  assert.ok(words.top + words.height <= picture.top && words.width > 500, 'the text has the width of the page');
}));

test('phone: the names of all tabs are seen', () => withPage({ size: 'phone' }, async (page) => {
  const [, right] = await page.$eval('nav', (nav) => [nav.scrollWidth, nav.scrollWidth - nav.clientWidth]);
  assert.ok(right <= 0, `the tabs are ${right} pixels too wide`);
}));

test('runs are compared with their settings and predictions', async () => {
  const runs = [await done({ dim: 80, trigger: 'keys', samples: 1500, repeats: 1 }), await done({ dim: 90, trigger: 'keys', samples: 1500, repeats: 1 })];
  await withPage({ at: '#try' }, async (page) => {
    for (const { id } of runs) await page.check(`#runs-table tr[data-run="${id}"] input`);
    await page.waitForSelector('#compared tbody tr');
    assert.match(await text(page, '#compared'), /d8090L/);
    assert.ok((await text(page, '#compared')).includes(`predicted ${runs[0].predicted.toFixed(3)}`));
  });
  for (const { id } of runs) await api(`/api/runs/${id}`, null, 'DELETE');
});

test('a plan begins at the point of the map, is in the link, and its figure can be read', () => withPage({ at: '#explore?vocab=700&length=24' }, async (page) => {
  await page.click('#to-plan');
  await page.waitForSelector('#plan-result .trade-off .reading');
  assert.equal(await page.inputValue('#plan-facts'), '700');
  assert.equal(await page.inputValue('#plan-length'), '24');
  assert.match(page.url(), /vocab=700&length=24/);
  await page.locator('.trade-off .reading').nth(1).hover();
  assert.match(await text(page, '#tip:not([hidden])'), /^d = [0-9,]+, N = [0-9,]+, [0-9,]+ parameters$/);
  await type(page, '#plan-accuracy', '0.999999');
  await page.waitForFunction(() => location.hash.includes('plan.accuracy=0.999999'));
  assert.equal(await page.locator('.trade-off > text').count(), 0, 'no title that could hit the frame');
  await type(page, '#plan-facts', '1');
  assert.equal(await text(page, '#plan-refusal:not([hidden])'), 'V = 1: must be a whole number from 2');
  assert.ok(await page.$eval('#plan-result', (node) => Number(getComputedStyle(node).opacity) < 0.6), 'the plan of other numbers is grey');
  await page.fill('#plan-facts', '800');
  assert.ok(await page.locator('#plan-refusal').isHidden(), 'what is mended is no longer refused');
}));

test('every preset begins where training confirms the prediction', () => forget().then(() => withPage({}, async (page) => {
  for (const name of ['Find the boundary', 'Why length hurts', 'Orthogonal embeddings']) {
    await page.click(`#presets >> text=${name}`);
    await drawn(page);
    const { accuracy, predicted } = await trained(page);
    assert.ok(accuracy.high - accuracy.low < 0.15, `${name}: the interval ${accuracy.low} to ${accuracy.high} says something`);
    assert.ok(predicted > accuracy.low - 0.02 && predicted < accuracy.high + 0.02, `${name}: ${predicted} against ${accuracy.low} to ${accuracy.high}`);
  }
})));

test('help tells the error of the formula from the scatter of trainings, and why more samples may lower recall', () => withPage({ at: '#help' }, async (page) => {
  const said = await text(page, '#help');
  assert.match(said, /mean over many trainings.*single training\s+differs from that mean by its own seed/s);
  assert.match(said, /more samples may lower recall a little/);
}));
