// What the browser's tests share: one server with something opened, one Chromium, and pages that remember every complaint.
//
// The server's program is SUPERPOSE (default: target/debug/superpose), playwright-core is taken from PLAYWRIGHT (default:
// target/browser), Chromium is CHROMIUM (default: /usr/bin/chromium).

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const program = process.env.SUPERPOSE ?? join(root, 'target/debug/superpose');
const packages = createRequire(process.env.PLAYWRIGHT ?? join(root, 'target/browser/'));
const { chromium } = packages('playwright-core');
/** The script of axe-core. */
export const axe = packages.resolve('axe-core/axe.min.js');

export const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
};

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

const sweep = (samples) => `length = 4\ntest_samples = 256\nrepeats = 2\n[axes]\nsamples = ${JSON.stringify(samples)}\nvocab = [16, 32]\ndim = [16]\n`;

let folder;
let server;
let browser;
let base;

/** Makes what is opened, and starts server and browser. */
export async function start() {
  folder = mkdtempSync(join(tmpdir(), 'superpose-browser-'));
  runSweep([200, 800]);
  mkdirSync(join(folder, 'other'));
  exportModel('200', join(folder, 'model.safetensors'));
  exportModel('150', join(folder, 'other', 'model.safetensors'));
  const opened = ['sweep.sqlite', 'model.safetensors', 'other'].flatMap((name) => ['--open', join(folder, name)]);
  server = spawn(program, ['serve', '--port', '0', ...opened]);
  base = await new Promise((found, failed) => {
    let text = '';
    server.stdout.on('data', (data) => {
      text += data;
      const address = /http:\/\/127\.0\.0\.1:[0-9]+/.exec(text);
      if (address) found(address[0]);
    });
    server.stderr.on('data', (data) => { text += data; });
    server.on('exit', (status) => failed(new Error(`the server ended with ${status}: ${text}`)));
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** Writes the tensors of a small model with so many facts. */
function exportModel(vocab, file) {
  execFileSync(program, ['run', '--vocab', vocab, '--dim', '16', '--samples', '400', '--export', file], { stdio: 'ignore' });
}

export async function stop() {
  await browser?.close();
  server?.removeAllListeners('exit');
  server?.kill();
  if (folder) rmSync(folder, { recursive: true });
}

/** Runs a sweep over these numbers of samples into the opened store; what is there stays. */
export function runSweep(samples) {
  writeFileSync(join(folder, 'sweep.toml'), sweep(samples));
  execFileSync(program, ['sweep', join(folder, 'sweep.toml')], { stdio: 'ignore' });
}

/** The server's answer to a question, without the page. With a body it is posted. */
export async function api(path, body, method = body ? 'POST' : 'GET') {
  const given = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await fetch(base + path, { method, ...given })).json();
}

/** Runs a configuration to its end without the page, and gives the run with its result. */
export async function done(config) {
  const { id } = await api('/api/runs', { config });
  for (;;) {
    const run = await api(`/api/runs/${id}`);
    if (!['queued', 'running'].includes(run.state)) return run;
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** Removes all runs that have ended. */
export async function forget() {
  for (const { id, state } of (await api('/api/runs')).runs) if (!['queued', 'running'].includes(state)) await api(`/api/runs/${id}`, null, 'DELETE');
}

/** Trains at the point of the map and gives the run when it is done. */
export async function trained(page) {
  const before = (await api('/api/runs')).runs.at(-1)?.id ?? -1;
  await page.click('#train-here');
  const seen = await page.waitForFunction((id) => {
    const { run, state } = document.getElementById('strip').dataset;
    return Number(run) > id && state === 'done' && Number(run) + 1;
  }, before, { timeout: 60000 });
  return api(`/api/runs/${await seen.jsonValue() - 1}`);
}

/**
 * Opens the page at an address in a new context, waits until it has drawn, and gives it to the test. No complaint may be left.
 * `prepare` is called with the page before it is opened.
 */
export async function withPage({ at = '', size = 'desktop', dark = false, prepare = () => {} }, test) {
  const context = await browser.newContext({ ...SIZES[size], colorScheme: dark ? 'dark' : 'light', acceptDownloads: true });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`); });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('requestfailed', (request) => {
    // The page itself gives up a question that is late and no longer the newest, or that the reader cancels.
    const given = request.failure()?.errorText === 'net::ERR_ABORTED' && /\/api\/(map|predict|events|inspect)$/.test(request.url());
    if (!given) complaints.push(`request: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on('response', (response) => { if (response.status() >= 400) complaints.push(`status ${response.status()}: ${response.url()}`); });
  page.setDefaultTimeout(20000);
  try {
    await prepare(page);
    await page.goto(`${base}/${at}`);
    await page.waitForSelector('html[data-ready]');
    if (!at || at.startsWith('#explore')) await drawn(page);
    await test(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** That nothing makes the page itself scroll sideways. On a phone `innerWidth` grows with what is too wide, so it is no measure. */
export async function fits(page) {
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wider <= 0, `the page is ${wider} pixels wider than the screen`);
}

/** Waits until map and numbers are those of the present view. */
export async function drawn(page) {
  await page.waitForSelector('#map[aria-busy=false]', { state: 'attached' });
  await page.waitForSelector('#readout[aria-busy=false]', { state: 'attached' });
}

/** A fingerprint of the map's pixels. */
export async function picture(page) {
  const data = await page.$eval('#map-canvas', (canvas) => canvas.toDataURL());
  return createHash('sha256').update(data).digest('hex');
}

export const text = (page, selector) => page.$eval(selector, (node) => node.textContent.trim());

/** The number in a field of the controls. */
export const number = async (page, size) => Number((await page.inputValue(`#number-${size}`)).replaceAll(',', ''));

/** The middle of an element on the screen. */
export async function middle(page, selector) {
  const box = await (await page.waitForSelector(selector)).boundingBox();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width, height: box.height, left: box.x, top: box.y };
}

/** Drags from one place to another: with the mouse, or with a finger where there is touch. */
export async function drag(page, size, from, to) {
  const steps = 6;
  const between = (share) => ({ x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) });
  if (size === 'desktop') {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    for (let step = 1; step <= steps; step++) await page.mouse.move(between(step / steps).x, between(step / steps).y);
    await page.mouse.up();
    return;
  }
  const session = await page.context().newCDPSession(page);
  const touch = (type, points) => session.send('Input.dispatchTouchEvent', { type, touchPoints: points });
  await touch('touchStart', [from]);
  for (let step = 1; step <= steps; step++) await touch('touchMove', [between(step / steps)]);
  await touch('touchEnd', []);
}
