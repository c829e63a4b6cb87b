'use strict';

// The live page of `npm start`, in a browser, while autocannon loads the server. What it is fed with is in
// live-server.test.js, the command itself in start.test.js. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const autocannon = require('autocannon');
const { launchBrowser } = require('../support/browser');
const { ExampleServer } = require('../support/example-server');
const {
  Visits,
  figuresThat,
  loadedFigures,
  readContrasts,
  readFigures,
  readLines,
  readViolations,
} = require('../support/live-page');
const { deadPort } = require('../support/ports');

/** Of ExampleServer. */
const MAX_IN_FLIGHT = 1024;
const MAX_CONNECTIONS = 4;
const LOAD_SECONDS = 2;

describe('the live page', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;
  /** @type {ExampleServer} */
  let server;
  /** @type {string} */
  let url;
  /** @type {import('../../tools/browser/node_modules/playwright-core').Browser} */
  let browser;
  /** @type {import('../../tools/browser/node_modules/playwright-core').BrowserContext | undefined} */
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

  /** @param {import('../../tools/browser/node_modules/playwright-core').BrowserContextOptions} [options] */
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

  /**
   * Loads the server for as long as something takes, with all that the machine has.
   * @param {() => Promise<void>} run
   */
  async function underLoad(run, route) {
    const load = autocannon({ url: url + route, connections: 32, duration: 600 });
    try {
      await run();
    } finally {
      load.stop();
      await load;
    }
  }

  /**
   * Some users ask the server for as long as something takes, so that the page has something to show.
   * @param {() => Promise<void>} run
   */
  async function inUse(run, route = '/db') {
    const load = new Visits(url + route);
    try {
      await run();
    } finally {
      await load.stop();
    }
  }

  describe('under load', () => {
    it('shows changing and plausible figures, and returns to zero when the load ends', async () => {
      const { page, noise } = await open();
      const seen = [];
      await underLoad(async () => {
        for (let latest = 0; seen.length < 4;) {
          const figures = await figuresThat(
            page,
            ({ queries, latency }) => queries[0] > 0 && queries[0] !== latest && latency[0] > 0,
          );
          latest = figures.queries[0];
          seen.push(figures);
        }
      }, '/queries?n=20');

      for (const figures of seen) {
        const [p50, p95, p99] = figures.latency;
        assert.ok(p50 > 0 && p50 <= p95 && p95 <= p99, figures.latency.join());
        const [queries, failed] = figures.queries;
        assert.equal(failed, 0);
        const [perSync, syncs] = figures['per-sync'];
        // The pool learns first what its texts cost, and asks the catalog what they do.
        const isLast = figures === seen.at(-1);
        assert.ok(isLast ? perSync > 1 : perSync >= 1, `${perSync} queries for each Sync`);
        const [perFlush, flushes, wakeups] = figures['per-flush'];
        assert.ok(perFlush > 1 && wakeups > 0, figures['per-flush'].join());
        for (const [ratio, count] of [
          [perSync, syncs],
          [perFlush, flushes],
        ]) {
          // All three are rounded for the page.
          const inexact = 0.6 + ratio / 2 + count / 20;
          const told = `${queries} queries, ${count}, ${ratio} each`;
          assert.ok(Math.abs(queries - ratio * count) <= inexact, told);
        }
        const [hits, hitCount, misses] = figures.cache;
        assert.ok(hits > 50 && hits <= 100 && hitCount > misses, figures.cache.join());
        const [p99Delay, p50Delay, busy] = figures.loop;
        assert.ok(p50Delay <= p99Delay && busy > 0 && busy <= 100, figures.loop.join());

        assert.equal(figures.connections.length, MAX_CONNECTIONS);
        const used = figures.connections.filter(([inFlight]) => inFlight >= 0);
        for (const [inFlight, peak] of used) {
          assert.ok(inFlight <= peak + 0.1 && peak <= MAX_IN_FLIGHT, `${inFlight}, ${peak}`);
        }
        const sum = used.reduce((all, [, , each]) => all + each, 0);
        assert.ok(Math.abs(sum - queries) < 5 + queries / 100, `${sum} of ${queries}`);
      }
      assert.ok(seen.some(({ connections }) => connections.some(([inFlight]) => inFlight > 1)));

      // A query counts when it is sent, its latency when it is answered, which may be an interval later.
      const rest = await figuresThat(
        page,
        ({ queries, latency }) => queries[0] === 0 && Number.isNaN(latency[0]),
      );
      assert.deepEqual(rest.latency, [NaN, NaN, NaN]);
      assert.deepEqual(noise, []);
    });

    it('has a button that starts a load, and shows its progress and result', async () => {
      const { page, noise } = await open();
      await page.getByText('No load is running.').waitFor();
      assert.ok((await page.locator('#load-text').innerText()).includes(`${url}/db`));
      await page.getByLabel('Route').selectOption('/queries?n=20');
      // On a slow machine the load may be over before anybody has looked.
      await page.evaluate(() => {
        const load = document.getElementById('load');
        globalThis.told = [];
        new MutationObserver((records) => {
          for (const { addedNodes } of records) {
            for (const node of addedNodes) globalThis.told.push(node.textContent);
          }
        }).observe(load, { childList: true, subtree: true });
      });
      await page.getByRole('button', { name: `Run load for ${LOAD_SECONDS} s` }).click();
      await page.getByText(/The last one: GET \/queries\?n=20 .* none failed\./).waitFor();
      await page.getByText('No load is running.').waitFor();
      const told = await page.evaluate(() => globalThis.told);
      const how = 'on 64 HTTP connections, both servers in turns';
      assert.ok(told.includes(`autocannon asks for /queries?n=20 ${how}.`), told.join('; '));
      assert.ok(told.includes(`${LOAD_SECONDS} s left`), told.join('; '));
      assert.deepEqual(noise, []);
    });

    it('shows after a load the results of pg and pg-conduit, with a plot', async () => {
      await server.idle();
      const { page, noise } = await open();
      await page.getByRole('button', { name: 'Run load' }).click();
      await page.getByText('Under way: GET /db on 64 HTTP connections').waitFor();
      const headline = page.getByText(
        /^pg-conduit answers [\d.]+x the requests per second of pg, with \d+ % of its CPU for each$/,
      );
      await headline.waitFor();
      const table = page.getByRole('table', { name: 'What the load has found' });
      const rows = await table.evaluate(({ tBodies: [body] }) =>
        [...body.rows].map((row) => [...row.cells].map((cell) => cell.innerText)),
      );
      assert.deepEqual(
        rows.map(([name]) => name),
        ['pg-conduit', 'pg'],
      );
      for (const [, ...figures] of rows) {
        const numbers = figures.map((text) => parseFloat(text.replaceAll(',', '')));
        assert.equal(numbers.length, 4);
        assert.ok(
          numbers.every((number) => number > 0),
          figures.join(),
        );
        assert.ok(numbers[3] <= MAX_CONNECTIONS, figures.join());
      }
      const [live, later] = [page, await (await browser.newContext()).newPage()];
      await later.goto(url);
      // Also for one who comes when it is over.
      for (const reader of [live, later]) {
        await reader.getByText(await headline.innerText()).waitFor();
        for (const color of ['--blue', '--rust']) {
          const points = await readLines(reader, '#comparison', color);
          assert.equal(points.length, 3);
          assert.ok(!points.includes(0), `${color}: ${points}`);
        }
      }
      await later.context().close();
      assert.deepEqual(noise, []);
    });

    it('draws the figures that it shows', async () => {
      const { page } = await open();
      await inUse(async () => {
        while ((await readLines(page)).includes(0)) await delay(50);
      });
      assert.equal((await readLines(page)).length, 7);
    });

    it('shows the figures of the moment under the pointer, and the current ones when it has left', async () => {
      const { page } = await open();
      await inUse(async () => {
        await loadedFigures(page);
        await page.getByRole('button', { name: 'Pause' }).click();
        const now = await readFigures(page);
        const plot = await page.locator('#queries .u-over').boundingBox();
        const pointAt = (part) =>
          page.mouse.move(plot.x + plot.width * part, plot.y + plot.height / 2);
        /** @type {string[]} */
        const moments = [];
        for (let part = 0.6; part < 0.99; part += 0.045) {
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
    });

    it('does not change while it is paused, and continues afterwards', async () => {
      const { page } = await open();
      await inUse(async () => {
        await loadedFigures(page);
        await page.getByRole('button', { name: 'Pause' }).click();
        assert.equal(await page.getByRole('status').first().innerText(), 'Paused');
        const paused = await readFigures(page);
        await delay(1200);
        assert.deepEqual(await readFigures(page), paused);
        await page.getByRole('button', { name: 'Pause' }).click();
        await figuresThat(page, ({ queries }) => queries[0] !== paused.queries[0]);
      });
    });
  });

  describe('for everybody', () => {
    it('does not scroll sideways at any width, and draws the plots at full width', async () => {
      await server.idle();
      const { page, noise } = await open({ viewport: { width: 360, height: 800 } });
      await page.getByText('The last minute as a table').click();
      await page.getByText('No load is running.').waitFor();
      const sidewards = () => page.evaluate(() => document.documentElement.scrollWidth);
      assert.equal(await sidewards(), 360);
      await inUse(async () => {
        await loadedFigures(page);
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
      }, '/updates?n=20');
      assert.deepEqual(noise, []);
    });

    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      it(`draws lines with enough contrast to the background, ${colorScheme}`, async () => {
        const { page } = await open({ colorScheme });
        const lines = ['--blue', '--teal', '--rust', '--violet', '--quiet'];
        const contrasts = await readContrasts(page, '--panel', lines);
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
        assert.deepEqual(await readViolations(page), []);
        await inUse(async () => {
          await loadedFigures(page);
          assert.deepEqual(await readViolations(page), []);
        });
      });
    }

    it('becomes dark when the reader prefers that', async () => {
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
      await inUse(async () => {
        await loadedFigures(page);
        await page.getByText('The last minute as a table').click();
      });
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
      assert.equal(newest.length, 9);
      assert.match(newest.slice(1).join(), /^[\d,.]+$/);
      assert.equal(new Set(rows.map(([time]) => time)).size, rows.length);
    });
  });

  describe('when a connection is lost', () => {
    it('says so if it was that to the server, and continues when the server is back', async () => {
      const { page, noise } = await open();
      const latencyLine = async () => (await readLines(page))[1];
      await inUse(async () => {
        while ((await latencyLine()) === 0) await delay(50);
      });
      assert.equal(await server.end(), 0, server.errors);
      await page.getByText('The server is away. Trying again.').waitFor();
      assert.deepEqual(await readViolations(page), []);
      assert.ok(await page.getByRole('button', { name: 'Run load' }).isDisabled());
      await figuresThat(page, ({ queries }) => Number.isNaN(queries[0]));

      server = start(new URL(url).port);
      assert.equal(await server.url(), url);
      await page.locator('#state[data-state=live]').waitFor();
      await figuresThat(page, ({ queries }) => queries[0] === 0);
      // This server knows of no load.
      assert.ok((await latencyLine()) > 0);
      await inUse(() => loadedFigures(page));
      // The browser tells of each attempt that found nobody.
      assert.deepEqual(
        noise.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED/.test(text)),
        [],
      );
    });

    it('is up to date after its tab was asleep', async () => {
      const { page, noise } = await open();
      const session = await page.context().newCDPSession(page);
      await session.send('Page.setWebLifecycleState', { state: 'frozen' });
      await delay(5000);
      await session.send('Page.setWebLifecycleState', { state: 'active' });
      await page.locator('#state[data-state=live]').waitFor();
      await inUse(() => loadedFigures(page));
      assert.deepEqual(noise, []);
    });
  });
});
