'use strict';

// A primary and two standbys: who is connected to whom, and reads that see what was written before.

const assert = require('node:assert/strict');
const dns = require('node:dns/promises');
const { setTimeout: delay } = require('node:timers/promises');
const { Client, Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { deadPort } = require('../support/ports');
const { ask, startStandby } = require('../support/standby');

const PORT = "select current_setting('port')::int as port";

describe('a primary and its standbys', function () {
  this.timeout(120_000);

  /** @type {import('../../scripts/database').Database} */
  let primary;
  /** @type {import('../support/standby').Standby[]} */
  const standbys = [];
  /** @type {{ end: () => any }[]} */
  const opened = [];

  before(async () => {
    // Without a flush at the commit a standby would get it a fifth of a second later.
    const settings = { synchronous_commit: 'on' };
    primary = await startDatabase({ own: true, listen: true, settings });
    await ask(primary.config, 'create table notes (id int primary key)');
    for (const name of ['first', 'second']) standbys.push(await startStandby(primary, name));
  });

  afterEach(() => Promise.all(opened.splice(0).map((one) => one.end())));

  after(async () => {
    await Promise.all(standbys.map((standby) => standby.stop()));
    await primary?.stop();
  });

  function newPool(config) {
    const pool = new Pool(config);
    opened.push(pool);
    return pool;
  }

  const portsOf = (...servers) => servers.map(({ config }) => config.port);

  /** @param {number[]} ports */
  const urlOf = (ports, query = '') =>
    `postgresql://postgres@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres${query}`;

  /** A pool that writes to the primary, and reads from the standbys. */
  const newPair = (given) =>
    newPool({ ...primary.config, replicas: urlOf(portsOf(...standbys)), ...given });

  async function portOf(config) {
    const client = new Client(config);
    try {
      await client.connect();
      return (await client.query(PORT)).rows[0].port;
    } finally {
      await client.end();
    }
  }

  /** Nothing is replayed meanwhile. */
  async function whileBehind(run) {
    for (const standby of standbys) await standby.ask('select pg_wal_replay_pause()');
    try {
      return await run();
    } finally {
      for (const standby of standbys) await standby.ask('select pg_wal_replay_resume()');
    }
  }

  it('target_session_attrs finds each by what it is', async () => {
    const [main, first, second] = portsOf(primary, ...standbys);
    const all = [first, main, second];
    for (const [target, port] of Object.entries({
      any: first,
      primary: main,
      'read-write': main,
      standby: first,
      'read-only': first,
      'prefer-standby': first,
    })) {
      assert.equal(await portOf(urlOf(all, `?target_session_attrs=${target}`)), port, target);
    }
    assert.equal(await portOf(urlOf([main], '?target_session_attrs=prefer-standby')), main);
    const dead = await deadPort();
    assert.equal(await portOf(urlOf([dead, first, main], '?target_session_attrs=primary')), main);
  });

  it('load_balance_hosts spreads the connections of a pool', async () => {
    const url = urlOf(portsOf(...standbys), '?load_balance_hosts=random');
    const seen = new Set();
    // That one is not seen in so many: 2^-40.
    for (let attempt = 0; attempt < 40 && seen.size < 2; ++attempt) seen.add(await portOf(url));
    assert.deepEqual([...seen].sort(), portsOf(...standbys).sort());
  });

  it('names are resolved at each attempt', async () => {
    const lookup = dns.lookup;
    const asked = [];
    let address = '127.0.0.2';
    // The resolver is the system's, whose answers a test cannot change.
    dns.lookup = async (name) => {
      asked.push(name);
      return [{ address, family: 4 }];
    };
    try {
      const pool = newPool({ ...primary.config, host: 'db.example', max: 1 });
      const error = await errorOf(pool.query(PORT));
      assert.equal(error.code, 'ECONNREFUSED');
      address = '127.0.0.1';
      assert.equal((await pool.query(PORT)).rows[0].port, primary.config.port);
      assert.ok(asked.length >= 2 && asked.every((name) => name === 'db.example'));
    } finally {
      dns.lookup = lookup;
    }
  });

  it('a server that does not let it write any more is left, by a pool that asks for one that does', async () => {
    const other = await startDatabase({ own: true, listen: true });
    try {
      for (const { config } of [primary, other]) {
        await ask(config, 'create table if not exists written (id int)');
      }
      const ports = portsOf(other, primary);
      const pool = newPool({
        connectionString: urlOf(ports, '?target_session_attrs=read-write'),
        max: 2,
      });
      const staying = newPool({ connectionString: urlOf(ports), max: 1 });
      const write = `insert into written values (1) returning ${PORT.slice('select '.length)}`;
      const client = await pool.connect();
      for (const one of [pool, staying, client]) {
        assert.equal((await one.query(write)).rows[0].port, ports[0]);
      }
      await ask(other.config, 'alter system set default_transaction_read_only = on');
      await ask(other.config, 'select pg_reload_conf()');
      const show = 'show default_transaction_read_only';
      for (const one of [pool, staying, client]) {
        await until('its session knows', async () => {
          const { rows } = await one.query(show);
          return rows[0].default_transaction_read_only === 'on';
        });
        const error = await errorOf(one.query(write));
        assert.deepEqual([error.code, error.outcome], ['25006', 'not-run']);
      }
      client.release();
      for (let use = 0; use < 4; ++use) {
        assert.equal((await pool.query(write)).rows[0].port, ports[1]);
      }
      assert.equal((await staying.query(PORT)).rows[0].port, ports[0]);
    } finally {
      await Promise.all(opened.splice(0).map((one) => one.end()));
      await other.stop();
    }
  });

  describe('a pool with replicas', () => {
    it('reads from them by read.query(), and nothing else goes there', async () => {
      const pool = newPair({ max: 4 });
      const seen = new Set();
      await until('both have answered', async () => {
        const clients = await Promise.all([1, 2, 3, 4].map(() => pool.read.connect()));
        for (const client of clients) seen.add((await client.query(PORT)).rows[0].port);
        for (const client of clients) client.release(true);
        return seen.size === 2;
      });
      assert.deepEqual([...seen].sort(), portsOf(...standbys).sort());
      // Reads, too: whoever wants a standby says so.
      assert.equal((await pool.query(PORT)).rows[0].port, primary.config.port);
      const error = await errorOf(pool.read.query('insert into notes values (0)'));
      assert.deepEqual([error.code, error.outcome], ['25006', 'not-run']);
      const [{ rows }] = await pool.read.batch([PORT]);
      assert.ok(seen.has(rows[0].port));
    });

    it('has the options of the pool, but for what replicas says otherwise', async () => {
      const url = urlOf(portsOf(primary));
      const pool = newPool({
        connectionString: url,
        max: 3,
        application_name: 'both',
        replicas: {
          host: '127.0.0.1',
          port: standbys[0].config.port,
          max: 2,
          application_name: 'reads',
        },
      });
      assert.equal((await pool.read.query(PORT)).rows[0].port, standbys[0].config.port);
      assert.deepEqual([pool.options.max, pool.read.options.max], [3, 2]);
      const name = 'show application_name';
      assert.equal((await pool.query(name)).rows[0].application_name, 'both');
      assert.equal((await pool.read.query(name)).rows[0].application_name, 'reads');
    });

    it('without replicas, read is the pool itself', () => {
      const pool = newPool(primary.config);
      assert.equal(pool.read, pool);
    });

    it('goes to the primary when that is named among them and no standby is there', async () => {
      const ports = [await deadPort(), primary.config.port];
      const pool = newPool({ ...primary.config, replicas: urlOf(ports) });
      assert.equal((await pool.read.query(PORT)).rows[0].port, primary.config.port);
    });

    it('ends with its pool', async () => {
      const pool = new Pool({ ...primary.config, replicas: urlOf(portsOf(standbys[0])) });
      await pool.read.query('select 1');
      await pool.end();
      assert.equal(pool.read.totalCount, 0);
      const error = await errorOf(pool.read.query('select 1'));
      assert.equal(error.code, 'ERR_PG_CONDUIT_POOL_ENDED');
    });
  });

  describe('a read after a position', () => {
    const COUNT = 'select count(*)::int as n from notes where id = any($1)';

    it('sees what was written before, each time', async () => {
      const pool = newPair({ max: 2 });
      for (let id = 100; id < 150; ++id) {
        await pool.query('insert into notes values ($1)', [id]);
        const after = await pool.walPosition();
        const { rows } = await pool.read.query({ text: COUNT, values: [[id]], after });
        assert.deepEqual(rows, [{ n: 1 }]);
      }
      assert.ok(pool.read.stats().queries >= 50, 'the standbys were asked');
    });

    it('sees it under each default isolation level, however late the standby is', async () => {
      for (const level of ['repeatable read', 'serializable', 'read committed']) {
        const options = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`;
        const pool = newPair({ max: 2, catchUpMillis: 5000, options });
        let stale = 0;
        const write = async (id) => {
          await pool.query('insert into notes values ($1)', [id]);
          const after = await pool.walPosition();
          const reads = Array.from({ length: 4 }, () =>
            pool.read.query({ text: COUNT, values: [[id]], after }),
          );
          for (const { rows } of await Promise.all(reads)) if (rows[0].n !== 1) ++stale;
        };
        for (let id = 1000; id < 1600; id += 4) {
          await Promise.all([0, 1, 2, 3].map((more) => write(id + more)));
        }
        assert.equal(stale, 0, level);
        await pool.query('delete from notes where id >= 1000');
      }
    });

    it('waits for a standby that is behind', async () => {
      const pool = newPair({ max: 2, catchUpMillis: 30_000 });
      let isOver = false;
      const read = await whileBehind(async () => {
        await pool.query('insert into notes values (1)');
        const after = await pool.walPosition();
        const reading = pool.read.query({ text: `${PORT}, (${COUNT})`, values: [[1]], after });
        reading.then(() => (isOver = true));
        await delay(300);
        assert.equal(isOver, false);
        return { reading };
      });
      const { rows } = await read.reading;
      assert.equal(rows[0].n, 1);
      assert.notEqual(rows[0].port, primary.config.port);
    });

    it('asks the primary when that takes too long, or a table is not there yet', async () => {
      const pool = newPair({ max: 2, catchUpMillis: 100 });
      await whileBehind(async () => {
        await pool.query('create table fresh (id int)');
        const after = await pool.walPosition();
        const text = `${PORT}, (select count(*)::int from fresh) as n`;
        const { rows } = await pool.read.query({ text, after });
        assert.deepEqual(rows, [{ port: primary.config.port, n: 0 }]);
        const [error, result] = await new Promise((resolve) => {
          pool.read.query({ text, after }, (...args) => resolve(args));
        });
        assert.deepEqual([error, result.rows.length], [undefined, 1]);
      });
      const after = await pool.walPosition();
      const error = await errorOf(pool.read.query({ text: 'select * from nowhere', after }));
      assert.equal(error.code, '42P01');
      const wrong = await errorOf(pool.read.query({ text: 'select 1', after: 'yesterday' }));
      assert.equal(wrong.code, '22P02');
    });
  });
});
