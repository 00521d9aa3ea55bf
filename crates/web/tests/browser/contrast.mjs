// Contrast of what is written and of the edges of fields, by the rules of WCAG 2 (AA), on every tab, light and dark.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, withPage } from './harness.mjs';

/** Texts below 4.5 to 1 (large ones 3 to 1) and edges of fields below 3 to 1. */
const weak = (page) => page.evaluate(() => {
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const parse = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = parse(colour).slice(0, 3).map((part) => part / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parse(colour)[3] === 255) return colour;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  const judge = (node, what, value, least) => { if (value < least) found.push(`${what} ${value.toFixed(2)}: ${node.outerHTML.slice(0, 70)}`); };
  for (const node of document.querySelectorAll('body *')) {
    // What is on the plot has an edge of its own, and what is switched off is exempt.
    if (!node.checkVisibility({ visibilityProperty: true }) || node.closest('#plot, .unseen, .skip, .off, svg, canvas, option, :disabled')) continue;
    const style = getComputedStyle(node);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const written = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());
    if (written || node.matches('input:not([type=range], [type=checkbox]), select')) judge(node, 'text', ratio(style.color, ground(node)), large ? 3 : 4.5);
    if (node.matches('input:not([type=range], [type=checkbox]), select')) judge(node, 'edge', ratio(style.borderTopColor, ground(node.parentElement)), 3);
    if (node.matches('[role=switch]')) judge(node, 'switch', ratio(style.backgroundColor, ground(node.parentElement)), 3);
  }
  return found;
});

for (const dark of [false, true]) {
  test(`${dark ? 'dark' : 'light'}: what is written can be read`, async () => {
    const { id } = await api('/api/runs', { config: { samples: 2000, zipf: 1 } });
    const views = ['#explore?dim=abc&width=1024', `#try?run=${id}`, '#studies', '#plan?plan.max_parameters=10', '#plan?file=model.safetensors', '#help'];
    for (const at of views) {
      await withPage({ at, dark }, async (page) => {
        if (at.startsWith('#try')) await page.waitForSelector('#result[data-state=done] .margins');
        if (at.startsWith('#plan')) await page.waitForSelector('#plan-result .answer');
        if (at.includes('file')) await page.waitForSelector('#inspect-result .answer', { timeout: 60000 });
        assert.deepEqual(await weak(page), [], at);
      });
    }
  });
}
