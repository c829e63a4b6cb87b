'use strict';

// How many system calls queries cost, counted before libc by count-syscalls.c.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { runFixture } = require('../support/outside');

if (process.platform === 'linux') {
  describe('system calls', function () {
    this.timeout(60000);

    let folder = '';

    before(() => {
      folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-syscalls-'));
      execFileSync(process.env.CC || 'cc', [
        ...['-shared', '-fPIC', '-O2', '-o', path.join(folder, 'count.so')],
        ...[path.join(__dirname, 'count-syscalls.c'), '-ldl'],
      ]);
    });
    after(() => fs.rmSync(folder, { recursive: true, force: true }));

    let runs = 0;

    /**
     * @param {{ driver?: string, queries: number, concurrency: number, given?: object }} options
     * @returns {Promise<Record<string, any>>} counts between the first and the last query
     */
    async function count({ driver = 'pg-conduit', queries, concurrency, given = {} }) {
      const ended = await runFixture('load.js', {
        args: [driver, String(queries), String(concurrency), JSON.stringify(given)],
        env: {
          LD_PRELOAD: [path.join(folder, 'count.so'), process.env.LD_PRELOAD]
            .filter(Boolean)
            .join(' '),
          CONDUIT_SYSCALLS_FILE: path.join(folder, `counts-${++runs}`),
        },
      });
      assert.equal(ended.code, 0, ended.stderr);
      return JSON.parse(ended.stdout);
    }

    it('are counted right: pg, a query at a time, writes and reads once for each', async () => {
      const { writes, reads } = await count({ driver: 'pg', queries: 500, concurrency: 1 });
      assert.ok(writes >= 500 && writes < 600, `${writes} writes`);
      assert.ok(reads >= 500, `${reads} reads`);
    });

    it('are far fewer than queries, where many come in a tick, even if each has a Sync', async () => {
      const queries = 5000;
      const counts = await count({ queries, concurrency: 100, given: { syncGroup: 'off' } });
      const { writes, reads, syncs, flushes, bytesWritten } = counts;
      assert.equal(syncs, queries);
      assert.ok(writes > 0 && writes < 0.05 * queries, `${writes} writes`);
      assert.ok(reads > 0 && reads < queries, `${reads} reads`);
      // Nothing is written behind the back of the counters.
      assert.ok(writes <= flushes + 0.05 * queries, `${writes} writes, ${flushes} flushes`);
      // Bind, Execute and Sync at the least.
      assert.ok(bytesWritten > 30 * queries, `${bytesWritten} bytes`);
    });

    it('are fewer still where they share Syncs', async () => {
      const queries = 5000;
      const counts = await count({ queries, concurrency: 100 });
      const { writes, reads, syncs, flushes, bytesWritten } = counts;
      assert.ok(syncs >= queries / 32 && syncs < 0.3 * queries, `${syncs} Syncs`);
      assert.ok(writes > 0 && writes <= flushes + 0.05 * queries, `${writes} writes`);
      assert.ok(reads > 0 && reads < 0.5 * queries, `${reads} reads`);
      // Bind and Execute at the least.
      assert.ok(bytesWritten > 25 * queries, `${bytesWritten} bytes`);
    });

    it('are one write for a query that is alone', async () => {
      const queries = 500;
      const { writes, syncs } = await count({ queries, concurrency: 1 });
      assert.equal(syncs, queries);
      assert.ok(writes >= queries && writes <= 1.1 * queries, `${writes} writes`);
    });
  });
}
