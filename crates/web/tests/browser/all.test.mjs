// All tests of the page in a real Chromium, with one server and one browser: `node --test crates/web/tests/browser/all.test.mjs`.

import { after, before } from 'node:test';
import { start, stop } from './harness.mjs';

before(start);
after(stop);

await import('./explore.mjs');
await import('./try.mjs');
await import('./views.mjs');
await import('./words.mjs');
await import('./mended.mjs');
await import('./firstuse.mjs');
await import('./tools.mjs');
await import('./narrow.mjs');
await import('./axe.mjs');
await import('./contrast.mjs');
await import('./keyboard.mjs');
await import('./speed.mjs');
