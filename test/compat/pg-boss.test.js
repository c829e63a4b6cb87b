'use strict';

// pg-boss, a queue of jobs.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const PgBoss = require('pg-boss');
const { MANY, NUMBERS, atOnce, useTool } = require('./support/tool');

describe('pg-boss', () => {
  const tool = useTool('pg-boss');
  let boss;
  const errors = [];

  before(async () => {
    boss = new PgBoss({ connectionString: tool.url, max: 5 });
    boss.on('error', (error) => errors.push(error));
    await boss.start();
    await boss.createQueue('mail');
  });

  tool.close(async () => {
    const stopped = once(boss, 'stopped');
    await boss.stop({ graceful: true, timeout: 5000 });
    await stopped;
    assert.deepEqual(errors, []);
  });

  it('sends, fetches and completes', async () => {
    const id = await boss.send('mail', { to: 'a@b.c' });
    const [job] = await boss.fetch('mail');
    assert.deepEqual([job.id, job.data], [id, { to: 'a@b.c' }]);
    await boss.complete('mail', id);
    assert.equal((await boss.getJobById('mail', id)).state, 'completed');
  });

  it('works off many, each once', async () => {
    await atOnce((i) => boss.send('mail', { i }));
    const seen = [];
    await new Promise((resolve) => {
      boss.work('mail', { batchSize: 50, pollingIntervalSeconds: 0.5 }, async (jobs) => {
        seen.push(...jobs.map(({ data }) => data.i));
        if (seen.length >= MANY) resolve();
      });
    });
    await boss.offWork('mail');
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      NUMBERS,
    );
  });
});
