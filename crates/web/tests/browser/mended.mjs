// Faults that were seen on the page once, one test each.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, done, drawn, middle, number, text, withPage } from './harness.mjs';

test('tokens of a long sequence stand at their positions', async () => {
  const run = await done({ vocab: 100, dim: 64, length: 200, samples: 2000, trigger: 'keys', repeats: 1 });
  await withPage({ at: `#try?run=${run.id}` }, async (page) => {
    await page.waitForSelector('.attention.many.learned');
    const { tokens } = run.result.example;
    assert.ok(tokens.length < 200, 'only the largest weights are listed');
    const left = await page.$$eval('.attention li', (bars) => bars.map((bar) => parseFloat(bar.style.left)));
    assert.deepEqual(left, tokens.map(({ position }) => position / 2));
    assert.match(await text(page, '.positions'), /^1.*200$/);
    assert.match(await text(page, '#result'), /Only the 64 largest weights are drawn; the other 136 tokens/);
  });
  await api(`/api/runs/${run.id}`, null, 'DELETE');
});

test('a note does not show where the layout moves under a pointer that rests', () => withPage({}, async (page) => {
  const close = await middle(page, '#welcome-close');
  await page.mouse.move(close.x, close.y);
  await page.mouse.down();
  await page.mouse.up();
  await page.waitForTimeout(300);
  assert.ok(await page.locator('#tip').isHidden());
}));

for (const at of ['#explore', '#try', '#studies', '#plan', '#help']) {
  test(`the address ${at} leaves the header on the screen`, () => withPage({ at }, async (page) => {
    await page.evaluate((hash) => { location.hash = '#help'; location.hash = hash; }, at);
    await page.waitForTimeout(100);
    assert.equal(await page.evaluate(() => scrollY), 0);
    assert.ok((await middle(page, 'header')).y > 0);
  }));
}

test('a run that is too long is refused with a size that can be reduced, and a hint apart from it', async () => {
  const config = { samples: 2000000000, dim: 80, trigger: 'keys', repeats: 3 };
  const { error, hint } = await api('/api/runs', { config });
  assert.match(error, /^samples = 2000000000: .*samples up to [0-9]+ would fit$/);
  assert.equal(hint, 'superpose run takes larger ones');
  await withPage({}, async (page) => {
    await page.route('**/api/runs', (route) => (route.request().method() === 'POST' ? route.fulfill({ status: 200, body: '{}' }) : route.continue()));
    const said = await page.evaluate(async ([refused, more]) => new (await import('./js/api.js')).Refusal(422, { error: refused, hint: more }).message, [error, hint]);
    assert.equal(said, `${error}; ${hint}`);
  });
});

test('a plan whose width hardly varies is not drawn as jitter, and one without an answer has no picture', () => withPage({ at: '#plan?plan.activation=relu&plan.facts=2000&plan.length=64' }, async (page) => {
  await page.waitForSelector('#plan-result .answer');
  const found = await api('/api/plan', { facts: 2000, length: 64, accuracy: 0.9, trigger: 'keys', activation: 'relu', samples: 1000000 });
  const labels = [...found.svg.light.matchAll(/<text[^>]*text-anchor="end"[^>]*>([0-9,.]+)</g)].map((match) => match[1]);
  assert.ok(new Set(labels).size === labels.length || labels.length > 2, `ticks that differ: ${labels}`);
  await page.fill('#plan-facts', '1000000');
  await page.fill('#plan-dim', '20');
  await page.click('#plan-form button.main');
  await page.waitForSelector('#plan-result >> text=No model does it');
  assert.equal(await page.locator('#plan-result figure').count(), 0);
}));

test('orthonormal vectors without room offer the dimension that they need', () => withPage({ at: '#explore?embedding=orthonormal' }, async (page) => {
  assert.equal(await text(page, '#predicted'), 'no model');
  assert.ok(await page.locator('#readout').isHidden(), 'no empty headings');
  assert.ok(await page.locator('#train-here').isDisabled());
  assert.equal(await text(page, '#mend'), 'Set d = 514');
  await page.click('#mend');
  await drawn(page);
  assert.equal(await number(page, 'dim'), 514);
  assert.ok(await page.locator('#train-here').isEnabled() && await page.locator('#readout').isVisible());
}));

test('100% is said of what is exactly 1 alone', () => withPage({ at: '#explore?dim=250&samples=60000' }, async (page) => {
  assert.equal(await text(page, '#predicted'), '> 0.999');
  assert.match(await text(page, '#sentence'), /more than 99\.9% of the facts/);
}));

test('a comma that separates no thousands is refused', () => withPage({}, async (page) => {
  for (const [typed, right] of [['2,5', false], ['1,024', true], ['12,34', false], ['1 000', true]]) {
    await page.fill('#number-dim', typed);
    await page.press('#number-dim', 'Enter');
    assert.equal(await page.locator('#number-dim-refusal').isHidden(), right, typed);
  }
}));

test('select boxes show their whole text', () => withPage({}, async (page) => {
  const cut = await page.$$eval('#explore select', (selects) => selects.filter((select) => {
    const words = document.createElement('span');
    words.style.setProperty('font', getComputedStyle(select).font);
    words.style.setProperty('position', 'absolute');
    words.textContent = select.selectedOptions[0].textContent;
    document.body.append(words);
    const wide = words.getBoundingClientRect().width;
    words.remove();
    return wide > select.clientWidth - 24;
  }).map((select) => select.id));
  assert.deepEqual(cut, []);
}));

test('a larger screen has a larger map', () => withPage({}, async (page) => {
  const width = async (screen) => {
    await page.setViewportSize({ width: screen, height: 1000 });
    await drawn(page);
    return (await middle(page, '#plot')).width;
  };
  assert.ok(await width(1920) > 1.2 * await width(1440));
}));

test('rings of other runs have a dark and a light edge', async () => {
  const run = await done({ dim: 300, samples: 100000, trigger: 'values', repeats: 1 });
  await withPage({}, async (page) => {
    const style = await page.locator(`#dots .dot.elsewhere[data-run="${run.id}"]`).evaluate((dot) => {
      const { borderTopColor, boxShadow, opacity } = getComputedStyle(dot);
      return { borderTopColor, boxShadow, opacity };
    });
    assert.equal(style.opacity, '1');
    assert.equal(style.borderTopColor, 'rgb(255, 255, 255)');
    assert.match(style.boxShadow, /rgb\(16, 22, 31\)/);
  });
  await api(`/api/runs/${run.id}`, null, 'DELETE');
});

/** Answers for the server: `runs` are what the stream sends, again after so many milliseconds. */
const streams = (page, runs, again) => page.route('**/api/events', (route) => route.fulfill({
  contentType: 'text/event-stream',
  body: [`retry: ${again()}\n\n`, ...runs().map(({ result, ...run }) => `event: run\ndata: ${JSON.stringify(run)}\n\n`)].join(''),
}));

test('after a restart of the server a run of the same number shows its own settings and result', async () => {
  const runs = [];
  for (const samples of [1500, 6000]) runs.push(await done({ dim: 80, trigger: 'keys', samples, repeats: 1 }));
  const [first, second] = runs.map((run) => ({ ...run, id: 0 }));
  let served = first;
  const prepare = async (page) => {
    await streams(page, () => [served], () => 100);
    await page.route('**/api/runs', (route) => route.fulfill({ json: { runs: [served] } }));
    await page.route('**/api/runs/0', (route) => route.fulfill({ json: served }));
  };
  await withPage({ at: '#try?run=0', prepare }, async (page) => {
    const shows = async (run) => {
      await page.waitForSelector(`#result h2 + p >> text=N = ${run.config.samples.toLocaleString('en-US')}`);
      await page.waitForSelector(`#result .rates >> text=${run.accuracy.mean.toFixed(3)}`);
      assert.match(await text(page, '#runs [data-run="0"] .note'), new RegExp(`N = ${run.config.samples.toLocaleString('en-US')}`));
      assert.match(await text(page, '#runs-table [data-run="0"]'), new RegExp(run.accuracy.mean.toFixed(3)));
      assert.match(await page.getAttribute('#dots [data-run="0"]', 'data-note'), new RegExp(`measured ${run.accuracy.mean.toFixed(3)}`));
    };
    await page.click('#to-explore');
    await page.waitForSelector('#dots [data-run="0"]');
    await page.click('#to-try');
    await shows(first);
    served = second;
    await shows(second);
  });
  for (const { id } of runs) await api(`/api/runs/${id}`, null, 'DELETE');
});

test('a run that comes while the list of runs is asked for stays, and a list that fails is asked for again', async () => {
  const run = await done({ dim: 80, trigger: 'keys', samples: 1500, repeats: 1 });
  let asked = 0;
  // The first answer is no list, the second one is of before the run came.
  const prepare = async (page) => {
    await streams(page, () => (asked ? [run] : []), () => (asked ? 600000 : 100));
    await page.route('**/api/runs', async (route) => {
      if (asked++) await page.waitForSelector(`#runs [data-run="${run.id}"]`);
      await route.fulfill({ json: asked > 1 ? { runs: [] } : {} });
    });
  };
  await withPage({ at: '#try?run=12345', prepare }, async (page) => {
    await page.waitForSelector('#result >> text=Run 12345 is no longer here.');
    assert.equal(await page.locator(`#runs [data-run="${run.id}"]`).count(), 1);
  });
  await api(`/api/runs/${run.id}`, null, 'DELETE');
});

/** Opened files as if none had a matrix. */
const withoutMatrices = (page) => page.route('**/api/studies', async (route) => {
  const answer = await (await route.fetch()).json();
  for (const study of answer.studies) for (const file of study.embeddings) file.tensors = [];
  await route.fulfill({ json: answer });
});

test('a file that is listed without matrices can be inspected', () => withPage({ at: '#plan', prepare: withoutMatrices }, async (page) => {
  await page.click('#inspect-form button.main');
  await page.waitForSelector('#inspect-result .answer', { timeout: 60000 });
  assert.equal(await page.getAttribute('#inspect-result', 'aria-busy'), 'false');
}));
