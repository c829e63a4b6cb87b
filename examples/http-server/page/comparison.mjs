// What a load has found of both drivers, as a table and as charts over the time that each was loaded. Used by live.mjs.

import { Chart } from './chart.mjs';
import { byId, element } from './dom.mjs';
import { count, micros, millis, several } from './format.mjs';

/** @typedef {import('../load').Outcome} Outcome */
/** @typedef {import('../load').Tick} Tick */

/** The colours of the drivers, ours last. */
const LINES = [
  { color: '--rust', width: 2 },
  { color: '--blue', width: 2 },
];

/** The columns of the table. @type {((outcome: Outcome) => string)[]} */
const CELLS = [
  ({ requestsPerSecond }) => count(requestsPerSecond),
  ({ cpuMicros }) => micros(cpuMicros),
  ({ p99Millis }) => millis(p99Millis),
  ({ connections }) => count(connections),
];

/** @type {{ title: string, key: keyof Tick, least: number }[]} */
const CHARTS = [
  { title: 'Requests a second', key: 'requestsPerSecond', least: 100 },
  { title: 'CPU a request, µs', key: 'cpuMicros', least: 10 },
  { title: 'Latency of a request, p99, ms', key: 'p99Millis', least: 1 },
];

const label = (at) => `${Number(at.toFixed(2))} s`;

export class Comparison {
  #section = byId('comparison');
  #headline = byId('headline');
  #rows = byId('outcomes');
  /** @type {Chart[]} */
  #charts = [];
  /** Of both, ours last. @type {string[]} */
  #names = [];
  #loadSeconds = 0;
  /** @type {Tick[]} */
  #ticks = [];
  #isRunning = false;

  greet({ peer, limits, ticks, load }) {
    this.#names = [peer.name, 'pg-conduit'];
    byId('peer').textContent =
      `The same handlers on ${peer.name} ${peer.version}, in a process of its own at ${peer.url}. Each has a pool of ` +
      `${several(limits.connections, 'connection')}. The statements have no names, so pg has them parsed each time.`;
    this.#ticks = [...ticks];
    this.#isRunning = load.running !== undefined;
    this.change(load);
  }

  /** @param {any} load as the server describes it */
  change({ running, last }) {
    const isNew = running !== undefined && !this.#isRunning;
    this.#isRunning = running !== undefined;
    const shown = running ?? last;
    this.#section.hidden = shown === undefined;
    if (shown === undefined) return;
    if (isNew) this.#ticks = [];
    this.#loadSeconds = shown.seconds;
    const { route, connections, seconds } = shown;
    const words = `GET ${route} on ${several(connections, 'HTTP connection')}, ${seconds} s in all`;
    this.#headline.textContent = running ? `Under way: ${words}` : last.headline;
    const outcomes = running ? [] : last.outcomes;
    this.#rows.replaceChildren(...this.#names.map((name) => rowOf(name, outcomes)).reverse());
    this.#draw();
  }

  /** @param {Tick} tick */
  add(tick) {
    this.#ticks.push(tick);
    this.#draw();
  }

  #draw() {
    if (this.#section.hidden) return;
    // They measure their places, which have a size only from now on.
    if (this.#charts.length === 0) this.#charts = CHARTS.map((chart) => makeChart(chart));
    const byName = this.#names.map((name) => this.#ticks.filter((tick) => tick.name === name));
    const length = Math.max(...byName.map((ticks) => ticks.length));
    const times = Array.from({ length }, (_, index) => (index + 1) * this.#ticks[0].seconds);
    const end = times.at(-1) ?? 0;
    // The rest of it is warm-up, and the other's.
    const last = this.#isRunning || end === 0 ? Math.max(0.35 * this.#loadSeconds, end) : end;
    for (const [index, { key }] of CHARTS.entries()) {
      const columns = byName.map((ticks) => times.map((_, at) => ticks[at]?.[key] ?? null));
      this.#charts[index].draw([0, last], times, columns);
    }
  }
}

/** @param {string} name @param {Outcome[]} outcomes */
function rowOf(name, outcomes) {
  const outcome = outcomes.find((one) => one.name === name);
  const cells = CELLS.map((read) => element('td', {}, [outcome ? read(outcome) : '–']));
  const swatch = element('span', { class: 'swatch' });
  swatch.style.setProperty('--color', `var(${LINES[name === 'pg-conduit' ? 1 : 0].color})`);
  return element('tr', {}, [element('th', { scope: 'row' }, [swatch, name]), ...cells]);
}

/** @param {(typeof CHARTS)[number]} chart */
function makeChart({ title, least }) {
  const place = element('div', {
    class: 'chart',
    role: 'img',
    'aria-label': `Line chart of the load: ${title}`,
  });
  byId('comparison-charts').append(element('div', {}, [element('h3', {}, [title]), place]));
  return new Chart(place, LINES, { least, group: 'load', label });
}
