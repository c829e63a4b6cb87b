'use strict';

// The live page of `npm start`, in a browser, while autocannon loads the server, and what answers it under
// /live/. The command itself is in start.test.js. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
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

  /** The load of the test before, if any, has ended. */
  async function idle() {
    const { load } = await readHello();
    if (load.running) await delay(load.running.leftMillis + 100);
    if (load.running) await idle();
  }

  /** The first event of a stream, which is left then. */
  async function readHello() {
    const leave = new AbortController();
    const response = await fetch(`${url}/live/events`, { signal: leave.signal });
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const [, data] = text.match(/^event: hello\ndata: (.*)\n\n/m) ?? [];
      if (data) {
        leave.abort();
        return JSON.parse(data);
      }
    }
    throw new Error(`no greeting: ${text}`);
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

  const sidewards = (page) => page.evaluate(() => document.documentElement.scrollWidth);

  describe('under load', () => {
    it('shows figures that move and can be true, and rests when the load ends', async () => {
      await idle();
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
      const [first] = (await figuresThat(page, ({ latency }) => latency[0] > 0)).queries;
      await page.getByText('Nothing loads the server.').waitFor();
      await figuresThat(page, ({ queries }) => queries[0] === 0);
      assert.ok(first > 0);
      await page.getByRole('button', { name: 'Pause' }).click();
      // The plot is right of its axis; a second is less than a tenth of that.
      const box = await page.locator('#queries .u-over').boundingBox();
      let most = 0;
      for (let part = 0.5; part <= 1; part += 0.01) {
        await page.mouse.move(box.x + box.width * part, box.y + box.height / 2);
        const { queries } = await readFigures(page);
        if (queries[0] > most) {
          most = queries[0];
          assert.match(await page.locator('#moment').innerText(), /^\d+\.\d s ago$/);
        }
      }
      assert.ok(most > 0);
      await page.mouse.move(box.x, box.y - 200);
      await figuresThat(page, ({ queries }) => queries[0] === 0);
      assert.equal(await page.locator('#moment').innerText(), '');
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
    for (const width of [360, 800, 1600]) {
      it(`does not scroll sideways when it is ${width} pixels wide`, async () => {
        const { page, noise } = await open({ viewport: { width, height: 800 } });
        await page.getByText('The last minute as a table').click();
        assert.equal(await sidewards(page), width);
        await runLoad(page, '/updates?n=20');
        await figuresThat(page, ({ latency }) => latency[0] > 0);
        assert.equal(await sidewards(page), width);
        for (const chart of await page.locator('.chart canvas').all()) {
          const box = await chart.boundingBox();
          assert.ok(box.x >= 0 && box.width > 200 && box.x + box.width <= width);
        }
        assert.deepEqual(noise, []);
      });
    }

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
        await idle();
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

  describe('over HTTP', () => {
    /** @param {string} where @param {http.RequestOptions} [options] */
    function ask(where, options) {
      return new Promise((resolve, reject) => {
        const request = http.request(url + where, { agent: false, ...options }, (response) => {
          response.resume();
          response.on('end', () => resolve(response));
        });
        request.on('error', reject);
        request.end();
      });
    }

    const press = async (headers, where = '/live/load?route=/db') =>
      (await ask(where, { method: 'POST', headers })).statusCode;

    it('lets the browser ask nobody else, and run nothing but its own files', async () => {
      const { headers } = await ask('/');
      const policy = headers['content-security-policy'];
      for (const part of policy.split('; ')) {
        assert.match(part, /^(?:default-src 'none'|\w+-src 'self'|[\w-]+ 'none')$/);
      }
      assert.equal(headers['x-content-type-options'], 'nosniff');
    });

    it('serves the files of the page, and no others', async () => {
      for (const where of ['/', '/live/live.mjs', '/live/uplot.js', '/live/uplot.css']) {
        assert.equal((await ask(where)).statusCode, 200, where);
      }
      for (const where of [
        '/live/',
        '/live/constructor',
        '/live/..%2fstart.js',
        '/live/%2e%2e/start.js',
        '/start.js',
      ]) {
        assert.equal((await ask(where)).statusCode, 404, where);
      }
      assert.equal((await ask('/', { method: 'POST' })).statusCode, 405);
      assert.equal((await ask('/live/load')).statusCode, 405);
    });

    it('begins a load for nobody but its own page on this machine', async () => {
      await idle();
      const { port } = new URL(url);
      for (const headers of [
        {},
        { origin: 'http://example.com' },
        { origin: 'null' },
        { origin: `http://127.0.0.1:${Number(port) + 1}` },
        { host: 'example.com', origin: 'http://example.com' },
        { host: `example.com:${port}`, origin: `http://example.com:${port}` },
      ]) {
        assert.equal(await press(headers), 403, JSON.stringify(headers));
      }
      for (const route of ['', '/live/events', 'http://example.com/', '/db?']) {
        const where = `/live/load?route=${encodeURIComponent(route)}`;
        assert.equal(await press({ origin: url }, where), 400, route);
      }
      const { load } = await readHello();
      assert.equal(load.running, undefined);
    });

    it('begins one load at a time', async () => {
      await idle();
      const headers = { origin: url };
      assert.equal(await press(headers), 202);
      assert.equal(await press(headers), 409);
      const { load } = await readHello();
      assert.equal(load.running.seconds, LOAD_SECONDS);
      assert.ok(load.running.leftMillis <= LOAD_SECONDS * 1000);
    });

    it('bounds the load of the button, whatever the options are', async () => {
      const { button } = await readHello();
      assert.equal(button.seconds, LOAD_SECONDS);
      const other = new ExampleServer(
        folder,
        ...['--no-load', '--port', '0', '--seconds', '9999', '--connections', '9999'],
      );
      try {
        const where = await other.url();
        const own = url;
        url = where;
        const greeting = await readHello().finally(() => (url = own));
        assert.deepEqual(greeting.button, { seconds: 60, connections: 256 });
        assert.equal(await other.end(), 0);
      } finally {
        other.kill();
      }
    });
  });
});
