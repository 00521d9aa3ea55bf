// axe-core finds nothing on any view: light on a desktop and dark on a phone, and with SUPERPOSE_FULL both themes on both.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { axe, done, withPage } from './harness.mjs';

const VIEWS = ['#explore', '#explore?width=1024', '#try', '#studies', '#plan', '#plan?file=model.safetensors', '#help'];

const sizes = (dark) => process.env.SUPERPOSE_FULL ? ['desktop', 'phone'] : [dark ? 'phone' : 'desktop'];

for (const dark of [false, true]) {
  test(`${dark ? 'dark' : 'light'}: axe-core finds nothing`, async () => {
    const run = await done({ dim: 80, trigger: 'keys', samples: 2048, repeats: 2 });
    const script = readFileSync(axe, 'utf8');
    for (const at of [...VIEWS, `#try?run=${run.id}`]) {
      for (const size of sizes(dark)) {
        await withPage({ at, dark, size }, async (page) => {
          await page.waitForTimeout(1200);
          // The page allows no script of others; the browser's own tools may run one.
          await page.evaluate(script);
          const { violations } = await page.evaluate(() => axe.run());
          assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target).join(', ')}`), [], `${at} ${size}`);
        });
      }
    }
  });
}
