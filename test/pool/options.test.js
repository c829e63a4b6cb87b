'use strict';

// The options and properties of pg-pool: hooks for new connections, client classes, what
// tools read of a pool, and the arguments of its events and callbacks.

const assert = require('node:assert/strict');
const { EventEmitter, once } = require('node:events');
const { inspect } = require('node:util');
const pg = require('pg');
const { Client, OptionError, ParameterError, Pool, PoolError } = require('../..');
const { endAll, newClient, newPool, options, resetSchema } = require('../support/connect');
const { called, errorOf } = require('../support/outcomes');

describe('options of pg-pool', () => {
  before(resetSchema);
  afterEach(endAll);

  for (const name of ['onConnect', 'verify']) {
    /** @param {(client: Client) => any} run */
    const hook = (run) => ({
      [name]:
        name === 'onConnect'
          ? run
          : (client, callback) => run(client).then(() => callback(), callback),
    });

    it(`${name} configures each connection before it is used`, async () => {
      let calls = 0;
      const pool = newPool({
        max: 3,
        ...hook(async (client) => {
          ++calls;
          await client.query('select pg_sleep(0.02)');
          await client.query("set work_mem = '123kB'");
        }),
      });
      const results = await Promise.all(
        Array.from({ length: 6 }, () =>
          pool.query('select pg_sleep(0.05), current_setting($1)', ['work_mem']),
        ),
      );
      for (const { rows } of results) assert.equal(rows[0].current_setting, '123kB');
      assert.equal(calls, pool.totalCount);
    });

    it(`${name} that fails rejects the waiting calls, and its connection is closed`, async () => {
      const failure = new RangeError('not this one');
      let calls = 0;
      const pool = newPool({
        max: 1,
        ...hook(async (client) => {
          const { rows } = await client.query('select 1 as one');
          assert.deepEqual(rows, [{ one: 1 }]);
          if (++calls === 1) throw failure;
        }),
      });
      const error = await errorOf(pool.query('select 1'));
      assert.ok(error instanceof RangeError);
      assert.equal(error.message, 'not this one');
      assert.equal(pool.totalCount, 0);
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
      assert.equal(calls, 2);
    });

    it(`${name} that never ends does not keep the pool from ending`, async () => {
      const pool = newPool({ ...hook(() => new Promise(() => {})), connectionTimeoutMillis: 100 });
      const error = await errorOf(pool.query('select 1'));
      assert.equal(error.code, 'ERR_PG_CONDUIT_POOL_TIMEOUT');
      await pool.end();
    });
  }

  it('onConnect that leaves a transaction open rejects with a message about it', async () => {
    const pool = newPool({ onConnect: (client) => client.query('begin') });
    const error = await errorOf(pool.query('select 1'));
    assert.match(error.message, /left a transaction open/);
  });

  it('Client sets the class of the clients', async () => {
    const seen = [];
    class Mine extends Client {
      constructor(config) {
        super(config);
        seen.push(config.application_name);
      }

      greet() {
        return 'hello';
      }
    }
    for (const pool of [
      newPool({ Client: Mine, application_name: 'mine' }),
      new Pool(options({ application_name: 'mine' }), Mine),
    ]) {
      assert.equal(pool.Client, Mine);
      const client = await pool.connect();
      assert.ok(client instanceof Mine);
      assert.equal(client.greet(), 'hello');
      assert.equal(client.user, new Client(options()).user);
      client.release();
      assert.deepEqual((await pool.query('show application_name')).rows, [
        { application_name: 'mine' },
      ]);
      await pool.end();
    }
    assert.equal(new Set(seen).size, 1);
  });

  it('Client is refused if its instances could not work in the pool', async () => {
    class Deaf extends Client {
      constructor() {
        super(options());
      }
    }
    for (const [Given, message] of [
      [pg.Client, /must be a class that extends/],
      [class {}, /must be a class that extends/],
      [Deaf, /must pass on to super\(\)/],
    ]) {
      const error = await errorOf(newPool({ Client: Given }).query('select 1'));
      assert.ok(error instanceof OptionError);
      assert.match(error.message, message);
    }
  });

  it('Promise sets the class of the promises of a pool and of its clients', async () => {
    class Mine extends Promise {}
    const pool = newPool({ Promise: Mine });
    assert.equal(pool.Promise, Mine);
    const query = pool.query('select 1 as one');
    const connected = pool.connect();
    for (const promise of [query, connected]) assert.ok(promise instanceof Mine);
    assert.deepEqual((await query).rows, [{ one: 1 }]);
    const client = await connected;
    const inner = client.query('select 1');
    assert.ok(inner instanceof Mine);
    await inner;
    client.release();
    assert.ok(pool.end() instanceof Mine);
  });

  it('poolSize is an alias of max, which goes first', async () => {
    assert.equal(newPool({ poolSize: 3 }).options.max, 3);
    assert.equal(newPool({ poolSize: 3, max: 4 }).options.max, 4);
    assert.equal(newPool({ poolSize: 3, max: NaN }).options.max, 3);
    const error = await errorOf(newPool({ poolSize: -1 }).query('select 1'));
    assert.match(error.message, /option "poolSize"/);
  });

  it('maxUses: 0 means no limit', async () => {
    const pool = newPool({ maxUses: 0, max: 1 });
    const pids = new Set();
    for (let use = 0; use < 3; ++use) {
      pids.add((await pool.query('select pg_backend_pid() as pid')).rows[0].pid);
    }
    assert.equal(pids.size, 1);
  });

  it('log is called when connections are opened and closed', async () => {
    const lines = [];
    const pool = newPool({ log: (line) => lines.push(line), max: 1 });
    await pool.query('select 1');
    await pool.end();
    assert.deepEqual(lines, ['new client connected', 'ending', 'remove client']);
    assert.equal(typeof newPool().log('x'), 'undefined');
  });
});

describe('a pool, as seen by tools,', () => {
  before(resetSchema);
  afterEach(endAll);

  it('has its options, without the secrets', () => {
    const config = { user: 'alice', password: 'secret', ssl: { key: 'private' }, myOwn: 1 };
    const ours = new Pool({ ...config, ssl: { ...config.ssl } });
    const theirs = new pg.Pool({ ...config, ssl: { ...config.ssl } });
    assert.deepEqual(ours.options, theirs.options);
    assert.equal(ours.options.password, 'secret');
    assert.equal(ours.options.ssl.key, 'private');
    for (const shown of [inspect(ours.options, { depth: 9 }), JSON.stringify(ours.options)]) {
      assert.doesNotMatch(shown, /secret|private/);
    }
    // pg changes what it was given.
    assert.ok(Object.keys(config.ssl).includes('key'));
    assert.equal(new Pool('postgresql://host/db').options.connectionString, 'postgresql://host/db');
  });

  it('has the counts and lists of pg-pool', async () => {
    const pool = newPool({ max: 1, maxLifetimeSeconds: 1000 });
    const see = () => [pool._clients.length, pool._idle.length, pool._pendingQueue.length];
    assert.deepEqual(see(), [0, 0, 0]);
    const client = await pool.connect();
    const waiting = pool.query('select 1');
    assert.deepEqual(see(), [1, 0, 1]);
    assert.equal(pool._clients[0], client);
    assert.equal(client._poolUseCount, undefined);
    client.release();
    assert.equal(client._poolUseCount, 1);
    await waiting;
    assert.deepEqual(see(), [1, 1, 0]);
    assert.equal(pool._idle[0].client, client);
    assert.equal(pool.expiredCount, 0);
    assert.deepEqual([pool.ending, pool.ended], [false, false]);
    const ended = pool.end();
    assert.deepEqual([pool.ending, pool.ended], [true, false]);
    await ended;
    assert.deepEqual([pool.ending, pool.ended], [true, true]);
    assert.deepEqual(see(), [0, 0, 0]);
  });

  for (const driver of ['pg', 'pg-conduit']) {
    const open = () => (driver === 'pg' ? new pg.Pool(options({ max: 1 })) : newPool({ max: 1 }));

    it(`of ${driver} calls its listeners and callbacks with these arguments`, async () => {
      const pool = open();
      const events = [];
      for (const event of ['connect', 'acquire', 'release', 'remove', 'error']) {
        pool.on(event, (...args) => {
          const described = args.map((arg) => {
            if (arg instanceof Error) return arg.message;
            return typeof arg?.query === 'function' ? 'client' : arg;
          });
          events.push([event, ...described]);
        });
      }
      const answer = await called((callback) =>
        assert.equal(pool.query('select 1 as one', callback), undefined),
      );
      assert.equal(answer[0], undefined);
      assert.deepEqual(answer[1].rows, [{ one: 1 }]);
      // pg gives the connection up with the query.
      const spoilt = driver === 'pg' ? once(pool, 'remove') : undefined;
      const failed = await called((callback) => pool.query('selec', callback));
      await spoilt;
      assert.equal(failed[0].code, '42601');
      assert.equal(failed[1], undefined);
      const [mistake] = await called((callback) => pool.query(callback));
      assert.equal(
        mistake.message,
        'Passing a function as the first parameter to pool.query is not supported',
      );
      events.splice(0);
      const lent = await called((callback) => assert.equal(pool.connect(callback), undefined));
      assert.equal(lent.length, 3);
      assert.equal(lent[0], undefined);
      assert.equal(lent[1].release, lent[2]);
      lent[2]();
      assert.throws(() => lent[2](), {
        message: 'Release called on client which has already been released to the pool.',
      });
      const again = await pool.connect();
      const removed = once(pool, 'remove');
      again.release(true);
      await removed;
      const third = await pool.connect();
      const gone = once(pool, 'remove');
      third.release(new Error('spoilt'));
      await gone;
      const ends = await called((callback) => assert.equal(pool.end(callback), undefined));
      assert.equal(ends[0], undefined);
      const [twice] = await called((callback) => pool.end(callback));
      assert.equal(twice.message, 'Called end on pool more than once');
      const [late, ...rest] = await called((callback) => pool.connect(callback));
      assert.equal(late.message, 'Cannot use a pool after calling end on the pool');
      assert.equal(rest[0], undefined);
      await assert.rejects(pool.query('select 1'), { message: late.message });
      assert.deepEqual(
        events.filter(([event]) => event !== 'connect'),
        [
          ['acquire', 'client'],
          ['release', undefined, 'client'],
          ['acquire', 'client'],
          ['release', true, 'client'],
          ['remove', 'client'],
          ['acquire', 'client'],
          ['release', 'spoilt', 'client'],
          ['remove', 'client'],
        ],
      );
    });

    it(`of ${driver} emits an error for a connection lost while idle`, async () => {
      const pool = open();
      const killer = await newClient();
      const { rows } = await pool.query('select pg_backend_pid() as pid');
      const told = once(pool, 'error');
      await killer.query('select pg_terminate_backend($1)', [rows[0].pid]);
      const [error, client] = await told;
      assert.equal(error.client, client);
      assert.equal(error.code, '57P01');
      assert.equal(error.severity, 'FATAL');
      assert.equal(error.message, 'terminating connection due to administrator command');
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
      await pool.end();
    });
  }

  it('rejects a callback that is no function', async () => {
    const pool = newPool();
    for (const one of [pool, await newClient()]) {
      const error = await errorOf(one.query('select 1', [], 5));
      assert.ok(error instanceof ParameterError);
      assert.equal(error.message, 'callback is not a function');
    }
    assert.ok(PoolError.prototype instanceof Error);
  });

  it('rejects wrong arguments of connect(), and takes end() as an event listener', async () => {
    const pool = newPool();
    const client = new Client(options());
    for (const one of [pool, client]) {
      const error = await errorOf(one.connect({ signal: AbortSignal.abort() }));
      assert.ok(error instanceof ParameterError);
      assert.match(error.message, /^callback is not a function: connect\(\) takes/);
    }
    await client.connect();
    for (const one of [pool, client]) {
      const events = new EventEmitter();
      const ended = new Promise((resolve) => {
        events.once('SIGTERM', (...given) => resolve(one.end(...given)));
      });
      events.emit('SIGTERM', 'SIGTERM', 15);
      assert.equal(await ended, undefined);
    }
  });

  it('says where limits belong, when they are passed in place of the values', async () => {
    const pool = newPool();
    for (const one of [pool, await newClient()]) {
      const { signal } = new AbortController();
      const error = await errorOf(one.query('select 1', { signal, timeoutMillis: 5 }));
      assert.equal(error.message, 'Query values must be an array');
      assert.match(error.hint, /query\(text, \[\], \{ signal, timeoutMillis \}\)/);
    }
  });
});
