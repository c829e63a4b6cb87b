'use strict';

// Type parsers set by the user, globally, for a client or with a query, as in `pg`; and queries
// whose parsers throw, or send queries themselves.

const assert = require('node:assert/strict');
const { ParameterError, ResultError, TypeOverrides, types } = require('../..');
const { endAll, newClient, newPool } = require('../support/connect');
const {
  RESULT_EXECUTIONS,
  closeReference,
  describeResult,
  openReference,
  sameAsPg,
  withPg,
} = require('../support/like-pg');

/** @type {import('pg').Client} */
let reference;

const { BOOL, BYTEA, DATE, FLOAT8, INT4, INT8, NUMERIC, TEXT, TIMESTAMPTZ } = types.builtins;
const JSON_OIDS = [114, 3802];

describe('results', () => {
  before(async () => {
    reference = await openReference();
  });
  after(closeReference);
  afterEach(endAll);

  describe('use parsers of the user', () => {
    const ALL = `select 1 as i4, 2::int2 as i2, 3::int8 as i8, 1.5::float8 as f8, 1.5::float4 as f4,
      1.50::numeric as n, true as b, 'é'::text as t, '\\x00ff'::bytea as by, '2020-01-01'::date as d,
      '2020-01-01 12:00'::timestamp as ts, '2020-01-01 12:00+00'::timestamptz as tz, '12:00'::time as ti,
      '{"a": 1}'::json as j, '[1]'::jsonb as jb, '00112233-4455-6677-8899-aabbccddeeff'::uuid as u, 4::oid as o, array[1, 2] as a`;
    const shout = (value) => `parsed ${typeof value} ${value}`;

    /** @type {[number, Function][]} */
    let replaced = [];
    function setGlobally(oid, parser) {
      replaced.push([oid, types.getTypeParser(oid, 'text')]);
      types.setTypeParser(oid, parser);
    }
    afterEach(() => {
      for (const [oid, parser] of replaced.reverse()) types.setTypeParser(oid, parser);
      replaced = [];
    });

    const OIDS = [BOOL, BYTEA, DATE, FLOAT8, INT4, INT8, NUMERIC, TEXT, TIMESTAMPTZ, ...JSON_OIDS];

    it('set globally, as pg does', async () => {
      const client = await newClient();
      for (const oid of OIDS) {
        setGlobally(oid, shout);
        const rows = await sameAsPg(client, ALL);
        assert.ok(
          Object.values(rows[0]).some((value) => String(value).startsWith('parsed string')),
        );
      }
    });

    it('set and restored between executions of a prepared statement', async () => {
      const client = await newClient();
      await sameAsPg(client, ALL);
      for (const oid of OIDS) {
        const before = types.getTypeParser(oid, 'text');
        setGlobally(oid, shout);
        await sameAsPg(client, ALL, { executions: 2 });
        types.setTypeParser(oid, before);
        await sameAsPg(client, ALL, { executions: 2 });
      }
    });

    const SETTERS = {
      'setTypeParser() of pg-types': () => require('pg-types').setTypeParser,
      "types.setTypeParser() of require('pg')": () => require('pg').types.setTypeParser,
      'types.setTypeParser() of the driver': () => types.setTypeParser,
    };
    for (const [place, find] of Object.entries(SETTERS)) {
      it(`set and restored with ${place} between executions of a prepared statement`, async () => {
        const set = find();
        const client = await newClient();
        await sameAsPg(client, ALL);
        for (const oid of OIDS) {
          const before = types.getTypeParser(oid, 'text');
          replaced.push([oid, before]);
          set(oid, 'text', shout);
          await sameAsPg(client, ALL, { executions: 2 });
          set(oid, before);
          await sameAsPg(client, ALL, { executions: 2 });
        }
      });
    }

    it('set in pg-types while queries are in flight, for all later queries', async () => {
      const pool = newPool({ max: 2 });
      const { setTypeParser } = require('pg-types');
      const before = types.getTypeParser(INT4, 'text');
      replaced.push([INT4, before]);
      const ask = () => pool.query('select $1::int4 as i, $2::text as t', [1, 'x']);
      for (let round = 0; round < 5; ++round) {
        const inFlight = Array.from({ length: 20 }, ask);
        setTypeParser(INT4, shout);
        const changed = Array.from({ length: 20 }, ask);
        const results = await Promise.all(changed);
        for (const { rows } of results) {
          assert.deepEqual(rows, [{ i: 'parsed string 1', t: 'x' }]);
        }
        setTypeParser(INT4, before);
        for (const { rows } of await Promise.all(inFlight)) {
          assert.ok([1, 'parsed string 1'].includes(rows[0].i));
        }
        for (const { rows } of await Promise.all(Array.from({ length: 20 }, ask))) {
          assert.deepEqual(rows, [{ i: 1, t: 'x' }]);
        }
      }
    });

    it('but not for the own queries of the driver', async () => {
      for (const oid of [...OIDS, types.builtins.OID]) {
        setGlobally(oid, () => {
          throw new Error('asked for a value of the driver');
        });
      }
      const pool = newPool({ max: 2, fetchTypes: true });
      await pool.query('create temp table own (i int)').catch(() => {});
      const client = await pool.connect();
      await client.query('create temp table own (i int, t text)');
      await client.copyRows('own', ['i', 't'], [[1, 'x']]);
      const { rows } = await client
        .query('select i is not null as found from own')
        .catch(() => ({}));
      assert.equal(rows, undefined);
      assert.equal(await client.transaction(async () => 5), 5);
      client.release();
      assert.match(await pool.walPosition(), /^[0-9A-F]+\/[0-9A-F]+$/);
      const { unlisten } = await pool.listen('own', () => {});
      await unlisten();
    });

    it('in an object of the option types, in TypeOverrides on top of it, or in a subclass', async () => {
      let wants = false;
      const changing = {
        getTypeParser: (oid, format) =>
          wants && oid === DATE ? shout : types.getTypeParser(oid, format),
      };
      class Mine extends TypeOverrides {
        getTypeParser(oid, format) {
          return wants && oid === DATE ? shout : super.getTypeParser(oid, format);
        }
      }
      const text = "select '2020-01-01'::date as d, 1 as i";
      for (const source of [changing, new TypeOverrides(changing), new Mine()]) {
        const client = await newClient({ types: source });
        client.setTypeParser(INT4, (value) => Number(value));
        const pool = newPool({ types: source, max: 1 });
        for (const wanted of [false, false, false, false, true, true, false, true]) {
          wants = wanted;
          for (const one of [client, pool]) {
            const [{ d }] = (await one.query(text)).rows;
            assert.equal(d instanceof Date, !wanted);
          }
        }
        wants = false;
      }
    });

    it('set for one client, and not for another', async () => {
      const client = await newClient();
      const other = await newClient();
      const plain = describeResult(await reference.query(ALL));
      await withPg(async (likeIt) => {
        await client.query(ALL);
        for (const oid of OIDS) {
          client.setTypeParser(oid, shout);
          likeIt.setTypeParser(oid, 'text', shout);
          const expected = describeResult(await likeIt.query(ALL));
          for (let execution = 1; execution <= 4; ++execution) {
            assert.deepStrictEqual(describeResult(await client.query(ALL)), expected);
            assert.deepStrictEqual(describeResult(await other.query(ALL)), plain);
          }
        }
      });
    });

    it('given in the options of the client', async () => {
      const overrides = new TypeOverrides();
      overrides.setTypeParser(INT4, shout);
      const client = await newClient({ types: overrides });
      for (let execution = 1; execution <= 4; ++execution) {
        assert.deepStrictEqual((await client.query('select 1 as i, 2::int8 as b')).rows, [
          { i: 'parsed string 1', b: '2' },
        ]);
      }
      client.setTypeParser(INT8, shout);
      for (let execution = 1; execution <= 4; ++execution) {
        assert.deepStrictEqual((await client.query('select 1 as i, 2::int8 as b')).rows, [
          { i: 'parsed string 1', b: 'parsed string 2' },
        ]);
      }
      // The client's own do not leak into the object that it was given.
      assert.equal(overrides.getTypeParser(INT8), types.getTypeParser(INT8));
    });

    it('given with a query, also alternating with others', async () => {
      const client = await newClient();
      const raw = { getTypeParser: () => (value) => value };
      const overrides = new TypeOverrides();
      overrides.setTypeParser(TIMESTAMPTZ, (value) => value);
      for (let round = 0; round < 3; ++round) {
        await sameAsPg(client, ALL, { executions: 1 });
        await sameAsPg(client, { text: ALL, types: raw }, { executions: 1 });
        await sameAsPg(
          client,
          { text: ALL, types: overrides, rowMode: 'array' },
          { executions: 1 },
        );
        await sameAsPg(client, { text: ALL, types: overrides }, { executions: 2 });
      }
      const expected = [];
      for (const one of [{}, { types: raw }, { types: overrides }, { rowMode: 'array' }]) {
        const query = { text: ALL, ...one };
        expected.push({ query, result: describeResult(await reference.query(query)) });
      }
      // Pipelined: several ways to read one statement in one delivery.
      await Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          const { query, result } = expected[n % expected.length];
          assert.deepStrictEqual(describeResult(await client.query(query)), result);
        }),
      );
    });

    it('from an object that returns another parser each time', async () => {
      const client = await newClient();
      let parser = (value) => `first ${value}`;
      const moody = { getTypeParser: () => parser };
      for (const word of ['first', 'second', 'third', 'fourth', 'fifth']) {
        parser = (value) => `${word} ${value}`;
        const { rows } = await client.query({ text: 'select 1 as i, true as b', types: moody });
        assert.deepStrictEqual(rows, [{ i: `${word} 1`, b: `${word} t` }]);
      }
    });

    it('from a copy of TypeOverrides, as made by tools that copy options', async () => {
      const overrides = new TypeOverrides();
      overrides.setTypeParser(INT4, shout);
      const copy = Object.assign(Object.create(Object.getPrototypeOf(overrides)), overrides);
      const client = await newClient({ types: copy });
      const { rows } = await client.query("select 1 as i, 'x' as t");
      assert.deepEqual(rows, [{ i: 'parsed string 1', t: 'x' }]);
    });

    it('from an object that throws, which rejects only its query', async () => {
      const client = await newClient();
      const throwing = {
        getTypeParser() {
          throw new TypeError('no parser today');
        },
      };
      for (const text of ['select 1 as one', 'select 1; select 2']) {
        const [refused, one] = await Promise.allSettled([
          client.query({ text, types: throwing }),
          client.query('select 1 as one'),
        ]);
        assert.ok(refused.reason.cause instanceof ParameterError, text);
        assert.equal(refused.reason.message, 'no parser today');
        assert.equal(refused.reason.outcome, 'not-run');
        assert.deepEqual(one.value.rows, [{ one: 1 }]);
      }
    });

    it('but do not call them for NULL', async () => {
      setGlobally(INT4, () => assert.fail('asked'));
      setGlobally(TEXT, () => assert.fail('asked'));
      const client = await newClient();
      await sameAsPg(client, 'select null::int4 as a, null::text as b, 1::int8 as c');
    });

    it('and a parser that throws rejects only its query', async () => {
      const client = await newClient();
      const failure = new RangeError('no such thing');
      const overrides = new TypeOverrides();
      overrides.setTypeParser(INT4, (text) => {
        if (text === '13') throw failure;
        return Number(text);
      });
      const text = 'select g from generate_series($1::int, $2::int) g';
      for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
        const query = (...values) => client.query({ text, values, types: overrides });
        const outcomes = await Promise.allSettled([query(1, 3), query(10, 15), query(14, 16)]);
        assert.deepStrictEqual(outcomes[0].value.rows, [{ g: 1 }, { g: 2 }, { g: 3 }]);
        const { reason } = outcomes[1];
        assert.equal(reason, failure);
        assert.equal(reason.outcome, 'unknown');
        assert.ok(reason.cause instanceof ResultError);
        assert.equal(reason.cause.code, 'ERR_PG_CONDUIT_RESULT');
        assert.match(reason.cause.message, /no such thing/);
        assert.deepStrictEqual(outcomes[2].value.rows, [{ g: 14 }, { g: 15 }, { g: 16 }]);
      }
    });

    it('as they are when its first rows arrive, for all rows of a result', async () => {
      const client = await newClient();
      // The server sends it in many parts.
      const text = `select 1 as i, date '2020-01-01' as d, repeat('x', 4000) as t, pg_sleep(0.001)::text as s
        from generate_series(1, 50)`;
      for (const rowMode of [undefined, 'array', 'columns']) {
        setGlobally(DATE, (date) => `before ${date}`);
        setGlobally(INT4, (number) => {
          setGlobally(DATE, (date) => `after ${date}`);
          return Number(number);
        });
        const { rows, columns } = await client.query({ text, rowMode });
        const dates = columns?.[1].values ?? rows.map((row) => row.d ?? row[1]);
        assert.deepEqual([...new Set(dates)], ['before 2020-01-01'], rowMode);
      }
    });

    it('and a parser that throws does not hide an error of the server behind its rows', async () => {
      const client = await newClient();
      const throwing = {
        getTypeParser: () => () => {
          throw new RangeError('no such thing');
        },
      };
      const text = 'select g, 1 / (100 - g) from generate_series(1, $1::int) g';
      for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
        const query = client.query({ text, values: [100], types: throwing });
        await assert.rejects(query, { code: '22012', outcome: 'not-run' });
      }
    });

    it('and so does a parser that throws a value other than an error', async () => {
      const client = await newClient();
      for (const thrown of [undefined, null, 'text', 0]) {
        const throwing = {
          getTypeParser: () => () => {
            throw thrown;
          },
        };
        const outcomes = await Promise.allSettled([
          client.query({ text: 'select 1 as one', types: throwing }),
          client.query('select 1 as one'),
        ]);
        assert.ok(outcomes[0].reason instanceof ResultError);
        assert.deepStrictEqual(outcomes[1].value.rows, [{ one: 1 }]);
      }
    });

    it('and a parser may send queries itself', async () => {
      const client = await newClient();
      const inner = [];
      const overrides = new TypeOverrides();
      overrides.setTypeParser(INT4, (text) => {
        inner.push(client.query('select $1::text as t', [`inner ${text}`]));
        return Number(text);
      });
      const outer = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          client.query({ text: 'select $1::int4 as n', values: [n], types: overrides }),
        ),
      );
      assert.deepStrictEqual(
        outer.map(({ rows }) => rows[0].n),
        [...Array(20).keys()],
      );
      const answers = await Promise.all(inner);
      assert.deepStrictEqual(
        answers.map(({ rows }) => rows[0].t),
        Array.from({ length: 20 }, (_, n) => `inner ${n}`),
      );
    });
  });
});
