'use strict';

// The live page of `npm start`, in a browser, while autocannon loads the server. What it is fed with is in
// live-server.test.js, the command itself in start.test.js. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { launchBrowser } = require('./support/browser');
const { ExampleServer } = require('./support/example-server');
const { deadPort } = require('./support/ports');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
/** Of ExampleServer. */
const MAX_IN_FLIGHT = 1024;
const MAX_CONNECTIONS = 4;
const LOAD_SECONDS = 3;

describe('the live page', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;
  /** @type {ExampleServer} */
  let server;
  /** @type {string} */
  let url;
  /** @type {import('playwright-core').Browser} */
  let browser;
  /** @type {import('playwright-core').BrowserContext | undefined} */
  let context;

  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'live-page-test-'));
    fs.chmodSync(folder, 0o755);
    browser = await launchBrowser();
    server = start(await deadPort());
    url = await server.url();
  });

  after(async () => {
    await browser?.close();
    server?.kill();
    await server?.closed;
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  afterEach(async () => {
    await context?.close();
    context = undefined;
  });

  /** @param {number | string} port */
  function start(port) {
    const args = ['--no-load', '--seconds', String(LOAD_SECONDS), '--port', String(port)];
    return new ExampleServer(folder, ...args);
  }

  /** @param {import('playwright-core').BrowserContextOptions} [options] */
  async function open(options) {
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    /** Whatever it asks others for, and whatever it complains about. */
    const noise = [];
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== url) noise.push(request.url());
    });
    page.on('console', (message) => noise.push(message.text()));
    page.on('pageerror', (error) => noise.push(error.stack));
    await page.goto(url);
    await page.locator('#state[data-state=live]').waitFor();
    return { page, noise };
  }

  /** @param {import('playwright-core').Page} page @param {string} [route] */
  async function runLoad(page, route = '/db') {
    await page.getByLabel('Route').selectOption(route);
    await page.getByRole('button', { name: 'Run load' }).click();
    await page.getByRole('button', { name: 's left' }).waitFor();
  }

  /** All figures that are shown, by panel and label, as numbers; NaN where there is none. */
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

  /** @param {import('playwright-core').Page} page @param {(figures: any) => boolean} is */
  async function figuresThat(page, is) {
    for (;;) {
      const figures = await readFigures(page);
      if (is(figures)) return figures;
      await delay(50);
    }
  }

  /** @param {import('playwright-core').Page} page */
  async function violations(page) {
    await page.evaluate(AXE);
    const found = await page.evaluate(() => globalThis.axe.run());
    return found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target)]);
  }

  describe('under load', () => {
    it('shows figures that move and can be true, and rests when the load ends', async () => {
      await server.idle();
      const { page, noise } = await open();
      await page.getByText('Nothing loads the server.').waitFor();
      assert.ok((await page.locator('#load-text').innerText()).includes(`${url}/db`));

      await runLoad(page, '/queries?n=20');
      const seen = [];
      for (let latest = 0; seen.length < 4;) {
        const figures = await figuresThat(
          page,
          ({ queries, latency }) => queries[0] > 0 && queries[0] !== latest && latency[0] > 0,
        );
        latest = figures.queries[0];
        seen.push(figures);
      }
      for (const figures of seen) {
        const [p50, p95, p99] = figures.latency;
        assert.ok(p50 > 0 && p50 <= p95 && p95 <= p99 && p99 < 10_000, figures.latency.join());
        const [queries, failed] = figures.queries;
        assert.equal(failed, 0);
        const [perSync, syncs] = figures['per-sync'];
        assert.ok(perSync > 1, `${perSync} queries for each Sync`);
        assert.ok(Math.abs(queries / syncs - perSync) < 0.1 + perSync / 100, `${queries} ${syncs}`);
        assert.ok(figures['per-flush'][0] >= perSync * 0.9, figures['per-flush'].join());
        assert.ok(figures.cache[0] > 50 && figures.cache[0] <= 100, figures.cache.join());
        const [p99Delay, p50Delay, busy] = figures.loop;
        assert.ok(p50Delay <= p99Delay && busy > 0 && busy <= 100, figures.loop.join());

        assert.equal(figures.connections.length, MAX_CONNECTIONS);
        const used = figures.connections.filter(([inFlight]) => inFlight >= 0);
        for (const [inFlight, most] of used) {
          assert.ok(inFlight <= most + 0.1 && most <= MAX_IN_FLIGHT, `${inFlight}, ${most}`);
        }
        const sum = used.reduce((all, [, , each]) => all + each, 0);
        assert.ok(Math.abs(sum - queries) < 5 + queries / 100, `${sum} of ${queries}`);
      }
      assert.ok(seen.some(({ connections }) => connections.some(([inFlight]) => inFlight > 1)));

      await page.getByText(/The last one: GET \/queries\?n=20 .* none failed\./).waitFor();
      await page.getByText('Nothing loads the server.').waitFor();
      const rest = await figuresThat(page, ({ queries }) => queries[0] === 0);
      assert.deepEqual(rest.latency, [NaN, NaN, NaN]);
      assert.deepEqual(noise, []);
    });

    it('draws what it tells', async () => {
      const { page } = await open();
      /** How many points of each chart have the colour of its first line. */
      const readLines = () =>
        page.evaluate(() => {
          const { body } = document;
          const color = getComputedStyle(body).getPropertyValue('--blue').match(/\w\w/g);
          const [red, green, blue] = color.map((part) => parseInt(part, 16));
          return [...document.querySelectorAll('.chart canvas')].map((canvas) => {
            const { data } = canvas
              .getContext('2d')
              .getImageData(0, 0, canvas.width, canvas.height);
            let points = 0;
            for (let at = 0; at < data.length; at += 4) {
              if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) ++points;
            }
            return points;
          });
        });
      await runLoad(page);
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      await delay(1500);
      const lines = await readLines();
      assert.equal(lines.length, 7);
      for (const points of lines) assert.ok(points > 0, lines.join());
    });

    it('tells of the moment that the pointer is at, and of now when it has left', async () => {
      const { page } = await open();
      await runLoad(page);
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      await page.getByRole('button', { name: 'Pause' }).click();
      const now = await readFigures(page);
      const plot = await page.locator('#queries .u-over').boundingBox();
      const pointAt = (part) =>
        page.mouse.move(plot.x + plot.width * part, plot.y + plot.height / 2);
      /** @type {string[]} */
      const moments = [];
      for (let part = 0.9; part < 0.985; part += 0.01) {
        await pointAt(part);
        const moment = page.locator('#moment');
        await moment.filter({ hasText: /^\d+\.\d s ago$/ }).waitFor();
        moments.push(await moment.innerText());
      }
      const seconds = moments.map(parseFloat);
      assert.deepEqual(
        seconds,
        seconds.toSorted((a, b) => b - a),
      );
      assert.ok(new Set(seconds).size > 2, moments.join());
      await page.mouse.move(plot.x, plot.y - 200);
      await page.locator('#moment').filter({ hasText: /^$/ }).waitFor({ state: 'attached' });
      assert.deepEqual(await readFigures(page), now);
    });

    it('stands still while it is paused, and goes on after that', async () => {
      const { page } = await open();
      await runLoad(page);
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      await page.getByRole('button', { name: 'Pause' }).click();
      assert.equal(await page.getByRole('status').first().innerText(), 'Paused');
      await delay(100);
      const paused = await readFigures(page);
      await delay(1200);
      assert.deepEqual(await readFigures(page), paused);
      await page.getByRole('button', { name: 'Pause' }).click();
      await figuresThat(page, ({ queries }) => queries[0] !== paused.queries[0]);
    });
  });

  describe('for everybody', () => {
    it('does not scroll sideways, however wide it is, and draws as wide as that', async () => {
      await server.idle();
      const { page, noise } = await open({ viewport: { width: 360, height: 800 } });
      await page.getByText('The last minute as a table').click();
      await page.getByText('Nothing loads the server.').waitFor();
      const sidewards = () => page.evaluate(() => document.documentElement.scrollWidth);
      assert.equal(await sidewards(), 360);
      await runLoad(page, '/updates?n=20');
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      for (const width of [360, 800, 1600]) {
        await page.setViewportSize({ width, height: 800 });
        assert.equal(await sidewards(), width);
        await page.waitForFunction(() =>
          [...document.querySelectorAll('.chart')].every((chart) => {
            const canvas = chart.querySelector('canvas');
            return chart.clientWidth > 200 && canvas.clientWidth === chart.clientWidth;
          }),
        );
      }
      assert.deepEqual(noise, []);
    });

    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      it(`draws lines that stand out from the ground, ${colorScheme}`, async () => {
        const { page } = await open({ colorScheme });
        const contrasts = await page.evaluate(() => {
          const style = getComputedStyle(document.documentElement);
          const luminance = (name) => {
            const parts = style.getPropertyValue(name).match(/\w\w/g);
            const [red, green, blue] = parts.map((part) => {
              const value = parseInt(part, 16) / 255;
              return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
          };
          const ground = luminance('--panel');
          return ['--blue', '--teal', '--rust', '--violet', '--quiet'].map((name) => {
            const line = luminance(name);
            return (Math.max(line, ground) + 0.05) / (Math.min(line, ground) + 0.05);
          });
        });
        for (const contrast of contrasts) assert.ok(contrast >= 4.5, contrasts.join());
      });
    }

    for (const [colorScheme, width] of /** @type {const} */ ([
      ['light', 360],
      ['dark', 1280],
    ])) {
      it(`passes the rules of axe, ${colorScheme}, ${width} pixels wide, idle and loaded`, async () => {
        await server.idle();
        const { page } = await open({ colorScheme, viewport: { width, height: 900 } });
        await page.getByText('The last minute as a table').click();
        assert.deepEqual(await violations(page), []);
        await runLoad(page);
        await figuresThat(page, ({ latency }) => latency[0] > 0);
        assert.deepEqual(await violations(page), []);
      });
    }

    it('becomes dark when the reader wants it dark', async () => {
      const { page } = await open();
      const brightness = () =>
        page.evaluate(() => {
          const { backgroundColor } = getComputedStyle(document.body);
          return Number(backgroundColor.match(/\d+/)[0]);
        });
      assert.ok((await brightness()) > 200);
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.ok((await brightness()) < 50);
    });

    it('has the last minute as a table', async () => {
      const { page } = await open();
      await runLoad(page);
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      await delay(1000);
      await page.getByText('The last minute as a table').click();
      const rows = await page
        .getByRole('table', { name: 'The last minute' })
        .evaluate((table) => [...table.rows].map((row) => [...row.cells].map((c) => c.innerText)));
      const [head, newest] = rows;
      assert.deepEqual(head.slice(0, 5), [
        'Time',
        'Queries, a second',
        'Latency, p50, ms',
        'Latency, p95, ms',
        'Latency, p99, ms',
      ]);
      assert.match(newest.slice(1).join(), /^[\d,.]+$/);
      assert.equal(new Set(rows.map(([time]) => time)).size, rows.length);
    });
  });

  describe('when something goes away', () => {
    it('says so when the server does, and goes on when it is back', async () => {
      const { page, noise } = await open();
      await runLoad(page);
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      assert.equal(await server.end(), 0, server.errors);
      await page.getByText('The server is away. Trying again.').waitFor();
      assert.deepEqual(await violations(page), []);
      assert.ok(await page.getByRole('button', { name: 'Run load' }).isDisabled());
      await figuresThat(page, ({ queries }) => Number.isNaN(queries[0]));

      server = start(new URL(url).port);
      assert.equal(await server.url(), url);
      await page.locator('#state[data-state=live]').waitFor();
      await figuresThat(page, ({ queries }) => queries[0] === 0);
      // What was before is still there.
      await page.getByText('The last minute as a table').click();
      const table = await page.locator('#minute table').innerText();
      assert.match(table, /0\t–\t–\t–/);
      await runLoad(page);
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      // The browser tells of each attempt that found nobody.
      assert.deepEqual(
        noise.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED/.test(text)),
        [],
      );
    });

    it('is up to date when its tab has slept', async () => {
      const { page, noise } = await open();
      const session = await page.context().newCDPSession(page);
      await session.send('Page.setWebLifecycleState', { state: 'frozen' });
      await delay(5000);
      await session.send('Page.setWebLifecycleState', { state: 'active' });
      await page.locator('#state[data-state=live]').waitFor();
      await runLoad(page);
      await figuresThat(page, ({ latency }) => latency[0] > 0);
      assert.deepEqual(noise, []);
    });
  });
});
