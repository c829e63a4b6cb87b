'use strict';

// @keyv/postgres: keys and values on a pool that it shares between stores of the same URL.

const assert = require('node:assert/strict');
const { default: KeyvPostgres } = require('@keyv/postgres');
const { default: Keyv } = require('keyv');
const { NUMBERS, atOnce, collect, useTool } = require('./support/tool');

describe('@keyv/postgres', () => {
  const tool = useTool('@keyv/postgres');
  let keyv;

  before(() => {
    const store = new KeyvPostgres({ uri: tool.url, table: 'cache', max: 5 });
    keyv = new Keyv({ store, namespace: 'own' });
    keyv.on('error', (error) => {
      throw error;
    });
  });

  tool.close(() => keyv.disconnect());

  it('keeps values, and forgets them', async () => {
    await keyv.set('one', { list: [1, 'two'], quote: "it's" });
    assert.deepEqual(await keyv.get('one'), { list: [1, 'two'], quote: "it's" });
    await keyv.set('one', 1);
    assert.equal(await keyv.get('one'), 1);
    assert.equal(await keyv.has('one'), true);
    assert.equal(await keyv.delete('one'), true);
    assert.equal(await keyv.delete('one'), false);
    assert.equal(await keyv.get('one'), undefined);
    await keyv.set('short', 1, 1);
    while ((await keyv.get('short')) !== undefined);
  });

  it('keeps many at once, reads them page by page, and clears them', async () => {
    await atOnce((i) => keyv.set(`many ${i}`, i));
    assert.deepEqual(await atOnce((i) => keyv.get(`many ${i}`)), NUMBERS);
    const keys = NUMBERS.map((i) => `many ${i}`);
    assert.deepEqual(await keyv.get(keys), NUMBERS);
    const entries = await collect(keyv.iterator());
    assert.deepEqual(
      entries.map(([, value]) => value).sort((a, b) => a - b),
      NUMBERS,
    );
    await keyv.clear();
    assert.equal(await keyv.get('many 7'), undefined);
  });
});
