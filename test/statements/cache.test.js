'use strict';

// lib/statements/cache.js, the prepared statements of one connection, and
// lib/statements/registry.js, what is known of texts on all connections: both
// are bounded.

const assert = require('node:assert/strict');
const { StatementCache } = require('../../lib/statements/cache');
const { StatementRegistry } = require('../../lib/statements/registry');
const { randomFrom } = require('../support/property');

describe('StatementCache', () => {
  /** @param {StatementCache} cache @param {string} text as connection.js does */
  function use(cache, text) {
    const known = cache.find(text);
    if (known !== undefined) return { statement: known, evicted: [] };
    const evicted = cache.evictFor(text);
    if (!cache.hasRoomFor(text)) return { statement: undefined, evicted };
    return { statement: cache.add(text), evicted };
  }

  const texts = (statements) => statements.map(({ text }) => text);

  it('finds added statements, and counts hits and misses', () => {
    const cache = new StatementCache(10, 1000);
    assert.equal(cache.find('select 1'), undefined);
    const statement = cache.add('select 1');
    assert.equal(cache.find('select 1'), statement);
    assert.equal(cache.find('select 1'), statement);
    assert.equal(cache.find('SELECT 1'), undefined, 'a text is itself');
    assert.deepEqual([cache.hits, cache.misses, cache.evictions, cache.size], [2, 2, 0, 1]);
  });

  it('evicts the least recently used statement beyond its size', () => {
    const cache = new StatementCache(3, 1000);
    for (const text of ['a', 'b', 'c']) use(cache, text);
    use(cache, 'a');
    assert.deepEqual(texts(use(cache, 'd').evicted), ['b']);
    assert.deepEqual(texts(use(cache, 'e').evicted), ['c']);
    assert.equal(cache.size, 3);
    assert.equal(cache.evictions, 2);
    assert.ok(cache.find('a') && cache.find('d') && cache.find('e'));
  });

  it('evicts as many statements as the length of the new text needs', () => {
    const cache = new StatementCache(100, 100);
    for (const letter of 'abcdefghij') use(cache, letter.repeat(10));
    assert.equal(cache.size, 10);
    const { statement, evicted } = use(cache, 'x'.repeat(25));
    assert.ok(statement);
    assert.deepEqual(
      texts(evicted),
      ['a', 'b', 'c'].map((letter) => letter.repeat(10)),
    );
  });

  it('does not evict statements for a text that is too long', () => {
    const cache = new StatementCache(100, 100);
    for (const letter of 'abcdefghij') use(cache, letter.repeat(10));
    const { statement, evicted } = use(cache, 'x'.repeat(26));
    assert.equal(statement, undefined);
    assert.deepEqual(evicted, []);
    assert.equal(cache.size, 10);
  });

  it('never evicts statements in use, and refuses a new one instead', () => {
    const cache = new StatementCache(2, 1000);
    const first = use(cache, 'a').statement;
    const second = use(cache, 'b').statement;
    first.users = 1;
    assert.deepEqual(use(cache, 'c').evicted, [second]);
    cache.find('c').users = 2;
    assert.deepEqual(use(cache, 'd'), { statement: undefined, evicted: [] });
    first.users = 0;
    assert.deepEqual(use(cache, 'd').evicted, [first]);
  });

  it('is always empty with a size of 0', () => {
    for (const cache of [new StatementCache(0, 1000), new StatementCache(10, 0)]) {
      assert.equal(use(cache, 'select 1').statement, undefined);
      assert.equal(cache.size, 0);
    }
  });

  describe('admits texts', () => {
    /** @param {StatementCache} cache @param {number} number @returns {boolean} whether it was or is there */
    function ask(cache, number) {
      const text = `text ${String(number).padStart(5, '0')}`;
      if (cache.find(text) !== undefined) return true;
      if (!cache.admits(text, number)) return false;
      use(cache, text);
      return true;
    }

    it('while there is room', () => {
      const cache = new StatementCache(100, 100 * 10);
      for (let number = 1; number <= 100; ++number) assert.ok(ask(cache, number));
      assert.equal(ask(cache, 101), false);
      assert.equal(cache.evictions, 0);
    });

    it('that are used often, in the place of those that are used no more', () => {
      const cache = new StatementCache(100, 10000);
      for (let number = 1; number <= 100; ++number) ask(cache, number);
      const uses = Array.from({ length: 10 }, () => {
        let found = 0;
        for (let number = 101; number <= 200; ++number) found += ask(cache, number) ? 1 : 0;
        return found;
      });
      assert.deepEqual(uses, [0, 0, 0, 0, 0, 0, 0, 0, 100, 100]);
      assert.equal(cache.evictions, 100);
    });

    it('seldom if each comes once: in the place of what is not used at all', () => {
      const cache = new StatementCache(100, 10000);
      for (let number = 1; number <= 6000; ++number) ask(cache, number);
      assert.equal(cache.evictions, 0);
      for (let number = 6001; number <= 100000; ++number) ask(cache, number);
      assert.ok(cache.evictions < 2000, `${cache.evictions} evictions`);
    });

    for (const count of [150, 1000]) {
      it(`of which ${count} come in turn, when those of before are used no more`, () => {
        const cache = new StatementCache(100, 10000);
        for (let number = 1; number <= 100; ++number) ask(cache, number);
        for (let round = 0; round < 100; ++round) {
          for (let number = 1001; number <= 1000 + count; ++number) ask(cache, number);
        }
        const { hits } = cache;
        for (let number = 1001; number <= 1000 + count; ++number) ask(cache, number);
        assert.ok(cache.hits - hits > 80, `${cache.hits - hits} hits`);
      });
    }

    for (const [count, mostEvictions] of [
      [130, 5000],
      [400, 5000],
      [3000, 300],
    ]) {
      it(`but seldom, of ${count} of which none is used more than another, for 100 places`, () => {
        const random = randomFrom();
        const cache = new StatementCache(100, 10000);
        for (let n = 0; n < 100000; ++n) ask(cache, 1 + Math.floor(random() * count));
        assert.ok(cache.evictions < mostEvictions, `${cache.evictions} evictions`);
        // As good as if the first ones stayed for ever.
        const best = (100000 * 100) / count;
        assert.ok(cache.hits > best * 0.8, `${cache.hits} of ${best}`);
      });
    }

    it('so that those which are used most are there', () => {
      const random = randomFrom();
      const cache = new StatementCache(100, 10000);
      // Half of the uses are of 50 texts, which come first when the cache is full of others.
      for (let number = 1; number <= 1000; ++number) ask(cache, number);
      const hits = cache.hits;
      for (let n = 0; n < 20000; ++n) {
        const isHot = random() < 0.5;
        ask(cache, isHot ? 5001 + Math.floor(random() * 50) : 1 + Math.floor(random() * 2000));
      }
      assert.ok(cache.hits - hits > 9000, `${cache.hits - hits} of 10000 hits`);
    });

    it('not in the place of those in use', () => {
      const cache = new StatementCache(2, 1000);
      for (const number of [1, 2]) ask(cache, number);
      for (const text of ['text 00001', 'text 00002']) cache.find(text).users = 1;
      for (let n = 0; n < 20; ++n) assert.equal(ask(cache, 3), false);
      cache.find('text 00001').users = 0;
      for (let n = 0; n < 20; ++n) ask(cache, 3);
      assert.ok(cache.find('text 00003') && cache.find('text 00002'));
    });
  });

  it('never uses an id twice', () => {
    const cache = new StatementCache(2, 1000);
    const ids = [];
    for (let i = 0; i < 20; ++i) {
      const { statement } = use(cache, `text ${i % 5}`);
      ids.push(statement.id);
      if (i === 10) cache.clear();
      if (i === 15) cache.remove(statement);
    }
    assert.equal(new Set(ids).size, ids.length);
  });

  it('removes only the statement itself, not another with its text', () => {
    const cache = new StatementCache(10, 1000);
    const old = cache.add('select 1');
    cache.remove(old);
    const renewed = cache.add('select 1');
    cache.remove(old);
    assert.equal(cache.find('select 1'), renewed);
    cache.remove(renewed);
    assert.equal(cache.size, 0);
  });

  it('returns all statements on clear()', () => {
    const cache = new StatementCache(10, 30);
    for (const text of ['a', 'b']) use(cache, text.repeat(7));
    assert.deepEqual(texts(cache.clear()), ['aaaaaaa', 'bbbbbbb']);
    assert.equal(cache.size, 0);
    // Their lengths are forgotten too.
    for (const text of ['c', 'd', 'e', 'f']) {
      assert.deepEqual(use(cache, text.repeat(7)).evicted, []);
    }
    assert.equal(cache.size, 4);
  });
});

describe('StatementRegistry', () => {
  it('returns the same info for the same text', () => {
    const registry = new StatementRegistry();
    const info = registry.find('select 1');
    assert.equal(registry.find('select 1'), info);
    assert.notEqual(registry.find('select 2'), info);
    assert.equal(info.class.kind, 'plain');
    assert.equal(registry.find('begin').class.kind, 'transaction');
    assert.equal(info.averageMillis, -1);
    assert.equal(info.uses, 0);
  });

  it('averages the duration of a statement, with more weight on recent runs', () => {
    const info = new StatementRegistry().find('select 1');
    info.observe(8);
    assert.equal(info.averageMillis, 8);
    info.observe(0);
    assert.ok(info.averageMillis > 0 && info.averageMillis < 8);
    for (let i = 0; i < 50; ++i) info.observe(100);
    assert.ok(Math.abs(info.averageMillis - 100) < 1);
  });

  describe('a statement that costs less than waking a backend', () => {
    const cheap = () => {
      const info = new StatementRegistry().find('select 1');
      for (let i = 0; i < 20; ++i) info.observe(0.01);
      return info;
    };

    it('stays cheap when the server was busy with something else for a moment', () => {
      const info = cheap();
      for (let i = 0; i < 100; ++i) {
        info.observe(i % 10 === 0 ? 3 : 0.02);
        assert.ok(info.averageMillis <= 0.02, String(info.averageMillis));
      }
    });

    it('does not when it costs more each time', () => {
      const info = cheap();
      for (const millis of [0.2, 0.2]) info.observe(millis);
      assert.ok(info.averageMillis > 0.05);
      for (let i = 0; i < 20; ++i) info.observe(0.2);
      assert.ok(info.averageMillis > 0.19);
    });

    it('does not when each second run is dear', () => {
      const info = cheap();
      for (let i = 0; i < 20; ++i) info.observe(i % 2 === 0 ? 3 : 0.01);
      assert.ok(info.averageMillis > 0.5, String(info.averageMillis));
    });

    it('does not at the first run that keeps others waiting', () => {
      const info = cheap();
      info.observe(20);
      assert.ok(info.averageMillis >= 5);
    });
  });

  it('renews a text with an epoch that it never had, even after its eviction', () => {
    const registry = new StatementRegistry();
    const made = registry.find('select 1').epoch;
    registry.renew(registry.find('select 1'));
    assert.notEqual(registry.find('select 1').epoch, made);
    for (let i = 0; i < 10000; ++i) registry.find(`select c${i} as n`);
    assert.notEqual(registry.find('select 1').epoch, made);
  });

  it('knows what a statement costs from others that differ in their literals only', () => {
    const registry = new StatementRegistry();
    registry.find("select 'a' as a, 1 as b").observe(8);
    assert.equal(registry.find("select 'bc' as a, 23 as b").averageMillis, 8);
    assert.equal(registry.find('select $1 as a, 23 as b').averageMillis, -1);
  });

  it('gives each text a number of its own', () => {
    const registry = new StatementRegistry();
    const numbers = Array.from({ length: 20000 }, (_, n) => registry.find(`select c${n}`).number);
    assert.equal(new Set(numbers).size, 20000);
    assert.equal(registry.find('select c19999').number, numbers[19999]);
  });

  it('finds what is used again and again, however many others come between', () => {
    const registry = new StatementRegistry();
    registry.find('select 1 as kept').uses = 5;
    for (let i = 0; i < 50000; ++i) {
      registry.find(`select c${i} as n`);
      if (i % 3000 === 0) assert.equal(registry.find('select 1 as kept').uses, 5);
    }
    registry.find('select 1 as not_kept').uses = 5;
    for (let i = 0; i < 50000; ++i) registry.find(`select c${i} as n`);
    assert.equal(registry.find('select 1 as not_kept').uses, 0);
  });

  it('finds what was used once, however many texts with values in them come between', () => {
    const registry = new StatementRegistry();
    registry.find('select a as kept').uses = 5;
    for (let i = 0; i < 50000; ++i) registry.find(`select ${i} as n`);
    assert.equal(registry.find('select a as kept').uses, 5);
  });

  /** How many of the texts are still known: a new info has no uses. */
  const known = (registry, all) => all.filter((text) => registry.find(text).uses > 0).length;

  it('is bounded in number', () => {
    const registry = new StatementRegistry();
    const all = Array.from({ length: 20000 }, (_, i) => `select c${i}`);
    for (const text of all) ++registry.find(text).uses;
    assert.equal(registry.find(all.at(-1)).uses, 1, 'the newest is there');
    assert.equal(registry.find(all[0]).uses, 0, 'the oldest is not');
    assert.ok(known(registry, all.slice(-4000)) > 3900);
    assert.ok(known(registry, all.slice(0, 10000)) === 0);
  });

  it('is bounded in total length, and does not keep very long texts', () => {
    const registry = new StatementRegistry();
    const text = (i) => `select ${i}, '${'x'.repeat(100000)}'`;
    const all = Array.from({ length: 200 }, (_, i) => text(i));
    for (const one of all) ++registry.find(one).uses;
    // From the newest: to ask for one that is gone pushes the oldest out.
    const newestGone = [...all].reverse().findIndex((one) => registry.find(one).uses === 0);
    assert.ok(newestGone > 10 && newestGone < 50, String(newestGone));
    const huge = `select '${'x'.repeat(8 << 20)}'`;
    ++registry.find('select 1').uses;
    ++registry.find(huge).uses;
    assert.equal(registry.find(huge).uses, 0);
    assert.equal(registry.find('select 1').uses, 1, 'the others are not pushed out by it');
  });
});
