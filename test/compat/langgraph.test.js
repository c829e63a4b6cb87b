'use strict';

// The checkpoints of LangGraph: bytes and JSON, written in transactions.

const assert = require('node:assert/strict');
const { emptyCheckpoint } = require('@langchain/langgraph-checkpoint');
const { PostgresSaver } = require('@langchain/langgraph-checkpoint-postgres');
const { MANY, atOnce, collect, useTool } = require('./support/tool');

describe('@langchain/langgraph-checkpoint-postgres', () => {
  const tool = useTool('@langchain/langgraph-checkpoint-postgres');
  let saver;

  before(async () => {
    saver = PostgresSaver.fromConnString(tool.url);
    await saver.setup();
    await saver.setup();
  });

  tool.close(() => saver.end());

  /** @param {string} thread @param {string} id */
  const put = (thread, id, value = 'a value') =>
    saver.put(
      { configurable: { thread_id: thread, checkpoint_ns: '' } },
      {
        ...emptyCheckpoint(),
        id,
        channel_values: { said: value },
        channel_versions: { said: 1 },
      },
      { source: 'loop', step: 1, parents: {} },
      { said: 1 },
    );

  it('keeps checkpoints and what was written after them', async () => {
    const config = await put('one', '0001');
    await saver.putWrites(config, [['said', { bytes: new Uint8Array([0, 255]) }]], 'task');
    const tuple = await saver.getTuple(config);
    assert.deepEqual(tuple.checkpoint.channel_values, { said: 'a value' });
    assert.equal(tuple.metadata.step, 1);
    const [[task, channel, { bytes }]] = tuple.pendingWrites;
    assert.deepEqual([task, channel, ...bytes], ['task', 'said', 0, 255]);
  });

  it('lists them, and deletes a thread', async () => {
    for (const id of ['0001', '0002', '0003']) await put('two', id);
    const config = { configurable: { thread_id: 'two' } };
    const ids = async () =>
      (await collect(saver.list(config, { limit: 2 }))).map(({ checkpoint }) => checkpoint.id);
    assert.deepEqual(await ids(), ['0003', '0002']);
    await saver.deleteThread('two');
    assert.deepEqual(await ids(), []);
  });

  it('keeps nothing of what fails', async () => {
    await assert.rejects(put('three', '0001\0'));
    assert.equal(await saver.getTuple({ configurable: { thread_id: 'three' } }), undefined);
  });

  it('keeps many at once', async () => {
    const configs = await atOnce((i) => put(`many ${i}`, '0001', `${i}`));
    const tuples = await Promise.all(configs.map((config) => saver.getTuple(config)));
    assert.equal(tuples.length, MANY);
    tuples.forEach(({ checkpoint }, i) => assert.equal(checkpoint.channel_values.said, `${i}`));
  });
});
