// What goes on at the server, from one stream for the whole page: training runs and changes of opened studies.

import { get, post, remove } from './api.js';

const runs = new Map();
let whole = false;
/** Runs that were there when the page began. */
const earlier = new Set();
const results = new Map();
const onRuns = [];
const onStudy = [];
const onLink = [];

const tell = (listeners, ...what) => listeners.forEach((listener) => listener(...what));

/** Calls back when the list of runs has changed. */
export const listenRuns = (listener) => onRuns.push(listener);
/** Calls back with `{id, cells, revision}` when an opened study has changed. */
export const listenStudies = (listener) => onStudy.push(listener);
/** Calls back with whether the server is there. */
export const listenLink = (listener) => onLink.push(listener);

/** All runs the server knows, oldest first. */
export const allRuns = () => [...runs.values()].sort((a, b) => a.id - b.id);
export const runOf = (id) => runs.get(id);
/** Whether the list of runs is known by now. */
export const listed = () => whole;
/** Whether a run came, or ended, while the page was there. */
export const isNew = (id) => whole && !earlier.has(id);

/** What tells runs apart, also two of the same id before and after the server was restarted. */
export const keyOf = ({ id, config }) => `${id} ${JSON.stringify(config)}`;

/** Whether a run waits or goes on. */
export const active = (run) => run.state === 'queued' || run.state === 'running';

function keep(run) {
  runs.set(run.id, run);
  tell(onRuns);
}

/** Forgets runs that were removed while there was no connection. Runs that arrive from the stream during the request are newer than the list and stay. */
async function prune() {
  const before = new Map(runs);
  const present = (await get('/api/runs')).runs;
  for (const [id, run] of before) if (runs.get(id) === run && !present.some((other) => other.id === id)) runs.delete(id);
  for (const run of present) if (!runs.has(run.id)) runs.set(run.id, run);
  if (!whole) for (const id of runs.keys()) if (!active(runs.get(id))) earlier.add(id);
  whole = true;
  tell(onRuns);
}

/** Begins to listen. */
export function connect() {
  const stream = new EventSource('/api/events');
  stream.addEventListener('open', () => {
    tell(onLink, true);
    // The server may have been restarted: then its runs begin at 0 again, and are others.
    results.clear();
    earlier.clear();
    whole = false;
    // Without an answer the list stays unknown until the next connection.
    prune().catch(() => {});
  });
  stream.addEventListener('error', () => tell(onLink, false));
  stream.addEventListener('run', (event) => keep(JSON.parse(event.data)));
  stream.addEventListener('removed', (event) => {
    runs.delete(JSON.parse(event.data).id);
    tell(onRuns);
  });
  stream.addEventListener('study', (event) => tell(onStudy, JSON.parse(event.data)));
}

/** Puts a run into the queue and gives it. */
export async function train(config) {
  const run = await post('/api/runs', { config });
  if (!runs.has(run.id)) keep(run);
  return run;
}

/** Cancels a run that waits or goes on; removes one that has ended. */
export const drop = (id) => remove(`/api/runs/${id}`);

/** The whole result of a run that is done; fetched once. */
export function resultOf(id) {
  if (!results.has(id)) {
    const asked = get(`/api/runs/${id}`).then((run) => run.result);
    asked.catch(() => results.delete(id));
    results.set(id, asked);
  }
  return results.get(id);
}
