// What is in flight on each connection: a line and a row for each that the pool may open. Used by live.mjs.

import { Chart } from './chart.mjs';
import { byId, element } from './dom.mjs';
import { count, ratio } from './format.mjs';
import { LIVE } from './history.mjs';

const COLORS = ['--blue', '--teal', '--rust', '--violet'];
/** Of what is in flight, on average and at most: those of a whole minute share a scale. */
const LEAST = 4;

/** @typedef {import('../live/sampler').ConnectionSample} ConnectionSample */

/** By column, after that of the bar. @type {((one: ConnectionSample) => string)[]} */
const CELLS = [
  ({ peak }) => count(peak),
  ({ queries }) => count(queries),
  ({ queries, syncs }) => ratio(syncs > 0 ? queries / syncs : null),
  ({ preparedStatements }) => count(preparedStatements),
  ({ processId }) => String(processId),
];
const EXTRA = 3;

export class Connections {
  #chart;
  #rows;

  /** @param {{ connections: number, inFlight: number }} limits @param {(index: number | null) => void} onMoment */
  constructor({ connections, inFlight }, onMoment) {
    const section = byId('connections');
    byId('limit').textContent =
      `queries that have not settled; ${count(inFlight)} at most on each of up to ${count(connections)} connections`;
    const places = Array.from({ length: connections }, (_, place) => COLORS[place % COLORS.length]);
    this.#rows = places.map((color, place) => new Row(color, place + 1));
    section.querySelector('tbody').replaceChildren(...this.#rows.map(({ row }) => row));
    const chart = section.querySelector('.chart');
    chart.replaceChildren();
    this.#chart = new Chart(
      chart,
      places.map((color) => ({ color })),
      { least: LEAST, ...LIVE, onMoment },
    );
  }

  /**
   * @param {import('./history.mjs').Moment | undefined} moment
   * @param {import('./history.mjs').History} history
   */
  tell(moment, history) {
    const peaks = history.moments.flatMap(
      ({ connections }) => connections?.map((one) => one?.peak ?? 0) ?? [],
    );
    const most = Math.max(LEAST, ...peaks);
    const connections = moment?.connections;
    for (const [place, row] of this.#rows.entries()) {
      row.tell(connections && (connections[place] ?? null), most);
    }
  }

  /** @param {import('./history.mjs').History} history */
  draw(history) {
    const columns = this.#rows.map((_, place) =>
      history.column(({ connections }) => connections[place]?.inFlight ?? null),
    );
    this.#chart.draw(history.range, history.times, columns);
  }
}

class Row {
  #bar = element('span', { class: 'bar' });
  #peak = element('span', { class: 'peak' });
  #inFlight = element('span', { class: 'value' });
  #cells = CELLS.map((_, index) => element('td', index < EXTRA ? {} : { class: 'extra' }));

  /** @param {string} color @param {number} number */
  constructor(color, number) {
    const swatch = element('span', { class: 'swatch' });
    const track = element('span', { class: 'track' }, [this.#peak, this.#bar]);
    this.row = element('tr', {}, [
      element('th', { scope: 'row' }, [swatch, String(number)]),
      element('td', {}, [element('div', { class: 'in-flight' }, [track, this.#inFlight])]),
      ...this.#cells,
    ]);
    this.row.style.setProperty('--color', `var(${color})`);
  }

  /** @param {ConnectionSample | null | undefined} one null: not open @param {number} most that the bar has room for */
  tell(one, most) {
    this.row.classList.toggle('closed', !one);
    this.#bar.style.width = `${(100 * (one?.inFlight ?? 0)) / most}%`;
    this.#peak.style.width = `${(100 * (one?.peak ?? 0)) / most}%`;
    this.#inFlight.textContent = one ? ratio(one.inFlight) : one === null ? 'not open' : '–';
    for (const [index, cell] of this.#cells.entries())
      cell.textContent = one ? CELLS[index](one) : '';
  }
}
