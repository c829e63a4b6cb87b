'use strict';

// The page that `npm run bench:report` makes, opened in a browser as a reader would, from a file. Run by
// mocha.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { pathToFileURL } = require('node:url');
const { installOnce } = require('../../scripts/install-once');
const { launchBrowser } = require('../support/browser');
const { FIGURES, HOSTILE } = require('../support/fixtures/bench-figures');

const ROOT = path.join(__dirname, '..', '..');
const MAKE = path.join(ROOT, 'bench', 'page', 'make.js');

installOnce(path.join(ROOT, 'bench'));

describe('npm run bench:report', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;
  /** @type {import('../../tools/browser/node_modules/playwright-core').Browser} */
  let browser;
  /** @type {import('../../tools/browser/node_modules/playwright-core').BrowserContext | undefined} */
  let context;

  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-report-test-'));
    writeFigures('figures.json', FIGURES);
    const { code, stderr } = await make(['figures.json', '--output', 'page.html']);
    assert.equal(code, 0, stderr);
    browser = await launchBrowser();
  });

  after(async () => {
    await browser?.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  afterEach(async () => {
    await context?.close();
    context = undefined;
  });

  /** @param {string} name @param {unknown} figures */
  function writeFigures(name, figures) {
    fs.writeFileSync(path.join(folder, name), JSON.stringify(figures));
  }

  /** @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
  function make(args, script = MAKE) {
    return new Promise((resolve) => {
      execFile(process.execPath, [script, ...args], { cwd: folder }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      });
    });
  }

  /**
   * @param {import('../../tools/browser/node_modules/playwright-core').BrowserContextOptions} [options]
   * @param {string} [name]
   */
  async function open(options, name = 'page.html') {
    const url = pathToFileURL(path.join(folder, name)).href;
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    /** Whatever it asks for beside itself, and whatever it complains about. */
    const noise = [];
    page.on('request', (request) => {
      if (request.url() !== url) noise.push(request.url().slice(0, 200));
    });
    page.on('console', (message) => noise.push(message.text()));
    page.on('pageerror', (error) => noise.push(error.stack));
    await page.goto(url);
    await page.waitForFunction(() =>
      [...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg')),
    );
    return { page, noise };
  }

  /** The table that follows a heading or a line of text, as lists of texts. */
  function readTable(page, caption) {
    return page
      .getByRole('table', { name: caption, exact: true })
      .evaluate((table) =>
        [...table.rows].map((row) =>
          [...row.cells].map((cell) => cell.textContent.replaceAll(/\s+/g, ' ').trim()),
        ),
      );
  }

  it('makes one file that loads nothing else and logs no errors', async () => {
    const { noise } = await open();
    assert.deepEqual(noise, []);
    const html = fs.readFileSync(path.join(folder, 'page.html'), 'utf8');
    assert.ok(html.length < 1_000_000, `${html.length} characters`);
    assert.doesNotMatch(html, /<(?:script|img|link|iframe)[^>]*(?:src|href)="(?!data:)/);
  });

  it('says what was measured, where, and how to repeat it', async () => {
    const { page } = await open();
    const text = await page.locator('body').innerText();
    for (const words of [
      'Benchmarks of pg-conduit',
      'pg-conduit 1.2.3, 2026-01-02',
      '2 x A Processor',
      '8.00 GiB',
      'v20.20.2',
      '17.2, over a unix socket',
      '3 rounds of 1000 ms, 321 s in all',
      'npm run bench -- --rounds 3',
      'npm run bench:report',
    ]) {
      assert.ok(text.includes(words), words);
    }
    assert.ok(!text.includes('A quick run'));
    const drivers = await readTable(page, 'Drivers, their versions and settings');
    assert.deepEqual(drivers[1], ['pg-conduit', '1.2.3', 'defaults: Client or Pool']);
    assert.equal(drivers.length, 1 + FIGURES.drivers.length);
    assert.equal(drivers[3][1], `not available: ${FIGURES.drivers[2].error}`);
  });

  it('says in how many cases pg-conduit is the best of the JavaScript drivers', async () => {
    const { page } = await open();
    assert.deepEqual(await page.locator('ul.claims li').allInnerTexts(), [
      'the least client CPU in 2 of 3 cases',
      'the highest throughput in 2 of 3 cases',
      'the lowest p99 in 2 of 2 cases',
    ]);
  });

  it('says how many times better it is for each case, without colouring the limits', async () => {
    const { page } = await open();
    const caption = 'Client CPU: how many times better pg-conduit is';
    const [head, ...rows] = await readTable(page, caption);
    assert.deepEqual(head.slice(0, 7), [
      'case',
      'pg',
      'pg-native-pipeline',
      'postgres',
      'tokio-postgres',
      'pgbench',
      'c-limit',
    ]);
    assert.deepEqual(rows[0].slice(0, 7), [
      'W1 16 in flight',
      '8.54×',
      '0.90×',
      '3.52×',
      '0.70×',
      '1.50×',
      '0.36×',
    ]);
    assert.deepEqual(rows[1].slice(0, 3), ['W1 1000 in flight', '8.88×', 'failed']);
    const kinds = await page
      .getByRole('table', { name: caption })
      .evaluate((table) => [...table.rows[1].cells].map((cell) => cell.className));
    assert.deepEqual(kinds.slice(1, 7), ['better', 'worse', 'better', 'worse', '', '']);
  });

  it('has a table with the figures, the ranges and the ratios of each case', async () => {
    const { page } = await open();
    const rows = await readTable(page, '16 in flight: median (min–max) of the rounds');
    assert.deepEqual(rows.slice(0, 3), [
      [
        'driver',
        'Client CPU, µs per query',
        'Client CPU, ratio',
        'Throughput, queries per second',
        'Throughput, ratio',
      ],
      ['pg-conduit', '8.00 (7.36–9.20)', '', '90,000 (82,800–103,500)', ''],
      ['pg', '68.3 (62.8–78.5)', '8.54×', '12,619 (11,609–14,512)', '7.13×'],
    ]);
    assert.equal(rows.at(-1)[0], 'c-limit limit');
    assert.equal(rows.at(-3)[0], 'tokio-postgres anchor');
    const latencies = await readTable(page, '200 arrivals/s: median (min–max) of the rounds');
    assert.deepEqual(latencies, [
      ['driver', 'Latency p50, ms', 'Latency p99, ms', 'Latency p99, ratio'],
      ['pg-conduit', '0.083 (0.076–0.095)', '3.10 (2.85–3.56)', ''],
      ['pg', '0.239 (0.220–0.275)', '45.0 (41.4–51.7)', '14.5×'],
    ]);
  });

  it('says what part of the throughput without a database each driver reaches', async () => {
    const { page } = await open();
    const [head, ...rows] = await readTable(page, 'GET /db: median (min–max) of the rounds');
    assert.equal(head.at(-1), 'Throughput, of no-database');
    assert.deepEqual(
      rows.map((cells) => [cells[0], cells.at(-1)]),
      [
        ['pg-conduit', '50 %'],
        ['pg', '19 %'],
        ['postgres', '35 %'],
      ],
    );
  });

  it('names the network of a run in its title, if it is not the usual one', async () => {
    const machine = { ...FIGURES.machine, connection: 'TCP with TLS, 1 ms away' };
    const network = { tcp: true, tls: true, latencyMillis: 1 };
    writeFigures('away.json', { ...FIGURES, machine, network });
    const { code, stderr } = await make(['away.json', '--output', 'away.html']);
    assert.equal(code, 0, stderr);
    const { page } = await open({}, 'away.html');
    const title = await page.locator('#run-1-title').innerText();
    assert.equal(title, 'pg-conduit 1.2.3, 2026-01-02, over TCP with TLS, 1 ms away');
  });

  it('has a table for each line chart, by the growing parameter and by driver', async () => {
    const { page } = await open();
    const rows = await readTable(page, 'Memory, MiB: median (min–max), ratio');
    assert.deepEqual(rows[0], [
      'idle connections',
      'pg-conduit',
      'pg',
      'postgres',
      'tokio-postgres',
      'c-limit',
    ]);
    assert.deepEqual(
      rows.slice(1).map(([x]) => x),
      ['1', '10', '100', '1,000', '10,000'],
    );
    assert.equal(rows[1][2], '0.668 (0.614–0.768); 3.50×');
  });

  it('has a table for each group of cases, and one of the gains', async () => {
    const { page } = await open();
    assert.deepEqual(
      await readTable(page, 'Throughput, operations per second: median (min–max), ratio'),
      [
        ['case', 'pg-conduit', 'pg'],
        ['kysely', '20,000 (18,400–23,000)', '2,000 (1,840–2,300); 10.0×'],
        ['knex', '900 (828–1,035)', '1,000 (920–1,150); 0.90×'],
      ],
    );
    const caption = 'W8: through the tools. Throughput: how many times better than pg';
    assert.deepEqual(await readTable(page, caption), [
      ['case', 'selects'],
      ['kysely', '10.0×'],
      ['knex', '0.90×'],
    ]);
  });

  it('draws plots for every workload, with a name and units on the axes', async () => {
    const { page } = await open();
    const plots = await page.evaluate(() =>
      [...document.querySelectorAll('.plot')].map((plot) => {
        const svg = plot.querySelector(':scope > svg');
        const { width, height } = svg.getBoundingClientRect();
        return {
          workload: plot.closest('section').id,
          role: svg.getAttribute('role'),
          name: document.getElementById(svg.getAttribute('aria-labelledby')).textContent,
          marks: svg.querySelectorAll('[aria-label=bar] rect, [aria-label=dot] > *').length,
          text: [...svg.querySelectorAll('text')].map((one) => one.textContent).join('|'),
          isVisible: width > 200 && height > 60,
        };
      }),
    );
    const names = (id) => plots.filter(({ workload }) => workload === id).map(({ name }) => name);
    assert.deepEqual(names('run-1-w1'), [
      'Client CPU (less is better)',
      'Throughput (more is better)',
      'Client CPU (less is better)',
      'Throughput (more is better)',
    ]);
    assert.deepEqual(names('run-1-w5'), [
      'Client CPU (less is better)',
      'Throughput (more is better)',
      'Longest stall of the event loop (less is better)',
      'Latency, p50 (ring) to p99 (diamond) (less is better)',
    ]);
    // Where the throughput is given, CPU and throughput say little.
    assert.deepEqual(names('run-1-w6'), ['Latency, p50 (ring) to p99 (diamond) (less is better)']);
    assert.deepEqual(names('run-1-w7'), [
      'Client CPU (less is better)',
      'Longest stall of the event loop (less is better)',
      'Memory (less is better)',
    ]);
    assert.deepEqual(names('run-1-w8'), [
      'Throughput (more is better)',
      'Connections at the server (less is better)',
    ]);
    for (const { workload, name, role, marks, isVisible, text } of plots) {
      assert.equal(role, 'img');
      assert.ok(isVisible && marks >= 2, `${workload} ${name}: ${marks} marks`);
      assert.match(text, /µs|ms|per second|MiB|connections/, `${workload} ${name}`);
    }
    assert.match(plots[0].text, /c-limit \(limit\)/);
    assert.match(
      plots.findLast(({ workload }) => workload === 'run-1-w7').text,
      /idle connections/,
    );
    assert.match(plots.at(-1).text, /kysely, pg-conduit.*kysely, pg.*knex, pg-conduit/);
  });

  it('draws a line for each driver over a logarithmic axis', async () => {
    const { page } = await open();
    const figure = page.locator('#run-1-w7 .plot').first();
    assert.equal(await figure.locator('[aria-label=line] path').count(), 5);
    assert.match(
      await figure.innerText(),
      /^pg-conduit\s*pg\s*postgres\s*tokio-postgres \(anchor\)\s*c-limit \(limit\)/,
    );
    const places = await figure
      .locator('> svg [aria-label="x-axis tick label"] text')
      .evaluateAll((texts) =>
        texts.map((text) => text.getBoundingClientRect()).map(({ x, width }) => x + width / 2),
      );
    assert.equal(places.length, 5);
    const steps = places.slice(1).map((place, index) => place - places[index]);
    for (const step of steps) assert.ok(Math.abs(step - steps[0]) < 3, steps.join());
  });

  it('draws pg-conduit in one colour in all plots, which no other driver has', async () => {
    const { page } = await open();
    const colors = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement('p'));
      probe.style.color = 'var(--ours)';
      const ours = getComputedStyle(probe).color;
      const inPlot = [...document.querySelectorAll('.plot > svg')].map(
        (svg) =>
          [...svg.querySelectorAll('[aria-label=bar] rect, [aria-label=dot] > *')].filter((mark) =>
            [getComputedStyle(mark).fill, getComputedStyle(mark).stroke].includes(ours),
          ).length,
      );
      return inPlot;
    });
    // Bars: one; p50 and p99: two; lines: one for each of five points; a group: one for each of two cases.
    assert.deepEqual(colors, [1, 1, 1, 1, 1, 1, 1, 2, 2, 5, 5, 5, 2, 2]);
  });

  it('names failed cases at the top, in the plot and in the table', async () => {
    const { page } = await open();
    const { error } = FIGURES.results.find((result) => result.error);
    const notice = await page.locator('.notice').innerText();
    assert.ok(notice.includes(`pg-native-pipeline, W1 1000 in flight: ${error}`), notice);
    const rows = await readTable(page, '1000 in flight: median (min–max) of the rounds');
    assert.deepEqual(
      rows.find(([driver]) => driver === 'pg-native-pipeline'),
      ['pg-native-pipeline', `failed: ${error}`],
    );
    assert.equal(await page.locator('.plot text', { hasText: /^failed$/ }).count(), 2);
  });

  it('escapes texts of the figures', async () => {
    const { page, noise } = await open();
    assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
    assert.equal(await page.locator('img, b').count(), 0);
    assert.ok((await page.locator('body').innerText()).includes(HOSTILE));
    assert.deepEqual(noise, []);
    // The second line of defence: scripts that are not the page's do not run.
    await page.evaluate((html) => document.body.insertAdjacentHTML('beforeend', html), HOSTILE);
    await delay(200);
    assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
  });

  for (const width of [360, 800, 1600]) {
    it(`does not scroll sideways when it is ${width} pixels wide`, async () => {
      const { page, noise } = await open({ viewport: { width, height: 800 } });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.equal(wide, width);
      const plot = await page.locator('.plot svg').first().boundingBox();
      assert.ok(plot.x >= 0 && plot.x + plot.width <= width);
      assert.deepEqual(noise, []);
    });
  }

  it('redraws the plots when its width changes', async () => {
    const { page, noise } = await open();
    await page.setViewportSize({ width: 400, height: 800 });
    await page.waitForFunction(() =>
      [...document.querySelectorAll('.plot > svg')].every(
        (svg) => Number(svg.getAttribute('width')) < 400,
      ),
    );
    assert.deepEqual(noise, []);
  });

  it('is dark when the reader prefers that, and white on paper', async () => {
    const { page } = await open({ colorScheme: 'dark' });
    /** @returns {Promise<number[]>} from 0, black, to 255, white */
    const readBrightness = () =>
      page.evaluate(() => {
        const { backgroundColor, color } = getComputedStyle(document.body);
        const { fill } = getComputedStyle(document.querySelector('.plot svg text'));
        return [backgroundColor, color, fill].map((text) => {
          const [red, green, blue] = text.match(/[\d.]+/g).map(Number);
          return (red + green + blue) / 3;
        });
      });
    const [ground, text, label] = await readBrightness();
    assert.ok(ground < 50 && text > 200 && label > 200, [ground, text, label].join());
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const [paper, ink, print] = await readBrightness();
    assert.ok(paper > 250 && ink < 80 && print < 80, [paper, ink, print].join());
  });

  it('can be used with the keyboard and by its headings', async () => {
    const { page } = await open({ viewport: { width: 360, height: 800 } });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.match(page.url(), /#run-1$/);
    const levels = await page
      .locator('h1, h2, h3, h4')
      .evaluateAll((headings) => headings.map(({ localName }) => Number(localName[1])));
    assert.equal(levels.filter((level) => level === 1).length, 1);
    for (const [index, level] of levels.entries()) {
      assert.ok(level <= (levels[index - 1] ?? 0) + 1, levels.join());
    }
    const regions = page.getByRole('region', { name: '16 in flight: median' });
    await regions.focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.activeElement.scrollLeft > 0);
  });

  it('puts several runs on one page', async () => {
    const quick = { ...FIGURES, machine: { ...FIGURES.machine, quick: true }, results: [] };
    writeFigures('quick.json', quick);
    const { code, stderr } = await make(['figures.json', 'quick.json', '--output', 'two.html']);
    assert.equal(code, 0, stderr);
    const { page, noise } = await open({}, 'two.html');
    assert.equal(await page.locator('main > section').count(), 2);
    const second = await page.locator('#run-2').innerText();
    assert.match(second, /A quick run/);
    assert.match(second, /There is nothing to compare/);
    const ids = await page.locator('[id]').evaluateAll((all) => all.map(({ id }) => id));
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(noise, []);
  });

  it('reads the last run when no file is named, and says what to do when there is none', async () => {
    const bench = path.join(folder, 'bench');
    const made = path.join(bench, 'page', 'make.js');
    fs.cpSync(path.join(ROOT, 'bench', 'page'), path.join(bench, 'page'), { recursive: true });
    fs.copyFileSync(path.join(ROOT, 'bench', 'figures.js'), path.join(bench, 'figures.js'));
    const modules = path.join('bench', 'node_modules');
    fs.symlinkSync(path.join(ROOT, modules), path.join(folder, modules), 'junction');

    const without = await make([], made);
    assert.equal(without.code, 1);
    assert.match(without.stderr, /^No figures of a run: .*Run "npm run bench" first/);

    fs.mkdirSync(path.join(bench, 'results'));
    writeFigures(path.join('bench', 'results', 'latest.json'), FIGURES);
    const { code, stdout } = await make([], made);
    assert.equal(code, 0);
    assert.equal(stdout.trim(), path.join(fs.realpathSync(bench), 'results', 'report.html'));
    assert.ok(fs.existsSync(stdout.trim()));
  });

  it('names a file that it cannot use', async () => {
    fs.writeFileSync(path.join(folder, 'broken.json'), '{');
    writeFigures('other.json', { results: [] });
    for (const [file, reason] of [
      ['missing.json', 'there is no such file'],
      ['broken.json', 'JSON'],
      ['other.json', 'run it again'],
    ]) {
      const { code, stderr } = await make([file]);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`${file}.*${reason}`));
    }
  });

  it('explains its options when it gets an unknown one', async () => {
    const { code, stderr } = await make(['--ouput', 'page.html']);
    assert.equal(code, 2);
    assert.match(stderr, /--ouput[^]*--output FILE/);
  });
});
