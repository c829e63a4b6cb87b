'use strict';

// Bytes whose length property is wrong, or whose memory changes before they are sent: they are sent as they are
// in memory, or only their query is refused. And more bytes in one tick or one batch than
// can be sent.

const assert = require('node:assert/strict');
const { ParameterError } = require('../..');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { EXECUTIONS } = require('../support/like-pg');
const { IS_LONG } = require('../support/property');

const CONTENT = Buffer.from('0123456789');
const FALSE_LENGTHS = [0, 1, 9, 11, 4096, 2 ** 31, 2 ** 32 + 1, -1, 1.5, NaN, '3', null, undefined];

class Longer extends Buffer {
  get length() {
    return 1e6;
  }
  get byteLength() {
    return 1e6;
  }
  get byteOffset() {
    return 1e6;
  }
}

/** @param {() => any} value */
const owned = (value) => Object.defineProperty(Buffer.from(CONTENT), 'length', { get: value });

function subclassed() {
  return Object.setPrototypeOf(Buffer.from(CONTENT), Longer.prototype);
}

/** A different length each time that it is read. */
function restless() {
  let count = 0;
  return owned(() => (++count % 3) * 7);
}

function redefined() {
  const value = new Uint8Array(CONTENT);
  for (const name of ['length', 'byteLength', 'byteOffset', 'buffer', 'constructor', 'subarray']) {
    Object.defineProperty(value, name, { value: 4096 });
  }
  return value;
}

function shared() {
  const value = Buffer.from(new SharedArrayBuffer(20), 5, 10);
  CONTENT.copy(value);
  return value;
}

function growing() {
  const value = new Uint8Array(new SharedArrayBuffer(10, { maxByteLength: 1000 }));
  value.set(CONTENT);
  return value;
}

function resizable() {
  const value = new Uint8Array(new ArrayBuffer(10, { maxByteLength: 1000 }));
  value.set(CONTENT);
  return value;
}

const LIARS = [
  ...FALSE_LENGTHS.map((length) => [`a length of ${String(length)}`, () => owned(() => length)]),
  ['a getter of a subclass', subclassed],
  ['a length that changes', restless],
  ['all properties redefined', redefined],
  ['shared memory', shared],
  ['growable shared memory', growing],
  ['resizable memory', resizable],
];

const IMPOSTORS = [
  ['a proxy', () => new Proxy(Buffer.from(CONTENT), {})],
  ['an object with the prototype of Buffer', () => Object.create(Buffer.prototype)],
  [
    'an object with the prototype of Buffer and a length',
    () => Object.create(Buffer.prototype, { length: { value: 10 } }),
  ],
];

const neighbour = { text: 'select $1::bytea as v, $2::text as t', values: [CONTENT, 'after'] };

describe('bytes', () => {
  before(resetSchema);
  afterEach(endAll);

  /** @param {any} one @param {() => any} make */
  async function arrive(one, make) {
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const [{ rows }, next] = await Promise.all([
        one.query('select $1::bytea as v, $2::text as t', [make(), 'behind']),
        one.query(neighbour),
      ]);
      assert.deepEqual(rows, [{ v: CONTENT, t: 'behind' }]);
      assert.deepEqual(next.rows, [{ v: CONTENT, t: 'after' }]);
    }
    const results = await one.batch([
      neighbour,
      { text: 'select $1::bytea as v', values: [make()] },
      neighbour,
    ]);
    assert.deepEqual(
      results.map(({ rows }) => rows[0].v),
      [CONTENT, CONTENT, CONTENT],
    );
  }

  for (const [name, make] of LIARS) {
    it(`are sent as they are in memory, with ${name}`, async () => {
      await arrive(await newClient(), make);
      await arrive(newPool({ max: 1 }), make);
    });

    it(`are sent as they are in memory in an array and by copyRows(), with ${name}`, async () => {
      const client = await newClient();
      const { rows } = await client.query('select $1::bytea[] as v', [[make(), make()]]);
      assert.deepEqual(rows, [{ v: [CONTENT, CONTENT] }]);
      await client.query('create temp table t (id int, v bytea, w text)');
      await client.copyRows(
        't',
        ['id', 'v', 'w'],
        [
          [1, make(), 'a'],
          [2, CONTENT, 'b'],
        ],
      );
      // Behind a text that the binary format does not take, it goes on in the text format.
      await client.copyRows('t', ['id', 'v', 'w'], [['  3', make(), 'c']]);
      assert.deepEqual((await client.query('select * from t order by id')).rows, [
        { id: 1, v: CONTENT, w: 'a' },
        { id: 2, v: CONTENT, w: 'b' },
        { id: 3, v: CONTENT, w: 'c' },
      ]);
    });

    it(`are sent as they are in memory by copyFrom(), with ${name}`, async () => {
      const client = await newClient();
      await client.query('create temp table t (v text)');
      const stream = client.copyFrom('copy t from stdin');
      stream.write('a\n');
      stream.write(make());
      stream.write('\n');
      stream.write(make());
      const done = new Promise((resolve, reject) => {
        stream.on('finish', resolve);
        stream.on('error', reject);
      });
      stream.end('\nb\n');
      await done;
      const { rows } = await client.query('select v from t');
      assert.deepEqual(rows, [
        { v: 'a' },
        { v: String(CONTENT) },
        { v: String(CONTENT) },
        { v: 'b' },
      ]);
    });
  }

  it('are sent as they are if their length property is changed after the call', async () => {
    const client = await newClient();
    const value = Buffer.from(CONTENT);
    const lock = client.query('select pg_sleep(0.05)');
    const queried = client.query('select $1::bytea as v', [value]);
    Object.defineProperty(value, 'length', { value: 1e6 });
    Object.defineProperty(value, 'byteLength', { value: 1e6 });
    assert.deepEqual((await queried).rows, [{ v: CONTENT }]);
    await lock;
  });

  for (const [name, make] of IMPOSTORS) {
    it(`that are not real do not disturb other queries: ${name}`, async () => {
      const client = await newClient();
      const [refused, next] = await Promise.allSettled([
        client.query('select $1::bytea as v', [make()]),
        client.query(neighbour),
      ]);
      // JSON.stringify() may have thrown.
      const { reason } = refused;
      if (reason) assert.ok([reason, reason.cause].some((one) => one instanceof ParameterError));
      assert.deepEqual(next.value.rows, [{ v: CONTENT, t: 'after' }]);
      await client.query('create temp table t (v text)');
      const stream = client.copyFrom('copy t from stdin');
      const closed = new Promise((resolve) => {
        stream.on('close', resolve);
      });
      const errors = [];
      stream.on('error', (error) => errors.push(error));
      try {
        stream.write(make());
      } catch (error) {
        // Writable itself cannot read its length.
        assert.ok(error instanceof TypeError, error);
        stream.destroy();
      }
      await closed;
      for (const error of errors) assert.ok(error instanceof ParameterError, error);
      assert.deepEqual((await client.query('select count(*)::int as n from t')).rows, [{ n: 0 }]);
    });
  }

  describe('whose memory is lost before they are sent', () => {
    /** @type {[string, () => [any, () => void]][]} */
    const LOST = [
      [
        'transferred',
        () => {
          const value = new Uint8Array(CONTENT);
          return [value, () => structuredClone(value, { transfer: [value.buffer] })];
        },
      ],
      [
        'made smaller',
        () => {
          const value = resizable();
          return [value, () => value.buffer.resize(4)];
        },
      ],
      [
        'made smaller under a view of fixed length',
        () => {
          const value = Buffer.from(resizable().buffer, 2, 6);
          return [value, () => value.buffer.resize(0)];
        },
      ],
    ];

    for (const [name, make] of LOST) {
      it(`reject only their query, as not-run: ${name}`, async () => {
        const pool = newPool({ max: 1 });
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const [value, take] = make();
          // They wait for the connection, or for what goes before them.
          const all = [
            pool.query(neighbour),
            pool.query('select $1::bytea as v', [value]),
            pool.batch([neighbour, { text: 'select $1::bytea as v', values: [value] }]),
            pool.query(neighbour),
          ];
          if (execution === 1) take();
          const outcomes = await Promise.allSettled(all);
          for (const index of [0, 3]) assert.equal(outcomes[index].status, 'fulfilled');
          if (execution > 1) continue;
          for (const index of [1, 2]) {
            const { reason } = outcomes[index];
            assert.ok(reason instanceof ParameterError, reason);
            assert.match(reason.message, /bytes are gone/);
            assert.equal(reason.outcome, 'not-run');
          }
          assert.equal(outcomes[2].reason.index, 1);
        }
      });

      it(`fail their COPY: ${name}`, async () => {
        const client = await newClient();
        await client.query('create temp table t (v text)');
        const [value, take] = make();
        const stream = client.copyFrom('copy t from stdin');
        const failed = new Promise((resolve) => {
          stream.on('error', resolve);
        });
        stream.write(value);
        take();
        stream.end('\nb\n');
        const error = await failed;
        assert.match(error.message, /bytes are gone/);
        assert.deepEqual((await client.query('select count(*)::int as n from t')).rows, [{ n: 0 }]);
      });

      it(`are refused if the memory is lost before the call: ${name}`, async () => {
        const client = await newClient();
        const [value, take] = make();
        take();
        if (name === 'made smaller') return;
        await assert.rejects(client.query('select $1::bytea', [value]), /\$1.*bytes are gone/);
        await assert.rejects(client.query('select $1', [[value]]), /\$1.*bytes are gone/);
      });
    }
  });

  it('and other values that a wrapper of query() puts in place of a parameter are sent as usual', async () => {
    const pool = newPool({ max: 1 });
    let replacement;
    pool.on('connect', (client) => {
      const { query } = client;
      client.query = function (config, ...rest) {
        if (Array.isArray(config?.values)) config.values[0] = replacement;
        return query.call(this, config, ...rest);
      };
    });
    for (const [value, expected] of [
      [{ length: 1e6 }, '{"length":1000000}'],
      [new Date(0), undefined],
      [['a'], '{"a"}'],
      [true, 'true'],
    ]) {
      replacement = value;
      const { rows } = await pool.query('select $1::text as v', ['given']);
      if (expected !== undefined) assert.deepEqual(rows, [{ v: expected }]);
    }
  });

  describe('in large amounts', () => {
    // Zeros that are never written take no memory.
    const large = Buffer.alloc(300 << 20);

    for (const face of ['client', 'pool', 'transaction']) {
      it(`are refused if a batch is larger than 1 GB: ${face}`, async () => {
        const one = face === 'pool' ? newPool({ max: 1 }) : await newClient();
        const size = { text: 'select length($1::bytea)', values: [large] };
        const attempt = async (queryable) => {
          const others = [queryable.query('select 1 as one'), queryable.query('select 2 as two')];
          for (const count of [4, 7, 8, 15]) {
            const error = await queryable.batch(Array(count).fill(size)).catch((reason) => reason);
            assert.ok(error instanceof ParameterError, error);
            assert.match(error.message, /batch.*larger than 1 GB/);
            assert.equal(error.outcome, 'not-run');
            assert.equal(error.index, undefined);
          }
          others.push(queryable.query('select 3 as three'));
          const results = await Promise.all(others);
          assert.deepEqual(
            results.map(({ rows }) => Object.values(rows[0])[0]),
            [1, 2, 3],
          );
        };
        if (face !== 'transaction') await attempt(one);
        else {
          // Refused, a statement ends its transaction only by what its function does.
          await one
            .transaction(async (tx) => {
              const error = await tx.batch(Array(8).fill(size)).catch((reason) => reason);
              assert.match(error.message, /batch.*larger than 1 GB/);
            })
            .catch((error) => assert.match(error.message, /larger than 1 GB/));
          assert.deepEqual((await one.query('select 1 as one')).rows, [{ one: 1 }]);
        }
      });
    }

    it('are refused if the texts of a batch are longer than a string can be', async () => {
      const client = await newClient();
      const text = 'x'.repeat(200 << 20);
      const error = await client
        .batch(Array(3).fill({ text: 'select length($1)', values: [text] }))
        .catch((reason) => reason);
      assert.ok(error instanceof ParameterError, error);
      assert.match(error.message, /batch.*texts than 512 MB/);
      assert.equal(error.outcome, 'not-run');
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('of several queries in one tick are sent one after the other', async () => {
      const clients = await Promise.all(Array.from({ length: 4 }, () => newClient()));
      // What is in the tick buffer is sent from 1 MB on.
      const mega = Buffer.alloc((IS_LONG ? 64 : 16) << 20);
      const results = await Promise.all(
        clients.flatMap((client) => [
          client.query('select length($1::bytea) as n', [mega]),
          client.query('select 5 as n'),
        ]),
      );
      assert.deepEqual(
        results.map(({ rows }) => rows[0].n),
        clients.flatMap(() => [mega.length, 5]),
      );
    });
  });
});
