'use strict';

// Borrowed clients float only where all connections of the pool lead to one server: not with several servers in one
// connection string. Poolers and standbys: test/fleet/leases.test.js.

const assert = require('node:assert/strict');
const { startDatabase } = require('../../scripts/database');
const { until } = require('../support/outside');
const { ONE, floatingPool, newPool, pidOf, teach, usePools } = require('../support/pools');
const { Proxy } = require('../support/proxy');

const READ = 'select i from conduit_test.numbers';

describe('A borrowed client of a pool with several servers', function () {
  this.timeout(30_000);

  const observer = usePools();
  /** @type {Proxy[]} */
  let proxies = [];
  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let other;

  before(async () => {
    await observer.ask('create table conduit_test.numbers as select 1 as i');
    other = await startDatabase({ own: true, listen: true });
  });
  after(() => other.stop());
  afterEach(async () => {
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  });

  /** @param {any} [target] */
  async function openProxy(target) {
    const proxy = await Proxy.open(target);
    proxies.push(proxy);
    return proxy;
  }

  /** @param {Proxy[]} servers in one connection string @param {Record<string, any>} [given] */
  const naming = (servers, given) => ({
    ...servers[0].options(given),
    host: servers.map(() => '127.0.0.1').join(','),
    port: servers.map(({ port }) => port).join(','),
  });

  /** @param {any} pool @returns {Promise<boolean>} whether a client that has read holds no connection */
  async function floats(pool) {
    const { floating: others } = pool.stats().leases;
    const client = await pool.connect();
    await client.query(ONE);
    const { floating } = pool.stats().leases;
    client.release();
    return floating > others;
  }

  it('floats while all connections lead to the first of them', async () => {
    const pool = await floatingPool(naming([await openProxy(), await openProxy(other.config)]));
    await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.02)')));
    assert.ok(await floats(pool));
  });

  it('has one connection as soon as they lead to different ones', async () => {
    const [first, second] = [await openProxy(), await openProxy(other.config)];
    // More than it has opened so far, even on a machine that is busy.
    const max = 12;
    const pool = await floatingPool(naming([first, second], { max }), [READ]);
    const before = await pool.connect();
    assert.equal((await before.query(READ)).rows[0].i, 1);
    assert.equal(pool.stats().leases.floating, 1);
    // New connections are refused by the first, and those that it has stay.
    first.stopListening();
    await Promise.all(Array.from({ length: max }, () => pool.query('select pg_sleep(0.05)')));
    assert.ok(second.count > 0);
    assert.ok(!(await floats(pool)));
    const client = await pool.connect();
    const pids = [];
    for (let i = 0; i < 5; ++i) {
      pids.push(pidOf(await client.query('select pg_backend_pid() as pid')));
      await pool.query(ONE);
    }
    assert.equal(new Set(pids).size, 1);
    client.release();
    before.release();
  });

  it('floats again when the connections to the one that has failed are gone', async () => {
    const [first, second] = [await openProxy(), await openProxy(other.config)];
    const pool = await floatingPool(naming([first, second]));
    await first.close();
    proxies = proxies.filter((proxy) => proxy !== first);
    await until('all connections are lost', () => pool.totalCount === 0);
    await teach(pool, ONE, [], 2);
    await until('reads float', () => floats(pool));
    assert.ok(second.count > 0);
  });

  it('floats on a host name with several addresses, if all lead to one', async () => {
    const { port } = await openProxy();
    const pool = newPool({ ...proxies[0].options({ max: 3 }), host: 'localhost', port });
    await pool.query(ONE);
    await until('reads float', async () => {
      await pool.query(ONE);
      return floats(pool);
    });
  });
});
