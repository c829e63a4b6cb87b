// The live page: takes what the server tells and has it shown, at most once a frame, and not at all while
// nobody can see it. The other modules make its parts.

import { Comparison } from './comparison.mjs';
import { Connections } from './connections.mjs';
import { byId } from './dom.mjs';
import { Feed } from './feed.mjs';
import { History } from './history.mjs';
import { Load } from './load.mjs';
import { showWhenOpened } from './minute.mjs';
import { PANELS, PanelView } from './panels.mjs';

const STATES = {
  live: 'Live',
  lost: 'The server is away. Trying again.',
  paused: 'Paused',
};

const history = new History();
const load = new Load();
const comparison = new Comparison();
const panels = PANELS.map((panel) => new PanelView(byId('panels'), panel, point));
/** @type {Connections | undefined} */
let connections;
/** What was drawn last. */
let drawn = history.copy();
let state = 'connecting';
let isPaused = false;
/** Where the pointer is, in what was drawn. @type {number | null} */
let pointed = null;
let isPending = false;

/** @param {number | null} index */
function point(index) {
  if (index === pointed) return;
  pointed = index;
  request(tell);
}

/** Of a hidden page the browser draws no frames. @param {() => void} show */
function request(show) {
  if (show === drawAndTell) isPending = true;
  requestAnimationFrame(() => show());
}

function drawAndTell() {
  if (!isPending || isPaused) return;
  isPending = false;
  drawn = history.copy();
  for (const panel of panels) panel.draw(drawn);
  connections?.draw(drawn);
  tell();
}

function tell() {
  const newest = state === 'lost' ? undefined : drawn.moments.at(-1);
  const moment = pointed === null ? newest : drawn.moments[pointed];
  for (const panel of panels) panel.tell(moment);
  connections?.tell(moment, drawn);
  const seconds = pointed === null || !moment ? 0 : (drawn.now - moment.at) / 1000;
  byId('moment').textContent = seconds > 0 ? `${seconds.toFixed(1)} s ago` : '';
}

function showState() {
  const shown = isPaused && state === 'live' ? 'paused' : state;
  const place = byId('state');
  if (place.dataset.state === shown) return;
  place.dataset.state = shown;
  place.textContent = STATES[shown];
}

byId('pause').addEventListener('click', ({ currentTarget }) => {
  isPaused = !isPaused;
  currentTarget.setAttribute('aria-pressed', String(isPaused));
  showState();
  request(drawAndTell);
});

showWhenOpened(history);

new Feed('/live/events', {
  hello(greeting) {
    const { driver, node, postgres, limits } = greeting;
    byId('about').textContent = `${driver} · Node.js ${node} · PostgreSQL ${postgres}`;
    connections ??= new Connections(limits, point);
    history.greet(greeting);
    load.greet(greeting);
    comparison.greet(greeting);
    request(drawAndTell);
  },
  sample(sample) {
    history.add(sample);
    load.tell(sample.queries);
    request(drawAndTell);
  },
  load(change) {
    load.change(change);
    comparison.change(change);
  },
  tick(tick) {
    comparison.add(tick);
  },
  state(next) {
    if (next === state) return;
    state = next;
    load.connect(next === 'live');
    showState();
    if (next === 'lost') request(tell);
  },
});
