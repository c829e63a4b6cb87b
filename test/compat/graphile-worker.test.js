'use strict';

// Graphile Worker, a queue of jobs that is told of new ones by LISTEN.

const assert = require('node:assert/strict');
const { Logger, run } = require('graphile-worker');
const { MANY, NUMBERS, atOnce, useTool } = require('./support/tool');

describe('graphile-worker', () => {
  const tool = useTool('graphile-worker');

  it('runs many jobs, each once', async () => {
    const seen = [];
    let whenDone;
    const done = new Promise((resolve) => {
      whenDone = resolve;
    });
    const runner = await run({
      connectionString: tool.url,
      concurrency: 5,
      noHandleSignals: true,
      // So that it is LISTEN that tells of them.
      pollInterval: 60_000,
      logger: new Logger(() => () => {}),
      taskList: {
        number: async ({ i }, { query }) => {
          const { rows } = await query('select $1::int as i', [i]);
          seen.push(rows[0].i);
          if (seen.length === MANY + 1) whenDone();
        },
      },
    });
    await runner.addJob('number', { i: MANY });
    await atOnce((i) => runner.addJob('number', { i }));
    await done;
    await runner.stop();
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      [...NUMBERS, MANY],
    );
  });
});
