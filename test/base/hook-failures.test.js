'use strict';

// lib/base/hook-failure.js: what a password function, onConnect, verify or a client class throws. Whatever that is,
// all waiting calls are rejected at once, with an error that can be inspected.

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const pg = require('pg');
const { Client, ConnectionError, DatabaseError } = require('../..');
const { endAll, newPool, options } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { collectUncaught } = require('../support/uncaught');

const CALLERS = 5;

class Plain extends Error {
  constructor(message) {
    super(message);
    this.name = 'Plain';
    this.code = 'VAULT';
  }
}

class Guarded extends Error {
  #secret = 'guarded';

  get detail() {
    return this.#secret;
  }
}

class Method extends Error {
  #secret = 'method';

  [inspect.custom]() {
    return this.#secret;
  }
}

const withGetters = new Error('with getters');
for (const name of ['stack', 'message', 'code', 'cause', 'detail']) {
  Object.defineProperty(withGetters, name, {
    enumerable: true,
    get() {
      throw new Error('nobody may ask');
    },
  });
}

/** What is passed on as it is, and as copies of its class where several wait. */
const ORDINARY = {
  'an error': new RangeError('not this one'),
  'an error of a class': new Plain('closed'),
  'an error with a cause': new Error('outer', { cause: new Error('inner') }),
  'a frozen error': Object.freeze(new TypeError('frozen')),
};

const STRANGE = {
  nothing: undefined,
  null: null,
  'a string': 'closed for today',
  'an empty string': '',
  'a number': 42,
  'a symbol': Symbol('x'),
  'a function': () => {},
  'an object': { reason: 'none' },
  'a frozen object': Object.freeze({ message: 'frozen' }),
  'an object without a prototype': Object.create(null),
  'a DOMException': new DOMException('The operation was aborted due to timeout', 'TimeoutError'),
  'the reason of a signal': AbortSignal.abort().reason,
  'an error with getters that throw': withGetters,
  'an error of a class with getters': new Guarded('guarded'),
  'an error of a class with methods': new Method('method'),
  'an object with the prototype of an error': Object.create(Error.prototype),
  'an error without a prototype': Object.setPrototypeOf(new Error('bare'), null),
  'a proxy of an error': new Proxy(new Error('proxy'), {
    get: () => assert.fail('asked'),
    getPrototypeOf: () => assert.fail('asked'),
    getOwnPropertyDescriptor: () => assert.fail('asked'),
    ownKeys: () => assert.fail('asked'),
  }),
};

/** The ways to throw it. @type {Record<string, (thrown: unknown) => any>} */
const throwing = {
  sync: (thrown) => {
    throw thrown;
  },
  async: async (thrown) => {
    throw thrown;
  },
  thenable: (thrown) => ({
    then() {
      throw thrown;
    },
  }),
};

/** @type {Record<string, (thrown: unknown) => Record<string, any>>} */
const HOOKS = {
  'a password function': (thrown) => ({ password: () => throwing.sync(thrown) }),
  'an async password function': (thrown) => ({ password: () => throwing.async(thrown) }),
  'a password function with a thenable': (thrown) => ({
    password: () => throwing.thenable(thrown),
  }),
  onConnect: (thrown) => ({ onConnect: () => throwing.sync(thrown) }),
  'an async onConnect': (thrown) => ({ onConnect: () => throwing.async(thrown) }),
  'onConnect with a thenable': (thrown) => ({ onConnect: () => throwing.thenable(thrown) }),
  verify: (thrown) => ({ verify: () => throwing.sync(thrown) }),
  'an async verify': (thrown) => ({ verify: () => throwing.async(thrown) }),
  'the callback of verify': (thrown) => ({ verify: (client, callback) => callback(thrown) }),
  'the callback of verify, late and twice': (thrown) => ({
    verify: (client, callback) =>
      setImmediate(() => {
        callback(thrown);
        callback(new Error('twice'));
        callback();
      }),
  }),
};

/** @param {unknown} value */
function isPrintable(value) {
  return value !== withGetters && value !== STRANGE['a proxy of an error'];
}

/** @param {any} error that is not the user's own */
function assertOurs(error, thrown) {
  assert.ok(error instanceof ConnectionError);
  assert.equal(error.code, 'ERR_PG_CONDUIT_HOOK');
  assert.equal(error.outcome, 'not-run');
  assert.equal(error.cause, isPrintable(thrown) ? thrown : undefined);
  assert.match(error.message, / failed: /);
  assert.equal(typeof error.stack, 'string');
}

/** @param {any} error @param {any} thrown */
function assertCopy(error, thrown) {
  assert.equal(Object.getPrototypeOf(error), Object.getPrototypeOf(thrown));
  for (const name of ['name', 'message', 'code', 'cause']) assert.equal(error[name], thrown[name]);
  assert.equal(error.outcome, 'not-run');
}

describe('failing hooks:', () => {
  afterEach(endAll);

  for (const [hook, make] of Object.entries(HOOKS)) {
    for (const [what, thrown] of Object.entries({ ...ORDINARY, ...STRANGE })) {
      // That is how the callback says that all is well.
      if (hook.includes('callback') && !thrown) continue;
      it(`${hook}, failing with ${what}, rejects all waiting calls at once`, async () => {
        for (const connectionTimeoutMillis of [0, 30_000]) {
          const pool = newPool({ max: 2, connectionTimeoutMillis, ...make(thrown) });
          const uncaught = await collectUncaught(async () => {
            const errors = await Promise.all(
              Array.from({ length: CALLERS }, (_, caller) =>
                errorOf(caller % 2 === 0 ? pool.query('select 1') : pool.connect()),
              ),
            );
            assert.equal(new Set(errors).size, CALLERS);
            for (const error of errors) {
              if (what in ORDINARY) {
                assertCopy(error, thrown);
                assert.ok(inspect(error).includes(error.message));
              } else {
                assertOurs(error, thrown);
                assert.ok(inspect(error).includes(error.code));
              }
            }
            assert.equal(pool.totalCount, 0);
            await pool.end();
          });
          assert.deepEqual(uncaught, []);
        }
      });
    }
  }

  for (const [what, thrown] of Object.entries({ ...ORDINARY, ...STRANGE })) {
    it(`a password function of a client, failing with ${what}, rejects connect() and queries`, async () => {
      for (const kind of ['sync', 'async', 'thenable']) {
        const client = new Client(options({ password: () => throwing[kind](thrown) }));
        const early = errorOf(client.query('select 1'));
        const error = await errorOf(client.connect());
        // As in `pg`.
        if (what in ORDINARY) assert.equal(error, thrown);
        else assertOurs(error, thrown);
        for (const each of [await early, await errorOf(client.query('select 2'))]) {
          assert.equal(each.outcome, 'not-run');
        }
        await client.end();
      }
    });
  }

  it('onConnect of pg rejects with the same error, too', async () => {
    const failure = ORDINARY['an error'];
    for (const config of [{ onConnect: HOOKS.onConnect(failure).onConnect }]) {
      const pool = new pg.Pool(options(config));
      assert.equal(await errorOf(pool.query('select 1')), failure);
      await pool.end();
    }
  });

  it('onConnect is called again for the next call', async () => {
    let calls = 0;
    const onConnect = () => {
      if (++calls === 1) throw undefined; // eslint-disable-line no-throw-literal
    };
    const pool = newPool({ max: 1, onConnect });
    assertOurs(await errorOf(pool.query('select 1')), undefined);
    assert.deepEqual((await pool.query('select 1 as i')).rows, [{ i: 1 }]);
  });

  it('onConnect rejects with the error of its own query, and waiting calls are not-run whatever its outcome', async () => {
    const pool = newPool({ max: 1, onConnect: (client) => client.query('select 1 / 0') });
    const error = await errorOf(pool.query('select 1'));
    assert.ok(error instanceof DatabaseError);
    assert.equal(error.code, '22012');
    const fatal = newPool({
      max: 1,
      onConnect: (client) => client.query('select pg_terminate_backend(pg_backend_pid())'),
    });
    assert.equal((await errorOf(fatal.query('insert into nowhere values (1)'))).outcome, 'not-run');
  });

  it('verify is settled by the first call of its callback', async () => {
    const pool = newPool({
      max: 1,
      verify(client, callback) {
        callback();
        callback(new Error('too late'));
      },
    });
    assert.deepEqual((await pool.query('select 1 as i')).rows, [{ i: 1 }]);
    assert.equal(pool.totalCount, 1);
  });

  it('a password function that never settles ends with connectionTimeoutMillis', async () => {
    const password = () => new Promise(() => {});
    const client = new Client(options({ password, connectionTimeoutMillis: 50 }));
    assert.equal((await errorOf(client.connect())).code, 'ETIMEDOUT');
    const pool = newPool({ password, connectionTimeoutMillis: 50 });
    assert.equal((await errorOf(pool.query('select 1'))).outcome, 'not-run');
    await pool.end();
    await client.end();
  });

  it('a client class that throws rejects the waiting calls, and does not reduce the room of the pool', async () => {
    let isBroken = false;
    class Mine extends Client {
      constructor(config) {
        super(config);
        if (isBroken) throw 'no clients today'; // eslint-disable-line no-throw-literal
      }

      connect(...parameters) {
        const connected = super.connect(...parameters);
        if (this.constructor.failsLate) return connected.then(() => throwing.sync('too late'));
        return connected;
      }
    }
    const pool = newPool({ max: 1, Client: Mine });
    isBroken = true;
    for (let repeat = 0; repeat < 3; ++repeat) {
      assertOurs(await errorOf(pool.query('select 1')), 'no clients today');
    }
    isBroken = false;
    Mine.failsLate = true;
    for (let repeat = 0; repeat < 3; ++repeat) {
      assertOurs(await errorOf(pool.query('select 1')), 'too late');
      assert.equal(pool.totalCount, 0);
    }
    Mine.failsLate = false;
    assert.deepEqual((await pool.query('select 1 as i')).rows, [{ i: 1 }]);
  });
});
