'use strict';

// How many system calls queries cost, counted by count-syscalls.c, a library that is loaded before libc.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { binding } = require('../../lib/native');
const { runFixture } = require('../support/outside');

/** A question of the driver's own: which process the connection leads to. */
const OWN = binding.omitsDescribe ? 1 : 0;

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

    it('are counted correctly: pg writes and reads once for each query that runs alone', async () => {
      const { writes, reads } = await count({ driver: 'pg', queries: 500, concurrency: 1 });
      assert.ok(writes >= 500 && writes < 600, `${writes} writes`);
      assert.ok(reads >= 500, `${reads} reads`);
    });

    it('are far fewer than the queries if many are sent in a tick, even with a Sync for each', async () => {
      const queries = 5000;
      const counts = await count({ queries, concurrency: 100, given: { syncGroup: 'off' } });
      const { writes, reads, syncs, flushes, bytesWritten } = counts;
      assert.equal(syncs, queries + OWN);
      assert.ok(writes > 0 && writes < 0.05 * queries, `${writes} writes`);
      assert.ok(reads > 0 && reads < queries, `${reads} reads`);
      // Nothing is written behind the back of the counters.
      assert.ok(writes <= flushes + 0.05 * queries, `${writes} writes, ${flushes} flushes`);
      // Bind, Execute and Sync at the least.
      assert.ok(bytesWritten > 30 * queries, `${bytesWritten} bytes`);
    });

    it('are even fewer if queries share Syncs', async () => {
      const queries = 5000;
      const counts = await count({ queries, concurrency: 100 });
      const { writes, reads, syncs, flushes, bytesWritten } = counts;
      assert.ok(syncs >= queries / 32 && syncs < 0.3 * queries, `${syncs} Syncs`);
      assert.ok(writes > 0 && writes <= flushes + 0.05 * queries, `${writes} writes`);
      assert.ok(reads > 0 && reads < 0.5 * queries, `${reads} reads`);
      // Bind and Execute at the least.
      assert.ok(bytesWritten > 25 * queries, `${bytesWritten} bytes`);
    });

    it('are one write for a query that runs alone', async () => {
      const queries = 500;
      const { writes, syncs } = await count({ queries, concurrency: 1 });
      assert.equal(syncs, queries + OWN);
      assert.ok(writes >= queries && writes <= 1.1 * queries, `${writes} writes`);
    });
  });
}
