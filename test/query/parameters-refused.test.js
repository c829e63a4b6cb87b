'use strict';

// A parameter that cannot be sent, or a wrong argument in the place of parameters or text, is refused
// without affecting the queries around it.

const assert = require('node:assert/strict');
const { Client } = require('../..');
const { endAll, newClient, newPool, options, resetSchema } = require('../support/connect');
const { EXECUTIONS } = require('../support/like-pg');
const { assertRefused, refusesOnly } = require('../support/refusals');

describe('parameters', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('with a NUL character reject only their own query', () => {
    const text = 'select $1::text as a, $2::text as b, $3::text as c';
    const good = ['1', 'é', '3'];

    it('as the first, the middle and the last parameter', async () => {
      for (const [index, name] of ['$1', '$2', '$3'].entries()) {
        for (const nul of ['\0', 'a\0', '\0b', 'a\0b', 'é\0', '\0😀', 'x'.repeat(70000) + '\0']) {
          const client = await newClient();
          const bad = good.map((v, n) => (n === index ? nul : v));
          await refusesOnly(client, text, good, bad, new RegExp(`\\${name}.*NUL`));
          await client.end();
        }
      }
    });

    it('in an element of an array, but not in json, which escapes it', async () => {
      const client = await newClient();
      await refusesOnly(client, 'select $1::text[] as a', [['x']], [['x', 'a\0b']], /\$1.*NUL/);
      // JSON has an escape for it: it is the server that refuses it in jsonb, and takes it in json.
      const { rows } = await client.query('select $1::json as j', [{ a: 'b\0c' }]);
      assert.deepEqual(rows, [{ j: { a: 'b\0c' } }]);
      await assert.rejects(client.query('select $1::jsonb', [{ a: 'b\0c' }]), { code: '22P05' });
    });

    it('but not in bytes, which may contain it', async () => {
      const client = await newClient();
      const value = Buffer.from('a\0b\0');
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const { rows } = await client.query('select $1::bytea as v, $2::text as t', [value, 'end']);
        assert.deepEqual(rows, [{ v: value, t: 'end' }]);
      }
    });

    it('in the text of the query', async () => {
      const client = await newClient();
      for (const [n, nul] of [
        "select '\0'",
        '\0',
        'select 1 -- \0',
        "select 'é' \0",
        'select $1::text\0',
      ].entries()) {
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const outcomes = await Promise.allSettled([
            client.query(`select ${n} as n, $1::text as t`, ['é']),
            client.query(nul, nul.includes('$1') ? ['x'] : []),
            client.query(nul, nul.includes('$1') ? ['x'] : []),
            client.query(`select ${n} as n, $1::text as t`, ['漢']),
          ]);
          assert.deepEqual(outcomes[0].value.rows, [{ n, t: 'é' }]);
          assertRefused(outcomes[1].reason, /text of the query.*NUL/);
          assertRefused(outcomes[2].reason, /text of the query.*NUL/);
          assert.deepEqual(outcomes[3].value.rows, [{ n, t: '漢' }]);
        }
      }
      const left = await client.query({
        text: "select count(*)::int as n from pg_prepared_statements where statement like '%''%'",
        prepare: false,
      });
      assert.deepEqual(left.rows, [{ n: 0 }]);
    });

    it('in a transaction, which continues', async () => {
      const client = await newClient();
      await client.query('create table kept (v text)');
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const outcomes = await Promise.allSettled([
          client.query('begin'),
          client.query('insert into kept values ($1)', [`a${execution}`]),
          client.query('insert into kept values ($1)', ['\0']),
          client.query('insert into kept values ($1)', [Symbol('s')]),
          client.query("select '\0'"),
          client.query('insert into kept values ($1)', [`b${execution}`]),
          client.query('commit'),
        ]);
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
          `execution ${execution}: ${outcomes.map(({ reason }) => reason?.message)}`,
        );
        for (const { reason } of outcomes.slice(2, 5)) assertRefused(reason, /./);
        assert.equal(outcomes[6].value.command, 'COMMIT');
      }
      const { rows } = await client.query('select count(*)::int as n from kept');
      assert.deepEqual(rows, [{ n: 2 * EXECUTIONS }]);
    });

    it('on a shared connection, where others use the same statement', async () => {
      const pool = newPool({ max: 1 });
      for (let round = 0; round < 5; ++round) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 300 }, (_, n) =>
            pool.query('select $1::int as n, $2::text as t', [
              n,
              n % 7 === 3 ? `a\0${n}` : `é${n}`,
            ]),
          ),
        );
        for (const [n, { value, reason }] of outcomes.entries()) {
          if (n % 7 === 3) assertRefused(reason, /\$2.*NUL/);
          else assert.deepEqual(value.rows, [{ n, t: `é${n}` }]);
        }
      }
    });
  });

  describe('that cannot be sent reject only their own query:', () => {
    const text = 'select $1::text as a, $2::text as b, $3::text as c';
    const good = ['é', '2', '3'];
    const circular = { name: 'a' };
    circular.self = circular;
    const circularArray = [1];
    circularArray.push(circularArray);
    const failing = {
      toPostgres() {
        throw new RangeError('not today');
      },
    };
    const BAD = {
      'a function': [() => 1, /function/],
      'a symbol': [Symbol('s'), /symbol/],
      'a circular object': [circular, /circular/i],
      'a circular array': [circularArray, /circular/i],
      'an invalid Date': [new Date(NaN), /invalid Date/],
      'an object whose toPostgres() throws': [failing, /not today/],
      'an array of which one element cannot be sent': [['a', failing], /not today/],
      'a promise': [Promise.resolve('x'), /promise.*await/],
      'a thenable': [{ then: (resolve) => resolve('x') }, /promise.*await/],
      'a Map': [new Map([['a', 1]]), /Map.*Object\.fromEntries/],
      'a Set in an array': [[new Set(['a'])], /Set.*\[\.\.\.set\]/],
      'an object with a bigint, which JSON does not have': [{ a: 1n }, /BigInt/],
    };

    for (const [name, [value, message]] of Object.entries(BAD)) {
      it(name, async () => {
        const client = await newClient();
        const pattern = new RegExp(`\\$2.*${message.source}`, message.flags);
        await refusesOnly(client, text, good, ['long é text', value, 'x'], pattern);
        // Also when the neighbours' parameters are bytes, and many.
        const bytes = Buffer.alloc(5000, 7);
        const outcomes = await Promise.allSettled([
          client.query('select $1::bytea as v', [bytes]),
          client.query('select $1::bytea, $2::text, $3::text', [bytes, value, 'x']),
          client.query('select $1::bytea as v', [bytes.subarray(0, 10)]),
        ]);
        assert.ok(outcomes[0].value.rows[0].v.equals(bytes));
        assertRefused(outcomes[1].reason, pattern);
        assert.ok(outcomes[2].value.rows[0].v.equals(bytes.subarray(0, 10)));
      });
    }

    it('with the error thrown by toPostgres()', async () => {
      const client = await newClient();
      const thrown = new RangeError('mine');
      const value = {
        toPostgres() {
          throw thrown;
        },
      };
      const error = await client.query('select $1', [value]).catch((reason) => reason);
      assertRefused(error, /^parameter \$1: mine$/);
      assert.equal(error, thrown);
    });

    it('before the client is connected, and when it is the only query', async () => {
      const client = new Client(options());
      const connected = client.connect();
      const early = client.query('select $1::text', [Symbol('s')]).catch((error) => error);
      await connected;
      assertRefused(await early, /symbol/);
      await client.end();
    });

    it('as the first query of a pool', async () => {
      const pool = newPool({ max: 1 });
      const error = await pool.query('select $1::text', [() => 1]).catch((reason) => reason);
      assertRefused(error, /function/);
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('while toPostgres() may send queries itself', async () => {
      const client = await newClient();
      const inner = [];
      const busy = (n) => ({
        toPostgres() {
          inner.push(client.query('select $1::int as n, $2::text as t', [n, `inner é${n}`]));
          return `outer ${n}`;
        },
      });
      for (let round = 0; round < EXECUTIONS; ++round) {
        const outer = await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            client.query('select $1::text as a, $2::text as b, $3::int as c', ['é', busy(n), n]),
          ),
        );
        for (const [n, { rows }] of outer.entries()) {
          assert.deepEqual(rows, [{ a: 'é', b: `outer ${n}`, c: n }]);
        }
        const answers = await Promise.all(inner.splice(0));
        for (const [n, { rows }] of answers.entries()) {
          assert.deepEqual(rows, [{ n, t: `inner é${n}` }]);
        }
      }
    });
  });

  it('must be an array', async () => {
    const client = await newClient();
    for (const values of ['text', 5, true, {}, new Set([1]), Buffer.from('x')]) {
      for (const query of [['select $1::text', values], [{ text: 'select $1::text', values }]]) {
        const outcomes = await Promise.allSettled([
          client.query(...query),
          client.query('select 1 as one'),
        ]);
        assertRefused(outcomes[0].reason, /must be an array/);
        assert.deepEqual(outcomes[1].value.rows, [{ one: 1 }]);
      }
    }
    for (const values of [null, undefined, []]) {
      const { rows } = await client.query('select 1 as one', values);
      assert.deepEqual(rows, [{ one: 1 }]);
    }
  });

  it('need a text, and properties of the query with valid types', async () => {
    const client = await newClient();
    for (const text of [null, undefined, 5, true, Symbol('s'), {}, { text: 5 }, { values: [1] }]) {
      const error = await client.query(text).catch((reason) => reason);
      assertRefused(error, /either text or a name|null or undefined query$/);
    }
    for (const wrong of [{ rowMode: 'object' }, { types: {} }, { name: 5 }]) {
      const error = await client.query({ text: 'select 1', ...wrong }).catch((reason) => reason);
      assertRefused(error, new RegExp(Object.keys(wrong)[0]));
    }
    assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
  });
});
