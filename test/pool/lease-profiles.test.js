'use strict';

// Settings that a borrowed client makes of its session, and which other connections can be given: they do not keep it
// from sharing, and nobody else has them.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { ConnectionError } = require('../..');
const { Random } = require('../stress/random');
const { errorOf } = require('../support/outcomes');
const { Observer, until } = require('../support/outside');
const { floatingPool, teach, usePools } = require('../support/pools');
const { SEED } = require('../support/property');
const { Proxy } = require('../support/proxy');

const READ = 'select place from here where id = $1';
const ZONE = "select timestamptz '2026-01-01 00:00:00+00'::text as local";

describe('Settings of a borrowed client', function () {
  this.timeout(20_000);

  const observer = usePools();
  const TENANTS = ['one', 'two', 'three', 'four'];

  before(async () => {
    for (const tenant of TENANTS) {
      await observer.ask(`drop schema if exists conduit_${tenant} cascade`);
      await observer.ask(`create schema conduit_${tenant}`);
      await observer.ask(`create table conduit_${tenant}.here (id int primary key, place text)`);
      await observer.ask(`insert into conduit_${tenant}.here values (1, '${tenant}'), (0, '0')`);
    }
    await observer.ask('create table conduit_test.here (id int primary key, place text)');
    await observer.ask("insert into conduit_test.here values (1, 'base'), (0, '0')");
    await observer.ask('create table conduit_test.noted (note text)');
  });
  after(async () => {
    const cleaner = await Observer.open();
    for (const tenant of TENANTS) await cleaner.ask(`drop schema conduit_${tenant} cascade`);
    await cleaner.close();
  });

  /** @param {Record<string, any>} [given] @param {string[]} [texts] */
  async function open(given, texts = []) {
    const pool = await floatingPool({ options: '-c search_path=conduit_test', ...given }, [
      ZONE,
      ...texts,
    ]);
    await teach(pool, READ, [1], 1);
    return pool;
  }

  /** @param {any} pool */
  const pinned = (pool) => pool.stats().leases.pinned;
  /** @param {any} pool */
  const untilFloating = (pool) => until('it floats', () => pinned(pool) === 0);

  for (const [texts, name, value] of [
    [['set search_path to conduit_one'], 'search_path', 'conduit_one'],
    [['SET SESSION search_path = "conduit_one", public;'], 'search_path', 'conduit_one, public'],
    [["set time zone 'Asia/Tokyo'"], 'timezone', 'Asia/Tokyo'],
    [["set timezone to '+2'"], 'timezone', '<+02>-02'],
    [["SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE"], 'timezone', '<+02>-02'],
    [['set statement_timeout = 1234'], 'statement_timeout', '1234ms'],
    [['set lock_timeout to default', "set work_mem to '5MB'"], 'work_mem', '5MB'],
    [['set work_mem to 5000', 'reset all'], 'work_mem', '4MB'],
    [['set work_mem to 5000', 'discard all'], 'work_mem', '4MB'],
    [['set work_mem to 5000', 'reset work_mem'], 'work_mem', '4MB'],
    [['set work_mem to 5000', 'set work_mem = DEFAULT'], 'work_mem', '4MB'],
    [["set client_encoding to 'UTF8'"], 'client_encoding', 'UTF8'],
    [
      ["SET client_min_messages TO warning;SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE;"],
      'client_min_messages',
      'warning',
    ],
  ]) {
    it(`do not pin it: ${texts.join(', then ')}`, async () => {
      const ask = `select current_setting('${name}') as value`;
      const pool = await open({}, [ask]);
      const before = (await pool.query(ask)).rows[0].value;
      const client = await pool.connect();
      for (const text of texts) await client.query(String(text));
      await untilFloating(pool);
      for (let reads = 0; reads < 5; ++reads) {
        const [mine, others] = await Promise.all([client.query(ask), pool.query(ask)]);
        assert.deepEqual([mine.rows[0].value, others.rows[0].value], [value, before]);
      }
      assert.equal(pinned(pool), 0);
      // Pinned, too.
      await client.query('begin');
      assert.equal((await client.query(ask)).rows[0].value, value);
      await client.query('rollback');
      await untilFloating(pool);
      client.release();
      assert.equal((await pool.query(ask)).rows[0].value, before);
    });
  }

  for (const text of [
    'set datestyle = german',
    'set role conduit_nobody',
    "set app.tenant = 'x'",
    'set session characteristics as transaction read only',
    'set default_transaction_read_only = off',
    "set search_path to /* a comment */ 'conduit_one'",
    'set search_path to conduit_one; select 1',
    'set client_encoding to latin1',
    // To PostgreSQL this space is a part of the name.
    'set search_path = default\u00a0',
    'set application_name = name\u00a0',
    "select set_config('search_path', 'conduit_one', false)",
  ]) {
    it(`pin it where another connection cannot be given them: ${text}`, async () => {
      const pool = await open();
      const client = await pool.connect();
      await client.query(text).catch(() => {});
      await delay(2);
      assert.equal(pinned(pool), 1);
      client.release();
    });
  }

  it('pin it when they are made in a transaction, which may take them back', async () => {
    const pool = await open();
    const client = await pool.connect();
    await client.query('begin');
    await client.query('set search_path to conduit_one');
    await client.query('rollback');
    assert.equal((await client.query(READ, [1])).rows[0].place, 'base');
    assert.equal(pinned(pool), 1);
    client.release();
  });

  it('are not made by a statement that fails', async () => {
    const pool = await open();
    const client = await pool.connect();
    await client.query('set search_path to conduit_one');
    assert.equal((await errorOf(client.query("set timezone to 'nowhere'"))).code, '22023');
    const both = "set search_path to conduit_two; set timezone to 'nowhere'";
    assert.equal((await errorOf(client.query(both))).code, '22023');
    assert.equal((await client.query(READ, [1])).rows[0].place, 'one');
    client.release();
  });

  it('hold for what is sent behind them without waiting', async () => {
    const pool = await open();
    const client = await pool.connect();
    const results = await Promise.all([
      client.query(READ, [1]),
      client.query('set search_path to conduit_one'),
      client.query(READ, [1]),
      client.query('set search_path to conduit_two'),
      client.query(READ, [1]),
      client.query('reset search_path'),
      client.query(READ, [1]),
    ]);
    const places = results.map(({ rows }) => rows[0]?.place);
    assert.deepEqual(
      places.filter((place) => place !== undefined),
      ['base', 'one', 'two', 'base'],
    );
    client.release();
  });

  it('are executed once, and known from then on', async () => {
    const pool = await open({ max: 2 });
    const text = 'set search_path to conduit_one; set time zone default; reset work_mem';
    /** @param {any} client */
    const make = async (client) => {
      const results = await client.query(text);
      assert.deepEqual(
        results.map(({ command, rowCount, rows, fields }) => [command, rowCount, rows, fields]),
        [
          ['SET', null, [], []],
          ['SET', null, [], []],
          ['RESET', null, [], []],
        ],
      );
      assert.equal((await client.query(READ, [1])).rows[0].place, 'one');
    };
    // All at once: whoever waits for a connection to make them waits no longer.
    const clients = await Promise.all(Array.from({ length: 20 }, () => pool.connect()));
    await Promise.all(clients.map(make));
    await untilFloating(pool);
    for (const client of clients) client.release();
    const others = await Promise.all([pool.connect(), pool.connect()]);
    for (const client of others) await client.query('begin');
    // There is no connection left: it needs none.
    const client = await pool.connect();
    assert.equal((await client.query(text)).length, 3);
    for (const other of others) other.release(true);
    client.release();
  });

  for (const [text, tag] of [
    ['discard all', 'DISCARD ALL'],
    ['RESET ALL;', 'RESET'],
  ]) {
    it(`are all that ${text} undoes while the client holds no connection, so it needs none`, async () => {
      const pool = await open({ max: 2 });
      const client = await pool.connect();
      await client.query('set search_path to conduit_one');
      await untilFloating(pool);
      const others = await Promise.all([pool.connect(), pool.connect()]);
      await others[0].query('begin');
      const result = await client.query(text);
      assert.deepEqual(
        [result.command, result.rowCount, result.rows, result.fields],
        [tag.split(' ')[0], null, [], []],
      );
      assert.equal((await client.query(READ, [1])).rows[0].place, 'base');
      assert.equal(pinned(pool), 1);
      for (const one of [client, ...others]) one.release();
    });
  }

  it('are given back with the client', async () => {
    const pool = await open({ max: 2 });
    for (const text of ['set search_path to conduit_one', 'set datestyle = german']) {
      const client = await pool.connect();
      await client.query('set search_path to conduit_two');
      await client.query(text);
      client.release();
    }
    const clients = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    for (const client of clients) {
      assert.equal((await client.query(READ, [1])).rows[0].place, 'base');
      client.release();
    }
    const place = await pool.transaction(async (tx) => (await tx.query(READ, [1])).rows[0].place);
    assert.equal(place, 'base');
  });

  it('decide what a literal means, though others have prepared the text, or will', async () => {
    const MIDNIGHT = "select extract(epoch from timestamptz '2026-01-01 00:00')::int as seconds";
    const pool = await open({ options: '-c TimeZone=UTC -c search_path=conduit_test' }, [MIDNIGHT]);
    await teach(pool, MIDNIGHT, [], 3);
    const secondsOf = async (asker) => (await asker.query(MIDNIGHT)).rows[0].seconds;
    const midnight = Date.UTC(2026, 0, 1) / 1000;
    const zones = ['Asia/Tokyo', 'Asia/Kolkata'];
    const [tokyo, kolkata] = await Promise.all(zones.map(() => pool.connect()));
    for (const [i, client] of [tokyo, kolkata].entries()) {
      await client.query(`set time zone '${zones[i]}'`);
    }
    await untilFloating(pool);
    for (let i = 0; i < 4; ++i) {
      assert.equal(await secondsOf(tokyo), midnight - 9 * 3600);
      assert.equal(await secondsOf(kolkata), midnight - 5.5 * 3600);
      assert.equal(await secondsOf(pool), midnight);
      for (const client of [tokyo, kolkata]) await client.query('begin');
      assert.equal(await secondsOf(tokyo), midnight - 9 * 3600);
      assert.equal(await secondsOf(kolkata), midnight - 5.5 * 3600);
      for (const client of [tokyo, kolkata]) await client.query('rollback');
    }
    for (const client of [tokyo, kolkata]) client.release();
  });

  it('decide which columns a table has, though others have prepared the text, in transactions, too', async () => {
    const COLUMN = 'select value from typed';
    for (const [schema, type] of [
      ['conduit_test', 'date'],
      ['conduit_one', 'int'],
      ['conduit_two', 'text'],
    ]) {
      await observer.ask(`create table ${schema}.typed (value ${type})`);
    }
    const pool = await open({}, [COLUMN]);
    const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
    await clients[1].query('set search_path to conduit_one');
    await clients[2].query('set search_path to conduit_two');
    for (let i = 0; i < 4; ++i) {
      for (const [j, type] of [1082, 23, 25].entries()) {
        await clients[j].query('begin');
        for (const name of [undefined, 'mine']) {
          const { fields } = await clients[j].query({ name, text: COLUMN });
          assert.equal(fields[0].dataTypeID, type);
        }
        await clients[j].query('commit');
        await untilFloating(pool);
      }
    }
    for (const client of clients) client.release();
  });

  describe('that a connection does not take', () => {
    const NOTE = 'insert into noted values ($1)';
    /** @type {Proxy} */
    let proxy;

    before(async () => {
      for (const tenant of TENANTS) {
        await observer.ask(`create table conduit_${tenant}.noted (note text)`);
      }
    });
    beforeEach(async () => {
      proxy = await Proxy.open();
    });
    afterEach(() => proxy.close());

    /** As if a time limit or an administrator had ended them. */
    function refuseSettings() {
      proxy.changeRequest = (bytes) => {
        const text = bytes
          .toString('latin1')
          .replace(/((?:re)?set) search_path(?= to|\0)/gi, '$1 search_hath');
        return Buffer.from(text, 'latin1');
      };
    }

    async function openFloating() {
      const options = '-c search_path=conduit_test';
      const pool = await open({ ...proxy.options(), options, multiplex: 'all' });
      pool.on('error', () => {});
      await teach(pool, NOTE, ['first'], 2);
      const client = await pool.connect();
      await client.query('set search_path to conduit_one');
      await untilFloating(pool);
      await client.query(NOTE, ['tenant']);
      return { pool, client };
    }

    /** @param {string} schema */
    const notesIn = async (schema) =>
      (await observer.ask(`select distinct note from ${schema}.noted order by 1`)).map(
        ({ note }) => note,
      );

    it('let no write through to where others write', async () => {
      const { pool, client } = await openFloating();
      refuseSettings();
      for (let i = 0; i < 5; ++i) {
        const writes = [
          pool.query(NOTE, ['base']),
          client.query(NOTE, ['tenant']),
          pool.query(NOTE, ['base']),
        ];
        for (const { reason } of await Promise.allSettled(writes)) {
          if (reason !== undefined) assert.equal(reason.outcome, 'not-run');
        }
      }
      const result = pool.transaction((tx) => tx.query(NOTE, ['base']));
      await result.catch((error) => assert.equal(error.outcome, 'not-run'));
      assert.deepEqual(await notesIn('conduit_one'), ['tenant']);
      assert.ok(!(await notesIn('conduit_test')).includes('tenant'));
      client.release(true);
    });

    it('let no read answer from there, and do not tell their error to others', async () => {
      const { pool, client } = await openFloating();
      refuseSettings();
      for (let i = 0; i < 5; ++i) {
        const reads = [pool.query(READ, [1]), client.query(READ, [1]), pool.query(READ, [1])];
        for (const [j, { value, reason }] of (await Promise.allSettled(reads)).entries()) {
          if (reason === undefined) assert.equal(value.rows[0].place, j === 1 ? 'one' : 'base');
          else assert.ok(reason instanceof ConnectionError, String(reason));
        }
      }
      client.release(true);
    });
  });

  it(`never show through to others, whatever fails beside them (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    const pool = await open({ max: 2 });
    const divide = 'select place, 1 / id as i from here where id = $1';
    await teach(pool, divide, [1], 3);
    /** @param {any} asker @param {string} place */
    async function read(asker, place) {
      if (random.chance(0.1)) {
        assert.equal((await errorOf(asker.query(divide, [0]))).code, '22012');
        return;
      }
      const text = random.pick([READ, divide, { name: 'mine', text: READ }]);
      const query = typeof text === 'string' ? { text } : text;
      const { rows } = await asker.query({ ...query, values: [1] });
      assert.equal(rows[0].place, place);
    }
    /** @param {string} tenant */
    async function visit(tenant) {
      for (let turns = 0; turns < 12; ++turns) {
        const client = await pool.connect();
        await client.query(`set search_path to conduit_${tenant}`);
        for (let reads = random.int(1, 9); reads > 0; --reads) await read(client, tenant);
        if (random.chance(0.3)) {
          await client.query('begin');
          await read(client, tenant).catch(() => {});
          await client.query('rollback');
          await read(client, tenant);
        }
        client.release(random.chance(0.1));
      }
    }
    let isOver = false;
    /** Of the pool itself. */
    async function others() {
      while (!isOver) await read(pool, 'base');
    }
    const strangers = Array.from({ length: 6 }, others);
    await Promise.all([...TENANTS, ...TENANTS, ...TENANTS].map(visit));
    isOver = true;
    await Promise.all(strangers);
  });
});
