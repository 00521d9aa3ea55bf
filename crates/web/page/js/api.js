// Talking to the server: JSON in and out, refusals as errors, and only the newest of many questions.

/** What the server refused, with its sentence. */
export class Refusal extends Error {
  constructor(status, { error, hint }) {
    super(hint ? `${error}; ${hint}` : error);
    this.status = status;
  }
}

const BUSY = 503;
const TRIES = 5;
const PAUSE = 300;

async function answer(response) {
  const body = await response.json().catch(() => ({ error: `the server answered with status ${response.status}` }));
  if (!response.ok) throw new Refusal(response.status, body);
  return body;
}

/** A browser's own words for a lost connection differ and say little. */
function unreachable(error) {
  throw error.name === 'AbortError' ? error : new Error('The server does not answer.');
}

/** Sends a request; a busy server is asked again. */
async function send(path, options) {
  for (let tried = 1; ; tried++) {
    const response = await fetch(path, options).catch(unreachable);
    if (response.status !== BUSY || tried === TRIES) return answer(response);
    await new Promise((wake) => setTimeout(wake, PAUSE * tried));
  }
}

export const get = (path, signal) => send(path, { signal });

export const remove = (path) => send(path, { method: 'DELETE' });

export const post = (path, body, signal) =>
  send(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal });

const PATIENCE = 250;

/**
 * Asks at most one question at a time, and next always the newest. A slider moves faster than answers come: giving up each
 * question for the next would draw nothing until it rests, so a question is given up only when its answer is late.
 */
export function newest(path, { show, fail, busy }) {
  let current = null;
  let waiting = null;
  const held = [];

  async function run(body) {
    const abort = new AbortController();
    current = { abort, since: performance.now() };
    try {
      const found = await post(path, body, abort.signal);
      current = null;
      show(found, body);
    } catch (error) {
      current = null;
      if (error.name !== 'AbortError') fail(error);
    }
    for (const call of held.splice(0)) call();
    const next = waiting;
    waiting = null;
    if (next) run(next);
    else busy(false);
  }

  const ask = (body) => {
    if (!current) {
      busy(true);
      run(body);
      return;
    }
    if (!waiting) {
      const { abort, since } = current;
      setTimeout(() => abort.abort(), Math.max(0, since + PATIENCE - performance.now()));
    }
    waiting = body;
  };
  /** Calls back when the next answer is shown, or at once where none is awaited: for what would slow that answer down. */
  ask.after = (call) => (current ? held.push(call) : call());
  return ask;
}
