'use strict';

// lib/pool/listener.js: pool.listen() and pool.notify(). Notifications, the lifetime of subscriptions, and
// how they recover when the server goes away, on a server of its own.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { isDeepStrictEqual } = require('node:util');
const { ConnectionError, DatabaseError, ParameterError, Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { newClient, options } = require('../support/connect');
const { Observer, applicationName, runFixture, seen, until } = require('../support/outside');
const { newPool, poolError, usePools } = require('../support/pools');
const { NOWHERE, deadPort, listen } = require('../support/ports');

let channels = 0;

/** @returns {string} a channel of this test alone */
function newChannel() {
  return `conduit_${process.pid}_${++channels}`;
}

/** A handler that keeps what it was given. */
function newHandler() {
  const payloads = [];
  const handler = (payload) => payloads.push(payload);
  return { handler, payloads };
}

/** @returns {Promise<{ query: string, state: string } | undefined>} what a backend has done last */
async function lastCommand(observer, name) {
  const [backend] = await observer.ask(
    'select query, state from pg_stat_activity where application_name = $1',
    [name],
  );
  return backend;
}

/** @param {Observer} observer @param {string} name application_name of a pool with one channel */
async function untilListening(observer, name, channel) {
  const listening = { query: `listen "${channel}"`, state: 'idle' };
  await until('it listens', async () =>
    isDeepStrictEqual(await lastCommand(observer, name), listening),
  );
}

async function untilHeard(payloads, count) {
  await until(`${count} notifications have come`, () => payloads.length >= count);
}

describe('pool.listen()', function () {
  this.timeout(20000);

  const observer = usePools();

  describe('delivers notifications', () => {
    it('with their payload, channel and sender', async () => {
      const pool = newPool();
      const channel = newChannel();
      const calls = [];
      const subscription = await pool.listen(channel, (...args) => calls.push(args));
      assert.equal(subscription.channel, channel);
      const sender = await newClient();
      for (const payload of ['text', '', 'ünï 😀', 'x'.repeat(7999)]) {
        await sender.query('select pg_notify($1, $2)', [channel, payload]);
      }
      await untilHeard(calls, 4);
      const source = { channel, processId: sender.processID };
      assert.deepEqual(calls, [
        ['text', source],
        ['', source],
        ['ünï 😀', source],
        ['x'.repeat(7999), source],
      ]);
    });

    it('of channels with any name, and of no other', async () => {
      const pool = newPool();
      const heard = [];
      const names = [
        'a b',
        'Ü',
        'ü',
        'x"y',
        'Upper',
        'upper',
        'select',
        '*',
        "it's",
        'back\\slash',
        'two\nlines',
        '$1',
        '😀',
        'x'.repeat(63),
        'é'.repeat(31),
        ';drop table x;--',
      ].map((name) => (name.length > 30 ? name : `${name}${process.pid}`));
      const subscriptions = await Promise.all(
        names.map((name) => pool.listen(name, (payload, source) => heard.push([payload, source]))),
      );
      for (const name of names) await pool.notify(name, `to ${name}`);
      await untilHeard(heard, names.length);
      assert.deepEqual(
        heard.map(([payload, { channel }]) => [payload, channel]),
        names.map((name) => [`to ${name}`, name]),
      );
      await Promise.all(subscriptions.slice(1).map(({ unlisten }) => unlisten()));
      for (const name of names) await pool.notify(name, 'again');
      // The one that is left comes in order behind those that are not to come.
      await pool.notify(names[0], 'last');
      await untilHeard(heard, names.length + 2);
      assert.deepEqual(
        heard.slice(names.length).map(([payload, { channel }]) => [payload, channel]),
        [
          ['again', names[0]],
          ['last', names[0]],
        ],
      );
    });

    it('5,000 of them in order, also across two channels', async () => {
      const pool = newPool();
      const [even, odd] = [newChannel(), newChannel()];
      const { handler, payloads } = newHandler();
      await Promise.all([pool.listen(even, handler), pool.listen(odd, handler)]);
      const numbers = Array.from({ length: 5000 }, (_, n) => String(n));
      await pool.query(
        'select pg_notify(case n % 2 when 0 then $1 else $2 end, n::text) from generate_series(0, 4999) n',
        [even, odd],
      );
      await untilHeard(payloads, 5000);
      assert.deepEqual(payloads, numbers);
    });

    it('5,000 of them from separate transactions, while the pool is used', async () => {
      const pool = newPool({ max: 2 });
      const channel = newChannel();
      const { handler, payloads } = newHandler();
      await pool.listen(channel, handler);
      const sender = await newClient();
      const numbers = Array.from({ length: 5000 }, (_, n) => String(n));
      await Promise.all([
        ...numbers.map((n) => sender.query('select pg_notify($1, $2)', [channel, n])),
        ...numbers.map((n) => pool.query('select $1::int', [n])),
      ]);
      await untilHeard(payloads, 5000);
      assert.deepEqual(payloads, numbers);
    });

    it('to every handler of a channel, by one LISTEN', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name });
      const channel = newChannel();
      const handlers = [newHandler(), newHandler(), newHandler()];
      await Promise.all(handlers.map(({ handler }) => pool.listen(channel, handler)));
      // The same function twice is two subscriptions, as two calls are.
      const twice = await pool.listen(channel, handlers[2].handler);
      await pool.notify(channel, 'to all');
      await untilHeard(handlers[2].payloads, 2);
      assert.deepEqual(
        handlers.map(({ payloads }) => payloads),
        [['to all'], ['to all'], ['to all', 'to all']],
      );
      await twice.unlisten();
      await pool.notify(channel, 'again');
      await until('all have heard', () => handlers.every(({ payloads }) => payloads.length > 1));
      assert.deepEqual(handlers[2].payloads, ['to all', 'to all', 'again']);
    });

    it('only after its promise is resolved, so that a handler can use the subscription', async () => {
      const pool = newPool();
      const channel = newChannel();
      const sender = await newClient();
      for (let i = 0; i < 20; ++i) {
        // Some of these are sent in the moment in which the server begins to listen.
        const burst = Array.from({ length: 20 }, () => sender.query(`notify ${channel}`));
        let heard;
        const first = new Promise((resolve) => {
          heard = resolve;
        });
        const subscription = await pool.listen(channel, () => heard(subscription.unlisten()));
        await pool.notify(channel);
        await Promise.all([first, ...burst]);
      }
    });

    it('of committed transactions, and not of those rolled back', async () => {
      const pool = newPool();
      const channel = newChannel();
      const { handler, payloads } = newHandler();
      await pool.listen(channel, handler);
      const client = await pool.connect();
      await client.query('begin');
      await client.query('select pg_notify($1, $2)', [channel, 'rolled back']);
      await client.query('rollback');
      client.release();
      await pool.notify(channel, 'committed');
      await untilHeard(payloads, 1);
      assert.deepEqual(payloads, ['committed']);
    });
  });

  describe('uses one additional connection', () => {
    it('for all channels, opened by the first subscription and closed after the last', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name, max: 1 });
      pool.on('connect', () => assert.fail('it is none of the pool'));
      assert.deepEqual(await observer.backends(name), []);
      const subscriptions = await Promise.all(
        Array.from({ length: 30 }, () => pool.listen(newChannel(), () => {})),
      );
      assert.equal((await observer.backends(name)).length, 1);
      assert.equal(pool.totalCount, 0);
      const last = subscriptions.pop();
      await Promise.all(subscriptions.map(({ unlisten }) => unlisten()));
      assert.equal((await observer.backends(name)).length, 1);
      await last.unlisten();
      await until('it is closed', async () => !(await observer.backends(name)).length);
      pool.removeAllListeners('connect');
      await pool.listen(newChannel(), () => {});
      assert.equal((await observer.backends(name)).length, 1);
    });

    it('which is not closed while idle', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name, idleTimeoutMillis: 20, maxUses: 1 });
      const channel = newChannel();
      const { handler, payloads } = newHandler();
      await pool.listen(channel, handler);
      const [pid] = await observer.backends(name);
      const removed = seen(pool, 'remove');
      await pool.query('select 1');
      await removed;
      await pool.notify(channel, 'still there');
      await untilHeard(payloads, 1);
      assert.ok((await observer.backends(name)).includes(pid));
    });

    it('which pool.end() closes, without further calls of handlers', async () => {
      const name = applicationName();
      const pool = new Pool(options({ application_name: name }));
      const channel = newChannel();
      const { handler, payloads } = newHandler();
      const { unlisten } = await pool.listen(channel, handler);
      const notified = pool.notify(channel, 'too late');
      const ended = pool.end();
      await Promise.all([notified, ended]);
      await until('it is closed', async () => !(await observer.backends(name)).length);
      assert.deepEqual(payloads, []);
      await unlisten();
      await assert.rejects(pool.listen(channel, handler), poolError('ERR_PG_CONDUIT_POOL_ENDED'));
      await assert.rejects(pool.notify(channel), poolError('ERR_PG_CONDUIT_POOL_ENDED'));
    });

    it('and pool.end() rejects a listen() that is not done', async () => {
      for (let turns = 0; turns < 10; ++turns) {
        const name = applicationName();
        const pool = new Pool(options({ application_name: name }));
        const listening = pool.listen(newChannel(), () => {});
        const settled = Promise.allSettled([listening]);
        for (let i = 0; i < turns; ++i) await new Promise(setImmediate);
        await pool.end();
        const [{ status, reason }] = await settled;
        if (status === 'rejected') poolError('ERR_PG_CONDUIT_POOL_ENDED')(reason);
        else assert.ok(turns > 0);
        await until('it is closed', async () => !(await observer.backends(name)).length);
      }
    });
  });

  describe('subscriptions begin and end:', () => {
    it('no handler is called after the call of unlisten()', async () => {
      const pool = newPool();
      const channel = newChannel();
      const { handler: other, payloads: others } = newHandler();
      await pool.listen(channel, other);
      let isOver = false;
      let calls = 0;
      const subscription = await pool.listen(channel, () => {
        assert.equal(isOver, false);
        // In the middle of many that have arrived already.
        if (++calls === 10) {
          isOver = true;
          subscription.unlisten();
        }
      });
      await pool.query('select pg_notify($1, n::text) from generate_series(1, 1000) n', [channel]);
      await untilHeard(others, 1000);
      assert.equal(calls, 10);
    });

    it('a handler may end another subscription, and begin a new one', async () => {
      const pool = newPool();
      const channel = newChannel();
      const heard = [];
      const begun = [];
      await pool.listen(channel, (payload) => {
        heard.push(`first ${payload}`);
        if (payload === '1') {
          second.unlisten();
          begun.push(pool.listen(channel, (text) => heard.push(`third ${text}`)));
        }
      });
      const second = await pool.listen(channel, (payload) => heard.push(`second ${payload}`));
      await pool.notify(channel, '1');
      await untilHeard(heard, 1);
      await Promise.all(begun);
      await pool.notify(channel, '2');
      await untilHeard(heard, 3);
      assert.deepEqual(heard, ['first 1', 'first 2', 'third 2']);
    });

    it('unlisten() may be called twice, destructured, or replaced by `await using`', async () => {
      const pool = newPool();
      const channel = newChannel();
      const { handler, payloads } = newHandler();
      const subscription = await pool.listen(channel, handler);
      const other = await pool.listen(channel, () => {});
      const { unlisten } = subscription;
      await Promise.all([unlisten(), unlisten()]);
      await unlisten();
      // It was one subscription that ended, not the other one too.
      const { handler: next, payloads: nexts } = newHandler();
      await pool.listen(channel, next);
      await other[Symbol.asyncDispose]();
      await pool.notify(channel, 'heard');
      await untilHeard(nexts, 1);
      assert.deepEqual(payloads, []);
    });

    it('in any order, and the last call decides', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name });
      const channel = newChannel();
      const keeper = newChannel();
      await pool.listen(keeper, () => {});
      for (let round = 0; round < 50; ++round) {
        const { handler, payloads } = newHandler();
        const pending = [];
        let subscription = await pool.listen(channel, handler);
        for (let i = 0; i < round % 5; ++i) {
          pending.push(subscription.unlisten());
          const again = pool.listen(channel, handler);
          if (round % 2 === 0) {
            const brief = pool.listen(channel, handler);
            pending.push(brief.then(({ unlisten }) => unlisten()));
          }
          subscription = await again;
        }
        await Promise.all(pending);
        await pool.notify(channel, `round ${round}`);
        await untilHeard(payloads, 1);
        assert.deepEqual(payloads, [`round ${round}`]);
        await subscription.unlisten();
        await pool.notify(channel, 'nobody');
        assert.deepEqual(payloads, [`round ${round}`]);
      }
      assert.equal((await observer.backends(name)).length, 2, 'one to listen, one to notify');
    });

    it('many at a time, without leaving a connection', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name });
      const names = Array.from({ length: 5 }, newChannel);
      await Promise.all(
        Array.from({ length: 200 }, async (_, i) => {
          const subscription = await pool.listen(names[i % names.length], () => {});
          if (i % 3 === 0) await new Promise(setImmediate);
          await subscription.unlisten();
        }),
      );
      await until('it is closed', async () => !(await observer.backends(name)).length);
    });

    it('unlisten() resolves when the server has run UNLISTEN', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name });
      const channel = newChannel();
      await pool.listen(newChannel(), () => {});
      const { unlisten } = await pool.listen(channel, () => {});
      await unlisten();
      const last = { query: `unlisten "${channel}"`, state: 'idle' };
      assert.deepEqual(await lastCommand(observer, name), last);
    });
  });

  describe('refuses', () => {
    for (const [what, args, message] of [
      ['no name', [undefined, () => {}], /name of a channel must be a string, not undefined/],
      ['null', [null, () => {}], /must be a string, not null/],
      ['a number', [5, () => {}], /must be a string, not number/],
      ['an empty name', ['', () => {}], /must not be empty/],
      ['a name that the server would truncate', ['x'.repeat(64), () => {}], /63 bytes .* not 64/],
      ['a name too long in UTF-8', ['é'.repeat(32), () => {}], /63 bytes .* not 64/],
      ['NUL', ['a\0b', () => {}], /NUL/],
      ['half of a surrogate pair', ['a\ud83d', () => {}], /surrogate/],
      ['no handler', ['channel'], /second argument .* function/],
      ['a handler that is no function', ['channel', { onGap() {} }], /second argument .* function/],
      ['options that are no object', ['channel', () => {}, () => {}], /third argument .* object/],
      ['null as options', ['channel', () => {}, null], /third argument .* object/],
      ['an onGap that is no function', ['channel', () => {}, { onGap: true }], /"onGap"/],
      ['an unknown option', ['channel', () => {}, { onlisten() {} }], /no option "onlisten"/],
    ]) {
      it(`${what}, with a rejection that says why`, async () => {
        const pool = newPool();
        await assert.rejects(pool.listen(...args), (error) => {
          assert.ok(error instanceof ParameterError, String(error));
          assert.match(error.message, message);
          assert.equal(error.outcome, 'not-run');
          return true;
        });
        assert.equal(pool.totalCount, 0);
      });
    }

    it('to listen when the options of the pool are wrong', async () => {
      const pool = newPool({ max: 'many' });
      await assert.rejects(
        pool.listen('channel', () => {}),
        { code: 'ERR_PG_CONDUIT_OPTION' },
      );
      await assert.rejects(pool.notify('channel'), { code: 'ERR_PG_CONDUIT_OPTION' });
    });

    it('LISTEN in pool.query(), with a message that names pool.listen()', async () => {
      await assert.rejects(newPool().query('listen channel'), {
        code: 'ERR_PG_CONDUIT_REFUSED',
        message: /pool\.listen\(/,
      });
    });
  });

  describe('and pool.notify()', () => {
    it('sends on a shared connection, and resolves to nothing', async () => {
      const pool = newPool({ max: 1 });
      const channel = newChannel();
      const { handler, payloads } = newHandler();
      await pool.listen(channel, handler);
      assert.equal(await pool.notify(channel), undefined);
      assert.equal(await pool.notify(channel, undefined), undefined);
      assert.equal(await pool.notify(channel, `it's "quoted" \\ $1`), undefined);
      assert.equal(pool.totalCount, 1);
      await untilHeard(payloads, 3);
      assert.deepEqual(payloads, ['', '', `it's "quoted" \\ $1`]);
    });

    it('sends equal notifications of one tick as often as it is called', async () => {
      const pool = newPool({ max: 1, syncGroup: 'all' });
      const channel = newChannel();
      const { handler, payloads } = newHandler();
      await pool.listen(channel, handler);
      for (let i = 0; i < 5; ++i) await pool.notify(channel, 'the same');
      await Promise.all(Array.from({ length: 100 }, () => pool.notify(channel, 'the same')));
      await pool.notify(channel, 'last');
      await until('the last has come', () => payloads.includes('last'));
      assert.equal(payloads.length, 106);
    });

    it('refuses invalid channels and payloads, with a rejection that says why', async () => {
      const pool = newPool();
      for (const [args, message] of [
        [[], /name of a channel must be a string, not undefined/],
        [['', 'text'], /must not be empty/],
        [['x'.repeat(64), 'text'], /63 bytes/],
        [['channel', null], /payload must be a string, not null/],
        [['channel', 5], /payload must be a string, not number/],
        [['channel', { a: 1 }], /payload must be a string, not object: JSON\.stringify\(\)/],
        [['channel', 'a\0b'], /NUL/],
      ]) {
        await assert.rejects(pool.notify(...args), (error) => {
          assert.ok(error instanceof ParameterError, String(error));
          assert.match(error.message, message);
          return true;
        });
      }
      await assert.rejects(pool.notify('channel', 'x'.repeat(8000)), (error) => {
        assert.ok(error instanceof DatabaseError, String(error));
        assert.match(error.message, /payload string too long/);
        return true;
      });
    });
  });

  describe('in a process', () => {
    /** @param {string} scenario @param {Record<string, any>} [given] */
    const start = (scenario, given, channel = newChannel()) =>
      runFixture('listening.js', {
        args: [scenario, JSON.stringify(options({ idleTimeoutMillis: 50, ...given })), channel],
      });

    it('keeps it alive', async () => {
      const channel = newChannel();
      const name = applicationName();
      const ended = start('until told to end', { application_name: name }, channel);
      await untilListening(observer, name, channel);
      await observer.ask('select pg_notify($1, $2)', [channel, 'hello']);
      await observer.ask('select pg_notify($1, $2)', [channel, 'end']);
      assert.deepEqual(await ended, {
        code: 0,
        signal: null,
        stdout: 'listening\nhello\nend\n',
        stderr: '',
      });
    });

    it('lets it end after the last unlisten()', async () => {
      const ended = await start('until it unlistens');
      assert.deepEqual(ended, { code: 0, signal: null, stdout: 'unlistened\n', stderr: '' });
    });

    it('with allowExitOnIdle lets it end, but not before pending calls are done', async () => {
      const ended = await start('while something is awaited', { allowExitOnIdle: true });
      assert.deepEqual(ended, { code: 0, signal: null, stdout: 'unlistened\n', stderr: '' });
    });

    it('turns an error thrown by a handler into an uncaught exception, and calls the other handlers', async () => {
      const { code, stdout, stderr } = await start('handlers that throw');
      assert.equal(stderr, '');
      assert.equal(code, 0);
      assert.deepEqual(
        stdout.trim().split('\n').sort(),
        ['a', 'b', 'end'].flatMap((text) => [`second ${text}`, `uncaught first ${text}`]).sort(),
      );
    });

    it('ends it by an error thrown by a handler, if there is no listener for uncaught exceptions', async () => {
      const { code, stderr } = await start('a handler that throws, uncaught');
      assert.equal(code, 1);
      assert.match(stderr, /from the handler/);
    });
  });
});

describe('pool.listen() when the connection is lost', function () {
  this.timeout(20000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;
  /** @type {Observer} */
  let observer;
  /** @type {Pool[]} */
  let pools = [];
  /** @type {Gate} */
  let gate;

  /** A port of the database that can be closed and opened again. */
  class Gate {
    port = 0;
    /** Connections that were tried. */
    attempts = 0;
    /** Whether it passes nothing on: who connects gets no answer. */
    isMute = false;
    /** What the server says is kept in here, until release(). @type {[net.Socket, Buffer][] | undefined} */
    held = undefined;
    #sockets = new Set();
    #server = net.createServer((socket) => this.#join(socket));

    async open() {
      this.port = await listen(this.#server, this.port);
    }

    async close() {
      for (const socket of this.#sockets) socket.destroy();
      if (!this.#server.listening) return;
      this.#server.close();
      await once(this.#server, 'close');
    }

    /** All of it in one piece, to the one connection that it came from. */
    release() {
      const [[socket]] = this.held;
      socket.write(Buffer.concat(this.held.map(([, bytes]) => bytes)));
      this.held = undefined;
    }

    #join(socket) {
      ++this.attempts;
      const upstream = net.connect(database.config.port, database.config.host);
      for (const one of [socket, upstream]) {
        this.#sockets.add(one);
        one.on('error', () => {});
        one.on('close', () => {
          this.#sockets.delete(one);
          socket.destroy();
          upstream.destroy();
        });
      }
      socket.on('data', (bytes) => this.isMute || upstream.write(bytes));
      upstream.on('data', (bytes) => {
        if (this.held !== undefined) this.held.push([socket, bytes]);
        else if (!this.isMute) socket.write(bytes);
      });
    }
  }

  before(async () => {
    database = await startDatabase({
      own: true,
      listen: true,
      settings: { log_min_messages: 'fatal' },
    });
  });
  after(() => database.stop());
  beforeEach(async () => {
    gate = new Gate();
    await gate.open();
    observer = await Observer.open(database.config);
  });
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end().catch(() => {})));
    pools = [];
    await gate.close();
    await observer.close().catch(() => {});
  });

  /** @param {Record<string, any>} [given] */
  function newOwnPool(given) {
    const pool = new Pool({ ...database.config, ...given });
    pools.push(pool);
    return pool;
  }

  /** @param {Record<string, any>} [given] */
  function newGatedPool(given) {
    return newOwnPool({ port: gate.port, sslmode: 'disable', ...given });
  }

  /** @param {Pool} pool */
  async function newSubscription(pool, channel = newChannel()) {
    const { handler, payloads } = newHandler();
    const gaps = [];
    const errors = [];
    pool.on('error', (error) => errors.push(error));
    const subscription = await pool.listen(channel, handler, {
      onGap: (gap) => {
        gaps.push(gap);
        payloads.push('gap');
      },
    });
    return { channel, gaps, errors, payloads, unlisten: subscription.unlisten };
  }

  const notify = (channel, payload) => observer.ask('select pg_notify($1, $2)', [channel, payload]);

  /** @param {() => Promise<void>} lose @param {string} code what the loss is told by */
  async function assertRecovers(pool, name, lose, code) {
    const first = await newSubscription(pool);
    const second = await newSubscription(pool);
    await notify(first.channel, 'before');
    await untilHeard(first.payloads, 1);
    assert.deepEqual(first.gaps, []);
    await lose(await observer.backends(name));
    await untilHeard(first.payloads, 2);
    await untilHeard(second.payloads, 1);
    // It may have been cut too.
    await observer.close().catch(() => {});
    observer = await Observer.open(database.config);
    // Whoever is told of a gap may rely on what comes now.
    await notify(first.channel, 'after');
    await notify(second.channel, 'after');
    await untilHeard(first.payloads, 3);
    await untilHeard(second.payloads, 2);
    assert.deepEqual(first.payloads, ['before', 'gap', 'after']);
    assert.deepEqual(second.payloads, ['gap', 'after']);
    for (const { channel, gaps } of [first, second]) {
      const [gap] = gaps;
      assert.equal(gap.channel, channel);
      assert.ok(gap.error instanceof ConnectionError, String(gap.error));
      assert.equal(gap.error.code, code);
    }
    assert.equal(first.errors[0], first.gaps[0].error);
    // Reported once, and not to a subscription that began later.
    const third = await newSubscription(pool, first.channel);
    await notify(first.channel, 'last');
    await untilHeard(third.payloads, 1);
    assert.deepEqual(third.payloads, ['last']);
    assert.deepEqual(first.payloads, ['before', 'gap', 'after', 'last']);
  }

  it('delivers a notification that arrives together with the answer to LISTEN', async () => {
    const name = applicationName();
    const pool = newGatedPool({ application_name: name });
    await newSubscription(pool);
    gate.held = [];
    const channel = newChannel();
    const listening = newSubscription(pool, channel);
    await untilListening(observer, name, channel);
    await notify(channel, 'early');
    await until('it has been sent', () => gate.held.some(([, bytes]) => bytes.includes('early')));
    gate.release();
    const { payloads } = await listening;
    await untilHeard(payloads, 1);
    assert.deepEqual(payloads, ['early']);
  });

  it('listens again when its backend was terminated, and reports the gap', async () => {
    const name = applicationName();
    const terminate = ([pid]) => observer.terminate(pid);
    await assertRecovers(newOwnPool({ application_name: name }), name, terminate, '57P01');
  });

  it('listens again when its backend was killed', async () => {
    const name = applicationName();
    // The server restarts itself then, and cuts everybody.
    const kill = async ([pid]) => process.kill(pid, 'SIGKILL');
    await assertRecovers(newOwnPool({ application_name: name }), name, kill, 'ECONNRESET');
  });

  it('listens again after a restart of the server', async () => {
    const name = applicationName();
    const restart = () => database.restart();
    await assertRecovers(newOwnPool({ application_name: name }), name, restart, '57P01');
  });

  it('retries until the server is back, and reports each reason once', async () => {
    const pool = newGatedPool();
    const { channel, gaps, errors, payloads } = await newSubscription(pool);
    await gate.close();
    await until('it was tried in vain', () => errors.length === 2);
    await notify(channel, 'missed');
    const socket = net.createServer((one) => one.destroy());
    let attempts = 0;
    socket.on('connection', () => ++attempts);
    await listen(socket, gate.port);
    await until('it was tried several times', () => attempts > 3);
    socket.close();
    await once(socket, 'close');
    await gate.open();
    await untilHeard(payloads, 1);
    await notify(channel, 'after');
    await untilHeard(payloads, 2);
    assert.deepEqual(payloads, ['gap', 'after']);
    assert.equal(gaps[0].error.code, 'ECONNRESET');
    const codes = errors.map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length, String(codes));
    assert.ok(codes.includes('ECONNREFUSED'));
  });

  it('reports each gap, when the connection is lost repeatedly', async () => {
    const name = applicationName();
    const pool = newOwnPool({ application_name: name });
    const { channel, gaps, payloads } = await newSubscription(pool);
    for (let round = 1; round <= 5; ++round) {
      const [pid] = await observer.backends(name);
      await observer.terminate(pid);
      await until('the gap is told', () => gaps.length === round);
      await notify(channel, `round ${round}`);
      await until('it is heard', () => payloads.at(-1) === `round ${round}`);
    }
    assert.equal(gaps.length, 5);
    assert.equal(payloads.length, 10);
  });

  it("works without onGap and without an 'error' listener", async () => {
    const name = applicationName();
    const pool = newOwnPool({ application_name: name });
    const channel = newChannel();
    const { handler, payloads } = newHandler();
    await pool.listen(channel, handler);
    const [pid] = await observer.backends(name);
    await observer.terminate(pid);
    await until('it is heard again', async () => {
      await notify(channel, 'after');
      return payloads.length > 0;
    });
  });

  it("lets onGap and an 'error' listener call listen() and unlisten()", async () => {
    const name = applicationName();
    const pool = newOwnPool({ application_name: name });
    const [first, second, third] = [newChannel(), newChannel(), newChannel()];
    const { handler, payloads } = newHandler();
    const made = [];
    pool.once('error', () => made.push(pool.listen(second, handler)));
    const subscription = await pool.listen(first, () => assert.fail('it has ended'), {
      onGap: () => {
        subscription.unlisten();
        made.push(pool.listen(third, handler));
      },
    });
    const [pid] = await observer.backends(name);
    await observer.terminate(pid);
    await until('both were called', () => made.length === 2);
    await Promise.all(made);
    for (const channel of [first, second, third]) await notify(channel, channel);
    await untilHeard(payloads, 2);
    assert.deepEqual(payloads, [second, third]);
  });

  it('makes a listen() for a new channel wait for the server', async () => {
    const pool = newGatedPool();
    const { gaps, errors } = await newSubscription(pool);
    await gate.close();
    await until('it was tried in vain', () => errors.length === 2);
    const listening = newSubscription(pool);
    await gate.open();
    const { channel, gaps: none, payloads } = await listening;
    await until('the gap is told', () => gaps.length === 1);
    await notify(channel, 'heard');
    await untilHeard(payloads, 1);
    assert.deepEqual(payloads, ['heard']);
    assert.deepEqual(none, [], 'it has missed nothing');
  });

  it('rejects such a listen() after connectionTimeoutMillis', async () => {
    const pool = newGatedPool({ connectionTimeoutMillis: 300 });
    const { gaps, errors } = await newSubscription(pool);
    await gate.close();
    await until('it was tried in vain', () => errors.length === 2);
    await assert.rejects(
      pool.listen(newChannel(), () => {}),
      (error) => {
        assert.equal(error.code, 'ECONNREFUSED');
        assert.match(error.detail, /within 300 ms/);
        return true;
      },
    );
    // The others go on.
    await gate.open();
    await until('the gap is told', () => gaps.length === 1);
  });

  it('does not make unlisten() wait for the server, and stops reconnecting after the last one', async () => {
    const pool = newGatedPool();
    const one = await newSubscription(pool);
    const other = await newSubscription(pool);
    await gate.close();
    await until('it was tried in vain', () => one.errors.length === 2);
    await one.unlisten();
    await gate.open();
    await until('the gap is told', () => other.gaps.length === 1);
    await notify(one.channel, 'nobody');
    await notify(other.channel, 'somebody');
    await untilHeard(other.payloads, 2);
    assert.deepEqual(one.payloads, []);
    await gate.close();
    await until('the loss is told', () => one.errors.length > 2);
    await other.unlisten();
    // A new one begins anew: it is rejected as a query is, for nothing is listened to.
    await assert.rejects(
      pool.listen(newChannel(), () => {}),
      { code: 'ECONNREFUSED' },
    );
    await pool.end();
    pools = [];
  });

  it('stops reconnecting on pool.end(), which rejects pending calls', async () => {
    const pool = newGatedPool();
    const { errors, gaps, unlisten } = await newSubscription(pool);
    await gate.close();
    await until('it was tried in vain', () => errors.length === 2);
    const rejected = assert.rejects(
      pool.listen(newChannel(), () => {}),
      poolError('ERR_PG_CONDUIT_POOL_ENDED'),
    );
    await pool.end();
    await rejected;
    await unlisten();
    await gate.open();
    assert.deepEqual(gaps, []);
  });

  it('does not make pool.end() wait for a server that does not answer', async () => {
    const pool = newGatedPool();
    const { unlisten } = await newSubscription(pool);
    gate.isMute = true;
    const listening = pool.listen(newChannel(), () => {});
    const rejected = assert.rejects(listening, poolError('ERR_PG_CONDUIT_POOL_ENDED'));
    const unlistened = unlisten();
    await pool.end();
    await rejected;
    await unlistened;
  });

  it('aborts a connection attempt on pool.end()', async () => {
    gate.isMute = true;
    const pool = newGatedPool();
    const rejected = assert.rejects(
      pool.listen(newChannel(), () => {}),
      poolError('ERR_PG_CONDUIT_POOL_ENDED'),
    );
    await until('it connects', () => gate.attempts === 1);
    await pool.end();
    await rejected;
  });

  it('rejects with the reason, when there is no server from the start', async () => {
    for (const [code, target] of [
      ['ENOENT', { host: NOWHERE }],
      ['ECONNREFUSED', { port: await deadPort() }],
      ['3D000', { database: 'no_such_database' }],
    ]) {
      const pool = newOwnPool(target);
      for (let i = 0; i < 3; ++i) {
        const outcomes = await Promise.allSettled([
          pool.listen('one', () => {}),
          pool.listen('two', () => {}),
          pool.listen('two', () => {}),
        ]);
        const reasons = outcomes.map(({ reason }) => reason);
        for (const reason of reasons) {
          assert.equal(reason.code, code);
          assert.equal(reason.outcome, 'not-run');
        }
        assert.equal(new Set(reasons).size, 3, 'each has an error of its own');
      }
    }
  });

  it('waits for a server to start, with waitForServer', async () => {
    await gate.close();
    const pool = newGatedPool({ connectionTimeoutMillis: 15000, waitForServer: true });
    const listening = newSubscription(pool);
    await gate.open();
    const { channel, gaps, payloads } = await listening;
    await notify(channel, 'heard');
    await untilHeard(payloads, 1);
    assert.deepEqual(gaps, []);
  });

  it('rejects when the server has not answered within connectionTimeoutMillis', async () => {
    gate.isMute = true;
    const pool = newGatedPool({ connectionTimeoutMillis: 200 });
    await assert.rejects(
      pool.listen(newChannel(), () => {}),
      (error) => {
        assert.ok(
          ['ETIMEDOUT', 'ERR_PG_CONDUIT_POOL_TIMEOUT'].includes(error.code),
          String(error.code),
        );
        return true;
      },
    );
    gate.isMute = false;
    await newSubscription(pool);
  });

  it('survives any order of listen(), unlisten() and lost connections', async () => {
    const name = applicationName();
    const pool = newOwnPool({ application_name: name });
    const kept = await newSubscription(pool);
    const names = Array.from({ length: 4 }, newChannel);
    let running = true;
    const churn = Array.from({ length: 10 }, async (_, i) => {
      while (running) {
        const { unlisten } = await pool.listen(names[i % names.length], () => {});
        if (i % 2 === 0) await new Promise(setImmediate);
        await unlisten();
        if (i % 2 === 1) await new Promise(setImmediate);
      }
    });
    for (let round = 0; round < 10; ++round) {
      const [pid] = await until('it is connected', async () => {
        const pids = await observer.backends(name);
        return pids.length > 0 && pids;
      });
      const before = kept.gaps.length;
      await observer.terminate(pid);
      await until('the gap is told', () => kept.gaps.length > before);
    }
    running = false;
    await Promise.all(churn);
    await notify(kept.channel, 'end');
    await until('it is heard', () => kept.payloads.at(-1) === 'end');
    for (const channel of names) await notify(channel, 'nobody');
    await kept.unlisten();
    await until('it is closed', async () => !(await observer.backends(name)).length);
  });

  it('with allowExitOnIdle lets the process end while the server is down', async () => {
    const name = applicationName();
    const channel = newChannel();
    const given = { ...database.config, port: gate.port, sslmode: 'disable' };
    const ended = runFixture('listening.js', {
      args: [
        'until the server goes away',
        JSON.stringify({ ...given, application_name: name, allowExitOnIdle: true }),
        channel,
      ],
    });
    await untilListening(observer, name, channel);
    await gate.close();
    const { code, stdout, stderr } = await ended;
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.match(stdout, /^lost\n/);
  });
});
