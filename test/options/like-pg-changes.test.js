'use strict';

// Options that are changed after a client or pool was made with them, with pg and with this driver: a password that
// rotates, a pool that is made larger.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout } = require('node:timers/promises');
const pg = require('pg');
const ours = require('../..');
const { startDatabase } = require('../../scripts/database');
const { connectionString } = require('../support/connect');
const { errorOf } = require('../support/outcomes');

const DRIVERS = { pg, ours };

describe('an option that is changed later', () => {
  let database;
  /** @type {ours.Client} */
  let admin;
  let place;
  const pools = [];

  before(async () => {
    database = await startDatabase({
      own: true,
      listen: true,
      hba: 'local all all trust\nhost all all all scram-sha-256',
    });
    const { socketDirectory: host, config } = database;
    admin = new ours.Client({
      host,
      port: config.port,
      user: config.user,
      database: config.database,
    });
    await admin.connect();
    await admin.query("set password_encryption to 'scram-sha-256'");
    await admin.query('create role rotating login');
    place = { host: '127.0.0.1', port: config.port, database: config.database, user: 'rotating' };
  });

  after(async () => {
    await admin.end();
    await database.stop();
  });

  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
  });

  const open = (driver, given) => {
    const pool = new driver.Pool(given);
    pool.on('error', () => {});
    pools.push(pool);
    return pool;
  };

  const setPassword = (password) => admin.query(`alter role rotating password '${password}'`);

  for (const [name, driver] of Object.entries(DRIVERS)) {
    it(`of a client of ${name} counts when it connects: password, host and port`, async () => {
      await setPassword('second');
      for (const password of ['second', () => 'second', async () => 'second']) {
        const client = new driver.Client({
          ...place,
          host: 'nowhere.invalid',
          port: 1,
          password: 'x',
        });
        Object.assign(client, { password, host: place.host, port: place.port });
        assert.equal(client.password, password);
        assert.equal(client.host, place.host);
        await client.connect();
        assert.deepEqual((await client.query('select current_user as me')).rows, [
          { me: 'rotating' },
        ]);
        await client.end();
      }
    });

    it(`of a client of ${name} goes before its connection string`, async () => {
      await setPassword('third');
      const { host, port, user, database: dbname } = place;
      const client = new driver.Client(`postgresql://${user}:old@${host}:${port}/${dbname}`);
      client.password = 'third';
      await client.connect();
      await client.end();
    });

    it(`in connectionParameters of ${name} counts when it connects, user and database of a client do not`, async () => {
      const client = new driver.Client(connectionString());
      const { user } = client;
      client.connectionParameters.application_name = 'late';
      client.connectionParameters.statement_timeout = 54321;
      Object.assign(client, { user: 'nobody', database: 'nothing' });
      await client.connect();
      const { rows } = await client.query(
        "select current_user as me, current_setting('application_name') as name, current_setting('statement_timeout') as time",
      );
      assert.deepEqual(rows, [{ me: user, name: 'late', time: '54321ms' }]);
      assert.equal(client.user, 'nobody');
      assert.equal(client.database, 'nothing');
      await client.end();
    });

    it(`password of a pool of ${name} counts for its next connections`, async () => {
      await setPassword('fourth');
      const pool = open(driver, { ...place, password: 'fourth', max: 3 });
      const first = await pool.connect();
      await setPassword('fifth');
      pool.options.password = 'fifth';
      assert.equal(pool.options.password, 'fifth');
      assert.ok(!Object.keys(pool.options).includes('password'));
      const second = await pool.connect();
      await second.query('create temp table t (i int)');
      second.release(true);
      first.release(true);
      pool.options.password = async () => 'fifth';
      assert.deepEqual((await pool.query('select current_user as me')).rows, [{ me: 'rotating' }]);
    });

    it(`connectionString of a pool of ${name} counts for its next connections`, async () => {
      await setPassword('sixth');
      const { host, port, user, database: dbname } = place;
      const urlWith = (password) => `postgresql://${user}:${password}@${host}:${port}/${dbname}`;
      const pool = open(driver, { connectionString: urlWith('old') });
      assert.equal((await errorOf(pool.query('select 1'))).code, '28P01');
      pool.options.connectionString = urlWith('sixth');
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it(`max of a pool of ${name} lets in those who wait, or fewer from then on`, async () => {
      const pool = open(driver, { connectionString: connectionString(), max: 1, multiplex: 'off' });
      const first = await pool.connect();
      const waiting = [pool.connect(), pool.connect()];
      await setTimeout(30);
      assert.equal(pool.totalCount, 1);
      pool.options.max = 3;
      // pg looks at it when something happens next.
      const third = pool.connect();
      first.release();
      await Promise.all([...waiting, third].map(async (client) => (await client).release()));
      assert.ok(pool.totalCount <= 3);
      pool.options.max = 1;
      const clients = await Promise.all([1].map(() => pool.connect()));
      let isServed = false;
      const late = pool.connect().then((client) => {
        isServed = true;
        client.release();
      });
      if (driver === ours) {
        await setTimeout(50);
        assert.equal(isServed, false);
      }
      for (const client of clients) client.release();
      await late;
    });

    it(`idleTimeoutMillis of a pool of ${name} counts for connections that become idle`, async () => {
      const pool = open(driver, { connectionString: connectionString(), idleTimeoutMillis: 0 });
      await pool.query('select 1');
      pool.options.idleTimeoutMillis = 10;
      const closed = once(pool, 'remove');
      await pool.query('select 1');
      await closed;
    });

    it(`onConnect of a pool of ${name} counts for its next connections`, async () => {
      const pool = open(driver, { connectionString: connectionString() });
      pool.options.onConnect = (client) => client.query("set application_name = 'hooked'");
      const { rows } = await pool.query('show application_name');
      assert.deepEqual(rows, [{ application_name: 'hooked' }]);
    });
  }

  it('connectionTimeoutMillis of a pool counts for those who wait already, and not if it is taken away', async () => {
    const given = { connectionString: connectionString(), max: 1, multiplex: 'off' };
    const pool = open(ours, given);
    const client = await pool.connect();
    const late = errorOf(pool.connect());
    pool.options.connectionTimeoutMillis = 50;
    assert.equal((await late).code, 'ERR_PG_CONDUIT_POOL_TIMEOUT');
    const patient = pool.query('select 1 as one');
    pool.options.connectionTimeoutMillis = 0;
    await setTimeout(100);
    client.release();
    assert.deepEqual((await patient).rows, [{ one: 1 }]);
  });

  it('max of a pool whose clients share connections counts for those who need one', async () => {
    const pool = open(ours, { connectionString: connectionString(), max: 2 });
    const borrow = async () => {
      const client = await pool.connect();
      await client.query('create temp table if not exists t (i int)');
      return client;
    };
    const holders = await Promise.all([borrow(), borrow()]);
    let served = 0;
    const late = [borrow(), borrow()].map((each) => each.then((client) => (++served, client)));
    await setTimeout(50);
    assert.equal(served, 0);
    pool.options.max = 4;
    const others = await Promise.all(late);
    assert.equal(pool.totalCount, 4);
    pool.options.max = 1;
    for (const client of [...holders, ...others]) client.release();
    const last = await Promise.all([1, 2, 3].map(() => pool.query('select 1 as one')));
    assert.deepEqual(
      last.map(({ rows }) => rows[0].one),
      [1, 1, 1],
    );
    const one = await pool.connect();
    let isServed = false;
    const two = pool.connect().then((client) => ((isServed = true), client));
    await setTimeout(50);
    assert.equal(isServed, false, 'one connection is a mutex');
    one.release();
    (await two).release();
  });

  it('to what it cannot be is refused, and stays as it was', async () => {
    const pool = open(ours, { connectionString: connectionString(), max: 2 });
    const { code } = await errorOf((async () => (pool.options.max = -5))());
    assert.equal(code, 'ERR_PG_CONDUIT_OPTION');
    assert.equal(pool.options.max, 2);
    for (const [name, value] of [
      ['connectionString', 'postgresql://elsewhere/db'],
      ['options', '-c search_path=other'],
    ]) {
      const before = pool.options[name];
      const error = await errorOf((async () => (pool.options[name] = value))());
      assert.match(
        error.message,
        new RegExp(`^pool.options.${name} cannot be changed .*make a new`),
      );
      assert.equal(pool.options[name], before);
    }
    assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
  });
});
