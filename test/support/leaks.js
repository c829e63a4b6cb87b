'use strict';

// Tests that nothing leaks in many repetitions, for the short form in test/client/leaks.test.js and
// the long one in long/leaks.test.js. Linux only: they count in /proc.

const assert = require('node:assert/strict');
const { resetSchema } = require('./connect');
const { Observer, applicationName, runFixture, until } = require('./outside');

const MB = 1 << 20;

/** Enough for the slowest of the long ones, on a slow machine. */
const PATIENCE_MILLIS = 30 * 60_000;

/**
 * How much more the process may hold after the last samples than after those in the middle. RSS moves
 * by some MB with the collector's and malloc's habits, whatever is done; the heap by less. A block of
 * malloc has 32 bytes, so that one lost with each of the last 600,000 of a million queries is 19 MB, and
 * a lost connection, of which libpq's two buffers alone have 32 KB, is found among 300 of them.
 */
const BOUNDS = { rss: 8 * MB, heap: MB };

/** The isolates of 600 threads come and go in between: malloc has an arena for each of some threads. */
const WORKER_BOUNDS = { rss: 24 * MB, heap: MB };

/** @param {any[]} samples @param {'rss' | 'heap'} key */
function median(samples, key) {
  const values = samples.map((sample) => sample[key]).sort((a, b) => a - b);
  return values[values.length >> 1];
}

/** @param {Record<'queries' | 'connections' | 'pools' | 'workers' | 'abandoned' | 'forgotten', number>} counts */
function describeLeaks(counts) {
  describe('memory, handles and descriptors do not leak', function () {
    this.timeout(PATIENCE_MILLIS);

    /** @type {Observer} */
    let observer;
    before(async () => {
      await resetSchema();
      observer = await Observer.open();
    });
    after(() => observer.close());

    for (const [scenario, what, bounds] of /** @type {const} */ ([
      ['queries', 'queries that succeed, fail, are refused and are aborted', BOUNDS],
      ['connections', 'connections, some of them closed with a query in flight', BOUNDS],
      ['pools', 'pools', BOUNDS],
      ['workers', 'worker threads terminated with queries in flight', WORKER_BOUNDS],
      ['abandoned', 'streams, cursors and COPYs abandoned in the middle', BOUNDS],
      ['forgotten', 'clients closed by the server only, without end()', BOUNDS],
    ])) {
      const count = counts[scenario];
      it(`with ${count.toLocaleString('en')} ${what}`, async () => {
        const name = applicationName();
        const { code, signal, stdout, stderr } = await runFixture('leaks.js', {
          args: [scenario, String(count), name],
          // With a young generation that does not grow meanwhile.
          nodeArgs: ['--expose-gc', '--max-semi-space-size=2'],
          patienceMillis: PATIENCE_MILLIS,
        });
        assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
        await until('no backend is left', async () => !(await observer.backends(name)).length);
        const samples = JSON.parse(stdout);
        const [first] = samples;
        const last = samples.at(-1);
        for (const key of ['descriptors', 'handles']) {
          assert.ok(last[key] <= first[key], `${key}: ${samples.map((sample) => sample[key])}`);
        }
        for (const key of /** @type {const} */ (['rss', 'heap'])) {
          const growth = median(samples.slice(-3), key) - median(samples.slice(3, 6), key);
          const megabytes = samples.map((sample) => (sample[key] / MB).toFixed(1));
          assert.ok(growth <= bounds[key], `${key} in MB: ${megabytes}`);
        }
      });
    }
  });
}

module.exports = { describeLeaks };
