'use strict';

// connect-pg-simple: sessions of Express.

const assert = require('node:assert/strict');
const { promisify } = require('node:util');
const session = require('express-session');
const { Pool } = require('pg');
const { atOnce, useTool } = require('./support/tool');

const Store = require('connect-pg-simple')(session);

describe('connect-pg-simple', () => {
  const tool = useTool('connect-pg-simple');
  const cookie = { maxAge: 60_000 };

  /** @param {Record<string, any>} options */
  function open(options) {
    const store = new Store({
      createTableIfMissing: true,
      pruneSessionInterval: false,
      ...options,
    });
    const call = (name) => promisify(store[name].bind(store));
    const [get, set, touch, destroy] = ['get', 'set', 'touch', 'destroy'].map(call);
    return { close: () => store.close(), get, set, touch, destroy, store };
  }

  for (const [name, options] of [
    ['a pool', () => ({ pool: new Pool({ connectionString: tool.url }) })],
    ['a connection string', () => ({ conString: tool.url })],
  ]) {
    it(`keeps sessions on ${name}`, async () => {
      const given = options();
      const { close, get, set, touch, destroy } = open(given);
      await set('first', { cookie, views: 1 });
      await atOnce((i) => set(`many ${i}`, { cookie, i }));
      assert.deepEqual(await get('first'), { cookie, views: 1 });
      await touch('first', { cookie, views: 2 });
      await destroy('first');
      assert.equal(await get('first'), undefined);
      assert.deepEqual(await get('many 7'), { cookie, i: 7 });
      await close();
      await given.pool?.end();
    });
  }
});
