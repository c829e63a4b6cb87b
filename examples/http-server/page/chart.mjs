// One line chart of the last minute, on a canvas, by uPlot. Colours are the page's CSS variables. What it
// shows is also there as text. Used by panels.mjs and connections.mjs.

import './language.mjs';
import uPlot from './uplot.js';
import { tick } from './format.mjs';

const FONT = '11px system-ui, sans-serif';
const AXIS_WIDTH = 42;
const AXIS_HEIGHT = 22;
/** Room for the half of a number that stands over the top line. */
const TOP = 8;
const SIDE = 14;
const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

const style = getComputedStyle(document.documentElement);
/** @type {Set<Chart>} */
const charts = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const chart of charts) chart.redraw();
});

/** @param {string} name of a variable */
const color = (name) => () => style.getPropertyValue(name).trim();

/** @param {number} value @returns {number} the next one that has few digits */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * STEPS.find((step) => step * power >= value * (1 - 1e-9));
}

/**
 * @typedef {object} Line
 * @property {string} color
 * @property {string} [fill]
 * @property {number} [width]
 * @property {number[]} [dash]
 */

export class Chart {
  #place;
  #plot;
  /** In seconds: where the horizontal axis begins and ends. */
  /** @type {[number, number]} */
  #range = [0, 60];

  /**
   * @param {HTMLElement} place as high as the chart is to be
   * @param {Line[]} lines
   * @param {object} options
   * @param {number} options.least what the vertical axis goes to when all values are smaller
   * @param {number} [options.most] where it ends whatever the values
   * @param {string} options.group charts of one group show where the pointer is together
   * @param {(at: number, last: number) => string} options.label of the horizontal axis, in seconds
   * @param {(index: number | null) => void} [options.onMoment] where the pointer is
   */
  constructor(place, lines, { least, most, group, label, onMoment }) {
    this.#place = place;
    const grid = { stroke: color('--grid'), width: 1 };
    const axis = { stroke: color('--quiet'), font: FONT, ticks: { show: false }, grid };
    this.#plot = new uPlot(
      {
        ...this.#size(),
        legend: { show: false },
        padding: [TOP, SIDE, 0, 0],
        cursor: {
          sync: { key: group },
          drag: { x: false, y: false },
          y: false,
          points: { size: 7 },
        },
        scales: {
          x: { time: false, range: () => this.#range },
          y: {
            range: (_plot, _least, greatest) => [
              0,
              most ?? roundUp(Math.max(least, greatest ?? 0)),
            ],
          },
        },
        axes: [
          {
            ...axis,
            size: AXIS_HEIGHT,
            gap: 4,
            grid: { show: false },
            splits: (_plot, _axis, first, last) => [first, (first + last) / 2, last],
            values: (_plot, splits) => splits.map((at) => label(at, splits.at(-1))),
          },
          {
            ...axis,
            size: AXIS_WIDTH,
            gap: 6,
            splits: (_plot, _axis, _low, high) => [0, high / 2, high],
            values: (_plot, splits) => splits.map(tick),
          },
        ],
        series: [
          {},
          ...lines.map(({ color: stroke, fill, width = 1.5, dash }) => ({
            stroke: color(stroke),
            fill: fill && color(fill),
            width,
            dash,
            points: { show: false },
          })),
        ],
        hooks: { setCursor: [({ cursor }) => onMoment?.(cursor.idx ?? null)] },
      },
      [[], ...lines.map(() => [])],
      place,
    );
    charts.add(this);
    new ResizeObserver(() => this.#plot.setSize(this.#size())).observe(place);
  }

  #size() {
    const { clientWidth: width, clientHeight: height } = this.#place;
    return { width, height };
  }

  /**
   * @param {[first: number, last: number]} range of the horizontal axis, in seconds
   * @param {number[]} times
   * @param {(number | null | undefined)[][]} columns by line
   */
  draw(range, times, columns) {
    this.#range = range;
    this.#plot.setData([times, ...columns]);
  }

  redraw() {
    this.#plot.redraw();
  }
}
