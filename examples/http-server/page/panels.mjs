// The panels: what each shows of a sample, as figures, and as lines of its chart. Used by live.mjs.

import { Chart } from './chart.mjs';
import { element } from './dom.mjs';
import { count, millis, percent, ratio } from './format.mjs';
import { LIVE } from './history.mjs';

/** @typedef {import('../live/sampler').Sample} Sample */

/**
 * @typedef {object} Figure
 * @property {string} label
 * @property {(sample: Sample) => number | null} read
 * @property {(value: number | null) => string} format
 * @property {string} [unit]
 * @property {import('./chart.mjs').Line} [line]
 *
 * @typedef {object} Panel
 * @property {string} id
 * @property {string} title
 * @property {string} note
 * @property {boolean} [isNamed] whether the main figure needs its label, beside the title
 * @property {Figure[]} figures the main one first
 * @property {number} least see Chart
 * @property {number} [most]
 */

/** @param {number} part @param {number} whole */
const share = (part, whole) => (whole > 0 ? part / whole : null);

/** @param {number} part @param {number} whole */
const percentage = (part, whole) => (whole > 0 ? (100 * part) / whole : null);

/** @param {string} label @param {keyof Sample} name @returns {Figure} */
const rate = (label, name) => ({
  label,
  read: (sample) => sample[name],
  format: count,
  unit: '/s',
});

/** @param {'p50' | 'p95' | 'p99'} name @param {import('./chart.mjs').Line} line @returns {Figure} */
const latency = (name, line) => ({
  label: name,
  read: ({ latencyMillis }) => latencyMillis && latencyMillis[name],
  format: millis,
  unit: 'ms',
  line,
});

const MAIN = { color: '--blue', fill: '--blue-soft' };

/** @type {Panel[]} */
export const PANELS = [
  {
    id: 'queries',
    title: 'Queries',
    note: 'sent to the server by all connections',
    figures: [{ ...rate('Queries', 'queries'), line: MAIN }, rate('Failed', 'failed')],
    least: 100,
  },
  {
    id: 'latency',
    title: 'Latency of a query',
    note: 'from query() until its promise settles',
    isNamed: true,
    figures: [
      latency('p50', { color: '--blue', width: 2 }),
      latency('p95', { color: '--teal', dash: [5, 3] }),
      latency('p99', { color: '--rust' }),
    ],
    least: 1,
  },
  {
    id: 'per-sync',
    title: 'Queries for each Sync',
    note: 'the message that ends a transaction',
    figures: [
      {
        label: 'Queries for each Sync',
        read: ({ queries, syncs }) => share(queries, syncs),
        format: ratio,
        line: MAIN,
      },
      rate('Syncs', 'syncs'),
    ],
    least: 2,
  },
  {
    id: 'per-flush',
    title: 'Queries for each flush',
    note: 'one write to a socket',
    figures: [
      {
        label: 'Queries for each flush',
        read: ({ queries, flushes }) => share(queries, flushes),
        format: ratio,
        line: MAIN,
      },
      rate('Flushes', 'flushes'),
      rate('Wake-ups', 'wakeups'),
    ],
    least: 2,
  },
  {
    id: 'cache',
    title: 'Statement-cache hits',
    note: 'how often the connection knew the text',
    figures: [
      {
        label: 'Hits',
        read: ({ hits, misses }) => percentage(hits, hits + misses),
        format: percent,
        unit: '%',
        line: MAIN,
      },
      rate('Hits', 'hits'),
      rate('Misses', 'misses'),
    ],
    least: 100,
    most: 100,
  },
  {
    id: 'loop',
    title: 'Delay of the event loop',
    note: 'how late its timers are',
    isNamed: true,
    figures: [
      {
        label: 'p99',
        read: ({ delayMillis }) => delayMillis.p99,
        format: millis,
        unit: 'ms',
        line: MAIN,
      },
      { label: 'p50', read: ({ delayMillis }) => delayMillis.p50, format: millis, unit: 'ms' },
      { label: 'Busy', read: ({ busy }) => 100 * busy, format: percent, unit: '%' },
    ],
    least: 5,
  },
];

export class PanelView {
  #panel;
  #values;
  #chart;

  /** @param {HTMLElement} parent @param {Panel} panel @param {(index: number | null) => void} onMoment */
  constructor(parent, panel, onMoment) {
    this.#panel = panel;
    const [main, ...others] = panel.figures;
    const chart = element('div', {
      class: 'chart',
      role: 'img',
      'aria-label': `Line chart of the last minute: ${panel.title}`,
    });
    const section = element('section', { class: 'panel', 'aria-labelledby': `${panel.id}-title` }, [
      element('h2', { id: `${panel.id}-title` }, [panel.title]),
      element('p', { class: 'note' }, [panel.note]),
      element('dl', {}, [
        figureOf(main, 'main', panel.isNamed),
        ...others.map((figure) => figureOf(figure, 'side', true)),
      ]),
      chart,
    ]);
    section.id = panel.id;
    parent.append(section);
    this.#values = [...section.querySelectorAll('.value')];
    const lines = panel.figures.flatMap(({ line }) => line ?? []);
    this.#chart = new Chart(chart, lines, { ...panel, ...LIVE, onMoment });
  }

  /** @param {import('./history.mjs').Moment | undefined} moment whose figures are told; none: they are not known */
  tell(moment) {
    for (const [index, { read, format }] of this.#panel.figures.entries()) {
      const text = format(!moment || moment.isGap ? null : read(moment));
      if (this.#values[index].textContent !== text) this.#values[index].textContent = text;
    }
  }

  /** @param {import('./history.mjs').History} history */
  draw(history) {
    const drawn = this.#panel.figures.filter(({ line }) => line);
    this.#chart.draw(
      history.range,
      history.times,
      drawn.map(({ read }) => history.column(read)),
    );
  }
}

/** @param {Figure} figure @param {'main' | 'side'} role @param {boolean} [isNamed] so that it is seen */
function figureOf({ label, unit, line }, role, isNamed) {
  const name = element('dt', { class: isNamed ? '' : 'unseen' }, [label]);
  if (line && isNamed) {
    name.prepend(element('span', { class: line.dash ? 'swatch dashed' : 'swatch' }));
    name.firstChild.style.setProperty('--color', `var(${line.color})`);
  }
  const value = element('span', { class: 'value' }, ['–']);
  const parts = unit ? [value, ' ', element('span', { class: 'unit' }, [unit])] : [value];
  return element('div', { class: role }, [name, element('dd', {}, parts)]);
}
