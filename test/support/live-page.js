'use strict';

// Who uses the server of `npm start`, and what its live page shows then, read in the browser. Used by live-page.test.js.

const fs = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { findTool } = require('../../scripts/install-once');

const AXE = fs.readFileSync(findTool('browser', 'axe-core/axe.min.js'), 'utf8');

/** @typedef {import('../../tools/browser/node_modules/playwright-core').Page} Page */

/** A server's users, a few at a time, again and again until they are told to stop. */
class Visits {
  #isOver = false;
  #done;

  /** @param {string} url */
  constructor(url) {
    this.#done = this.#run(url);
  }

  /** @param {string} url */
  async #run(url) {
    while (!this.#isOver) {
      const visits = Array.from({ length: 8 }, async () => {
        const response = await fetch(url);
        await response.arrayBuffer();
      });
      await Promise.all(visits);
      await delay(25);
    }
  }

  async stop() {
    this.#isOver = true;
    await this.#done;
  }
}

/**
 * All figures that are shown, by panel, as numbers; NaN where there is none.
 * @param {Page} page
 */
function readFigures(page) {
  return page.evaluate(() => {
    const number = (text) => Number(text.replaceAll(',', '') || NaN);
    const figures = {};
    for (const panel of document.querySelectorAll('.panels .panel')) {
      figures[panel.id] = [...panel.querySelectorAll('.value')].map((value) =>
        number(value.textContent),
      );
    }
    const rows = [...document.querySelectorAll('#connections tbody tr')];
    figures.connections = rows.map((row) =>
      [...row.cells].map((cell) => number(cell.textContent)).slice(1),
    );
    return figures;
  });
}

/** @param {Page} page @param {(figures: any) => boolean} is */
async function figuresThat(page, is) {
  for (;;) {
    const figures = await readFigures(page);
    if (is(figures)) return figures;
    await delay(50);
  }
}

/** @param {Page} page */
function loadedFigures(page) {
  return figuresThat(page, ({ latency }) => latency[0] > 0);
}

/**
 * How many points of each chart have the colour of a line.
 * @param {Page} page
 * @param {string} [charts] what they are in
 * @param {string} [color] that all charts have
 * @returns {Promise<number[]>}
 */
function readLines(page, charts = ':is(#panels, #connections)', color = '--blue') {
  return page.evaluate(
    ([place, name]) => {
      const value = getComputedStyle(document.body).getPropertyValue(name).match(/\w\w/g);
      const [red, green, blue] = value.map((part) => parseInt(part, 16));
      return [...document.querySelectorAll(`${place} canvas`)].map((canvas) => {
        // Of a copy, since the browser warns of what reads the page's own.
        const { width, height } = canvas;
        const copy = new OffscreenCanvas(width, height).getContext('2d', {
          willReadFrequently: true,
        });
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, width, height);
        let points = 0;
        for (let at = 0; at < data.length; at += 4) {
          if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) ++points;
        }
        return points;
      });
    },
    [charts, color],
  );
}

/**
 * As WCAG defines it.
 * @param {Page} page
 * @param {string} ground @param {string[]} others variables of the page's colours
 * @returns {Promise<number[]>} of each
 */
function readContrasts(page, ground, others) {
  return page.evaluate(
    ([first, ...names]) => {
      const style = getComputedStyle(document.documentElement);
      const luminance = (name) => {
        const parts = style.getPropertyValue(name).match(/\w\w/g);
        const [red, green, blue] = parts.map((part) => {
          const value = parseInt(part, 16) / 255;
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      };
      const below = luminance(first);
      return names.map((name) => {
        const above = luminance(name);
        return (Math.max(above, below) + 0.05) / (Math.min(above, below) + 0.05);
      });
    },
    [ground, ...others],
  );
}

/**
 * @param {Page} page
 * @returns {Promise<unknown[]>} rules of axe-core, all that it has, and where they are broken
 */
async function readViolations(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target)]);
}

module.exports = {
  Visits,
  figuresThat,
  loadedFigures,
  readContrasts,
  readFigures,
  readLines,
  readViolations,
};
