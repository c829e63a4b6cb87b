'use strict';

// What a subscription knows of what it has told, without a server: transactions that come again, that do not, and
// those of which a part was rolled back.

const assert = require('node:assert/strict');
const { ReplicationError } = require('../..');
const { formatLsn, parseLsn } = require('../../lib/replication/lsn');
const { Progress } = require('../../lib/replication/progress');
const { StreamedTransactions } = require('../../lib/replication/streamed-transactions');

describe('the progress of a subscription', () => {
  /** @type {Progress} */
  let progress;

  beforeEach(() => {
    progress = new Progress();
    progress.moveTo(100n);
  });

  /** @returns {boolean[]} which of the changes were to be told */
  const tell = (...lsns) =>
    lsns.map((lsn) => {
      if (progress.isTold(lsn)) return false;
      progress.told(lsn);
      return true;
    });

  it('leaves out what was told of a transaction that comes again', () => {
    assert.equal(progress.begin(200n), true);
    assert.deepEqual(tell(150n, 160n), [true, true]);
    progress.restart();
    assert.equal(progress.position, 100n);
    assert.equal(progress.begin(200n), true);
    assert.deepEqual(tell(150n), [false]);
    progress.restart();
    assert.equal(progress.begin(200n), true);
    assert.deepEqual(tell(150n, 160n, 160n, 170n), [false, false, true, true]);
    progress.commit(210n);
    assert.equal(progress.position, 210n);
    assert.equal(progress.isPartial, false);
  });

  it('leaves out transactions from before its position as a whole', () => {
    assert.equal(progress.begin(90n), true);
    assert.deepEqual(tell(80n, 85n), [false, false]);
    progress.commit(95n);
    assert.equal(progress.position, 100n);
  });

  it('does not pass a transaction of which a part was told', () => {
    progress.begin(200n);
    tell(150n);
    progress.passed(300n);
    progress.restart();
    progress.passed(300n);
    assert.equal(progress.position, 100n);
    progress.begin(200n);
    progress.commit(210n);
    progress.passed(300n);
    assert.equal(progress.position, 300n);
  });

  it('knows that the rest of a transaction does not come', () => {
    progress.begin(200n);
    tell(150n);
    progress.restart();
    assert.equal(progress.begin(300n), false);
    assert.deepEqual(tell(250n), [true]);
  });

  it('refuses a transaction that comes again with other changes', () => {
    progress.begin(200n);
    tell(150n, 160n);
    progress.restart();
    progress.begin(200n);
    assert.deepEqual(tell(150n), [false]);
    assert.throws(() => tell(155n), ReplicationError);
  });
});

describe('streamed transactions', () => {
  /** @param {string} kind @param {number} xid */
  const message = (kind, xid) => {
    const data = Buffer.alloc(30);
    data.write(kind, 25);
    data.writeUInt32BE(xid, 26);
    return data;
  };
  const kinds = (kept) => kept.map(({ data }) => String.fromCharCode(data[25]));

  it('lose what follows the beginning of a part that is rolled back, but no description of a table', () => {
    const streamed = new StreamedTransactions();
    for (const block of [
      ['I1', 'R2', 'I2'],
      ['I2', 'I3'],
    ]) {
      streamed.begin(1);
      for (const [kind, xid] of block) streamed.keep(message(kind, Number(xid)), 0n);
      streamed.stop();
    }
    streamed.begin(9);
    streamed.keep(message('D', 9), 0n);
    streamed.stop();
    assert.equal(streamed.bytes, 6 * 30);
    streamed.abort(1, 2);
    assert.equal(streamed.bytes, 3 * 30);
    assert.deepEqual(kinds(streamed.take(1)), ['I', 'R']);
    streamed.abort(9, 9);
    assert.deepEqual(streamed.take(9), []);
    assert.equal(streamed.bytes, 0);
  });
});

describe('positions in the log', () => {
  it('are written as the server writes them', () => {
    for (const text of ['0/0', '0/16B3748', 'FFFFFFFF/FFFFFFFF', 'A/1']) {
      assert.equal(formatLsn(/** @type {bigint} */ (parseLsn(text))), text);
    }
    assert.equal(parseLsn('a/00000001'), parseLsn('A/1'));
    for (const text of ['', '0', '/', '0/', '0/G', '123456789/0', '0/0 ']) {
      assert.equal(parseLsn(text), undefined);
    }
  });
});
