'use strict';

// The messages of one connection of a subscription, without a server: what is kept of them, and how it begins.

const assert = require('node:assert/strict');
const { setImmediate: nextTurn } = require('node:timers/promises');
const v8 = require('node:v8');
const vm = require('node:vm');
const { Client } = require('../..');
const { connectionOf } = require('../../lib/client');
const { ReplicationStream } = require('../../lib/replication/stream');

describe('the stream of a subscription', () => {
  /** @param {Promise<unknown>} answer to START_REPLICATION */
  function open(answer) {
    const client = new Client({ replication: 'database' });
    client.query = /** @type {any} */ (() => answer);
    return { client, stream: new ReplicationStream(client, () => 0n, 0) };
  }

  it('keeps nothing that was taken, though its reader never comes to the end', async () => {
    v8.setFlagsFromString('--expose-gc');
    const collectGarbage = vm.runInNewContext('gc');
    const { client, stream } = open(new Promise(() => {}));
    stream.start('START_REPLICATION').catch(() => {});
    const { reader } = connectionOf(client).replication;
    const refs = [];
    const push = (number) => {
      const message = Buffer.alloc(25);
      message.writeUInt32BE(number, 21);
      refs.push(new WeakRef(message));
      reader.onMessage(message);
    };
    push(0);
    for (let number = 1; number < 5000; ++number) {
      push(number);
      assert.equal(stream.take().readUInt32BE(21), number - 1);
    }
    await nextTurn();
    collectGarbage();
    const kept = refs.filter((ref) => ref.deref() !== undefined).length;
    assert.ok(kept < 100, `${kept} of 5000 messages are kept`);
    assert.equal(stream.hasMore, true);
    assert.equal(stream.take().readUInt32BE(21), 4999);
    assert.equal(stream.hasMore, false);
    assert.equal(stream.take(), undefined);
  });

  it('does not begin where the server ends START_REPLICATION at once', async () => {
    const { stream } = open(Promise.resolve());
    await assert.rejects(stream.start('START_REPLICATION'), /the server has ended the replication/);
  });
});
