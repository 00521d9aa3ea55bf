// Pictures of every tab, at desktop and phone size, light and dark, with some models trained: to be looked at, and for the README.
//   node crates/web/tests/browser/shots.mjs FOLDER

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { api, SIZES, start, stop, withPage } from './harness.mjs';

const TRAINED = [
  { dim: 80, samples: 2048 }, { dim: 256, samples: 20000 }, { dim: 94, samples: 2048 }, { dim: 48, samples: 60000 },
  { dim: 400, samples: 400 }, { dim: 600, samples: 60000 }, { dim: 20, samples: 1500 }, { dim: 160, samples: 1000000 },
  { vocab: 200, dim: 64, length: 128, samples: 4000 },
];
// `first` is the page as a newcomer sees it; in the others the words of welcome have been put away.
const TABS = { first: '#explore', explore: '#explore?dim=120&samples=3000', try: '#try?run=8', studies: '#studies', plan: '#plan', help: '#help' };

const folder = process.argv[2] ?? 'target/shots';
mkdirSync(folder, { recursive: true });
await start();
try {
  for (const config of TRAINED) await api('/api/runs', { config: { trigger: 'keys', ...config, repeats: 5 } });
  while ((await api('/api/runs')).runs.some((run) => run.state !== 'done')) await new Promise((wake) => setTimeout(wake, 200));
  for (const size of Object.keys(SIZES)) {
    for (const dark of [false, true]) {
      for (const [tab, at] of Object.entries(TABS)) {
        await withPage({ at, size, dark }, async (page) => {
          await page.waitForLoadState('networkidle', { timeout: 2000 }).catch(() => {}); // the stream of events never rests
          if (tab === 'explore') await page.click('#welcome-close');
          await page.mouse.move(0, 0); // a note may have shown where the pointer came to lie
          await page.screenshot({ path: join(folder, `${tab}-${size}-${dark ? 'dark' : 'light'}.png`) });
        });
      }
    }
  }
} finally {
  await stop();
}
