'use strict';

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { WaitingLine } = require('../../lib/pool/waiting-line');

const never = () => assert.fail('nothing may time out');

describe('WaitingLine', () => {
  it('is first in, first out', () => {
    const line = new WaitingLine(() => 0, never);
    for (let i = 0; i < 5; ++i) line.push(i);
    assert.equal(line.length, 5);
    assert.equal(line.peek(), 0);
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5].map(() => line.shift()),
      [0, 1, 2, 3, 4, undefined],
    );
    assert.equal(line.length, 0);
    assert.equal(line.peek(), undefined);
  });

  it('keeps the order over many pushes and shifts', () => {
    const line = new WaitingLine(() => 0, never);
    let pushed = 0;
    let shifted = 0;
    for (let round = 0; round < 200; ++round) {
      for (let i = 0; i < 37; ++i) line.push(pushed++);
      for (let i = 0; i < 31; ++i) assert.equal(line.shift(), shifted++);
      assert.equal(line.length, pushed - shifted);
      assert.equal(line.peek(), shifted);
    }
    while (line.length > 0) assert.equal(line.shift(), shifted++);
    assert.equal(shifted, pushed);
  });

  it('keeps the order when 100,000 wait', () => {
    const line = new WaitingLine(() => 0, never);
    for (let i = 0; i < 100000; ++i) line.push(i);
    for (let i = 0; i < 100000; ++i) assert.equal(line.shift(), i);
  });

  it('removes an item from the middle', () => {
    const line = new WaitingLine(() => 0, never);
    const items = ['a', 'b', 'c', 'd'];
    for (const item of items) line.push(item);
    line.shift();
    assert.equal(line.remove('c'), true);
    assert.equal(line.remove('c'), false);
    assert.equal(line.remove('a'), false, 'it is out already');
    assert.equal(line.length, 2);
    assert.deepEqual([line.shift(), line.shift()], ['b', 'd']);
  });

  it('returns all items on clear()', () => {
    const line = new WaitingLine(() => 0, never);
    for (const item of ['a', 'b', 'c']) line.push(item);
    line.shift();
    assert.deepEqual(line.clear(), ['b', 'c']);
    assert.equal(line.length, 0);
    assert.deepEqual(line.clear(), []);
    line.push('d');
    assert.equal(line.shift(), 'd');
  });

  it('knows how long the first item has waited', () => {
    const line = new WaitingLine(() => 0, never);
    assert.equal(line.oldestSince, Infinity);
    const before = performance.now();
    line.push('a');
    const since = line.oldestSince;
    assert.ok(since >= before && since <= performance.now());
    line.push('b');
    assert.equal(line.oldestSince, since);
    line.shift();
    assert.ok(line.oldestSince >= since);
    line.shift();
    assert.equal(line.oldestSince, Infinity);
  });

  it('expires the items that have waited too long, in order, and no others', async () => {
    const expired = [];
    let done = () => {};
    const lastExpired = () =>
      new Promise((resolve) => {
        done = resolve;
      });
    const all = lastExpired();
    const line = new WaitingLine(
      () => 20,
      (item) => {
        expired.push(item);
        if (item === 'last') done();
      },
    );
    for (const item of ['a', 'b', 'c']) line.push(item);
    assert.equal(line.shift(), 'a');
    line.remove('b');
    line.push('d');
    line.push('last');
    await all;
    assert.deepEqual(expired, ['c', 'd', 'last']);
    assert.equal(line.length, 0);
    // And again, after it was empty.
    line.push('e');
    const again = lastExpired();
    line.push('last');
    await again;
    assert.deepEqual(expired, ['c', 'd', 'last', 'e', 'last']);
  });

  it('keeps the order of those that come from another line, who have waited there', async () => {
    const expired = [];
    const line = new WaitingLine(
      () => 50,
      (item) => expired.push(item),
    );
    const now = performance.now();
    line.push('c');
    line.push('a', now - 40);
    line.push('b', now - 30);
    assert.equal(line.take('none'), undefined);
    assert.equal(line.take('b'), now - 30);
    line.push('b', now - 30);
    assert.equal(line.oldestSince, now - 40);
    while (expired.length < 3) await delay(1);
    assert.deepEqual(expired, ['a', 'b', 'c']);
  });

  it('has one timer, though one comes while another expires', async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    // mocha has its own from here on.
    await delay(1);
    const before = timers();
    const expired = new Promise((resolve) => {
      const line = new WaitingLine(
        () => 10,
        (item) => {
          if (item !== 'first') return;
          line.push('second');
          setImmediate(() => {
            line.shift();
            resolve(undefined);
          });
        },
      );
      line.push('first');
    });
    await expired;
    assert.equal(timers(), before);
  });

  it('counts the time from the push of each item, not of the first', async () => {
    const expired = [];
    const times = new Map();
    const timeout = 30;
    const finished = new Promise((resolve) => {
      const line = new WaitingLine(
        () => timeout,
        (item) => {
          expired.push(item);
          times.set(item, performance.now() - times.get(item));
          if (item === 2) resolve();
        },
      );
      const push = (item) => {
        times.set(item, performance.now());
        line.push(item);
      };
      push(0);
      setTimeout(() => push(1), 10);
      setTimeout(() => push(2), 20);
    });
    await finished;
    assert.deepEqual(expired, [0, 1, 2]);
    // Never before its time; a timer may be late.
    for (const waited of times.values()) assert.ok(waited >= timeout - 1, String(waited));
  });
});
