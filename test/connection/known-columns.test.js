'use strict';

// A prepared statement whose columns are known is executed without a Describe, where it is proved that no pooler is
// between. Results are those of before, whatever changes meanwhile.

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const { binding } = require('../../lib/native');
const { newClient } = require('../support/connect');
const { describeResult, withPg } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { Proxy } = require('../support/proxy');
const { newPool, usePools } = require('../support/pools');

/** More executions than it takes until the columns are known. */
const MANY = 300;
/** An installed libpq always describes. */
const DESCRIBED = binding.omitsDescribe ? 0 : 1;

const TABLE = 'columns_known';
const SELECT = `select id, name, price, big, at from ${TABLE} where id = $1`;

/** A pooler reports process ids of its own. @param {string} type @param {Buffer} bytes */
function otherProcess(type, bytes) {
  if (type === 'K') bytes.writeInt32BE(-7, 5);
  return bytes;
}

describe('Columns that are known', () => {
  const observer = usePools();
  /** @type {Proxy} */
  let proxy;
  /** By their types, of the server. @type {Record<string, number>} */
  let messages;

  const count = (type, bytes) => {
    // The driver's own questions have other columns.
    if (type !== 'T' || bytes.includes('price')) messages[type] = (messages[type] ?? 0) + 1;
    return bytes;
  };
  /** @param {() => any} work @returns {Promise<number>} descriptions that the server has sent meanwhile */
  const descriptionsOf = async (work) => {
    messages = {};
    await work();
    return messages.T ?? 0;
  };
  const times = async (number, work) => {
    for (let i = 0; i < number; ++i) await work(i);
  };

  beforeEach(async () => {
    proxy = await Proxy.open();
    messages = {};
    proxy.change = count;
    await observer.ask(`drop table if exists ${TABLE}`);
    await observer.ask(
      `create table ${TABLE} (id int primary key, name text, price float8, big int8, at timestamptz)`,
    );
    await observer.ask(
      `insert into ${TABLE} select i, 'name ' || i, i / 2.0, i, '2024-01-01Z' from generate_series(1, 100) as i`,
    );
    await observer.ask(`insert into ${TABLE} (id) values (0)`);
  });
  afterEach(async () => {
    await proxy.close();
    await observer.ask(`drop table if exists ${TABLE}`);
  });

  const poolOf = (given) => newPool({ ...proxy.options(), max: 1, ...given });
  /** @param {any} one pool or client */
  const prepare = (one, text = SELECT, values = (i) => [i % 100]) =>
    times(MANY, (i) => one.query(text, values(i)));

  it('are not described again, and the results are the same', async () => {
    const expected = await withPg(async (like) => {
      const told = [];
      for (const id of [1, 0, -1]) told.push(describeResult(await like.query(SELECT, [id])));
      return told;
    });
    const pool = poolOf();
    const first = describeResult(await pool.query(SELECT, [1]));
    await prepare(pool);
    const found = [];
    const described = await descriptionsOf(async () => {
      for (const id of [1, 0, -1]) found.push(describeResult(await pool.query(SELECT, [id])));
    });
    assert.equal(described, 3 * DESCRIBED);
    assert.deepEqual(found[0], first);
    assert.deepEqual(found, expected);
    const all = Array.from({ length: 300 }, (_, i) => pool.query(SELECT, [i % 100]));
    for (const [i, { rows }] of (await Promise.all(all)).entries()) {
      assert.equal(rows[0].id, i % 100);
    }
  });

  it('are not described on a client either, in a transaction, a batch, a stream', async () => {
    const client = await newClient(proxy.options());
    await prepare(client);
    const described = await descriptionsOf(async () => {
      await client.transaction(async (tx) => {
        assert.equal((await tx.query(SELECT, [5])).rows[0].name, 'name 5');
      });
      const batch = await client.batch([3, 4].map((id) => ({ text: SELECT, values: [id] })));
      assert.deepEqual(
        batch.map(({ rows }) => rows[0].price),
        [1.5, 2],
      );
      const streamed = [];
      for await (const row of client.stream(SELECT, [9])) streamed.push(row.big);
      assert.deepEqual(streamed, ['9']);
    });
    assert.equal(described, 4 * DESCRIBED);
  });

  it('are none for a statement without rows', async () => {
    const pool = poolOf();
    const text = `update ${TABLE} set price = $2 where id = $1`;
    await prepare(pool, text, (i) => [i, i]);
    messages = {};
    const result = await pool.query(text, [7, 70]);
    assert.deepEqual([result.command, result.rowCount, result.fields], ['UPDATE', 1, []]);
    assert.equal(messages.n ?? 0, DESCRIBED);
    const returning = `${text} returning price`;
    await prepare(pool, returning, (i) => [i, i]);
    const { rows } = await pool.query(returning, [8, 80]);
    assert.deepEqual(rows, [{ price: 80 }]);
  });

  it('are known by how the rows are wanted', async () => {
    const pool = poolOf();
    const raw = { getTypeParser: () => (/** @type {string} */ text) => `<${text}>` };
    const wanted = () => [
      pool.query({ text: SELECT, values: [5] }),
      pool.query({ text: SELECT, values: [5], rowMode: 'array' }),
      pool.query({ text: SELECT, values: [5], rowMode: 'columns' }),
      pool.query({ text: SELECT, values: [5], types: raw }),
      pool.query({ text: SELECT, values: [5], rowKeys: 'camel' }),
    ];
    const told = async () => inspect(await Promise.all(wanted()), { depth: 9 });
    const expected = await told();
    await times(MANY, async () => assert.equal(await told(), expected));
  });

  it('that have changed are those of the next execution, by whomever', async () => {
    const pool = poolOf();
    const text = `select * from ${TABLE} where id = $1`;
    await prepare(pool, text);
    for (const [change, value] of [
      ['alter column name type float8 using 2.5', 2.5],
      ["alter column name type timestamptz using '2024-02-02Z'", new Date('2024-02-02T00:00:00Z')],
      ['alter column name type int8 using 25', '25'],
      ['alter column name type int4 using 26', 26],
    ]) {
      await observer.ask(`alter table ${TABLE} ${change}`);
      const results = await Promise.all([3, 4].map((id) => pool.query(text, [id])));
      for (const { rows } of results) assert.deepEqual(rows[0].name, value, String(change));
      await prepare(pool, text);
    }
    await observer.ask(`alter table ${TABLE} drop column name, add column extra int default 5`);
    assert.deepEqual(Object.keys((await pool.query(text, [1])).rows[0]), [
      ...['id', 'price', 'big', 'at', 'extra'],
    ]);
    await observer.ask(`alter table ${TABLE} rename column extra to other`);
    assert.equal((await pool.query(text, [1])).rows[0].other, 5);
  });

  it('are described each time by a pooler, which may have another session for the next one', async () => {
    proxy.change = (type, bytes) => otherProcess(type, count(type, bytes));
    const pool = poolOf();
    await prepare(pool);
    assert.equal(await descriptionsOf(() => times(5, (i) => pool.query(SELECT, [i]))), 5);
    const client = await newClient(proxy.options());
    await prepare(client);
    assert.equal(await descriptionsOf(() => times(5, (i) => client.query(SELECT, [i]))), 5);
  });

  it('are described each time where nobody may ask for the process, which is not asked for again and again', async () => {
    let asked = 0;
    proxy.changeRequest = (bytes) => {
      const at = bytes.indexOf('pg_backend_pid');
      if (at < 0) return bytes;
      ++asked;
      bytes.write('no_such_thing_', at);
      return bytes;
    };
    const pool = poolOf();
    await times(5, () => prepare(pool));
    assert.ok(asked <= 3 && (asked > 0 || DESCRIBED > 0), `${asked} times`);
    assert.equal(await descriptionsOf(() => times(5, (i) => pool.query(SELECT, [i]))), 5);
    asked = 0;
    const client = await newClient(proxy.options());
    await times(3, () => prepare(client));
    assert.ok(asked > 0 && asked <= 3, `${asked} times`);
    assert.equal(await descriptionsOf(() => times(5, (i) => client.query(SELECT, [i]))), 5);
  });

  it('are asked for once on a connection that is never idle', async () => {
    let asked = 0;
    proxy.changeRequest = (bytes) => {
      if (bytes.includes('select pg_catalog.pg_backend_pid()')) ++asked;
      return bytes;
    };
    const pool = poolOf();
    let isDone = false;
    const callers = Array.from({ length: 8 }, async (_, i) => {
      while (!isDone) await pool.query(SELECT, [i]);
    });
    try {
      const described = () => descriptionsOf(() => times(MANY, (i) => pool.query(SELECT, [i])));
      await until('it has asked', async () => DESCRIBED > 0 || (await described()) === 0);
      await times(2, described);
      assert.equal(asked, 1 - DESCRIBED);
    } finally {
      isDone = true;
      await Promise.all(callers);
    }
  });

  it('are still known when the addon has forgotten more shapes than it keeps, and while it does', async function () {
    const pool = poolOf({ max: 2 });
    await prepare(pool);
    const others = async (/** @type {number} */ round) => {
      for (let part = 0; part < 45; ++part) {
        const columns = Array.from({ length: 100 }, (_, i) => `select 1 as c${round}_${part}_${i}`);
        const results = await Promise.all([
          ...columns.map((text) => pool.query(text)),
          ...Array.from({ length: 20 }, (_, i) => pool.query(SELECT, [i])),
        ]);
        for (const [i, { rows }] of results.slice(100).entries()) assert.equal(rows[0].id, i);
      }
    };
    await others(1);
    await prepare(pool);
    await others(2);
  });

  describe('and other answers of the server', () => {
    /** @param {(type: string, bytes: Buffer) => Buffer} change what is received in one more query */
    const changed = async (change, text = SELECT, values = [7]) => {
      const pool = poolOf();
      await prepare(pool, text, () => values);
      let isOver = false;
      proxy.change = (type, bytes) => {
        if (isOver) return bytes;
        isOver = type === 'C';
        return change(type, bytes);
      };
      const error = await errorOf(pool.query(text, values));
      const { rows } = await pool.query(SELECT, [7]);
      assert.equal(rows[0].name, 'name 7');
      return error;
    };
    const row = (...lengths) => {
      const body = Buffer.alloc(7 + 4 * lengths.length);
      body.write('D', 0, 'latin1');
      body.writeInt16BE(lengths.length, 5);
      for (const [i, length] of lengths.entries()) body.writeInt32BE(length, 7 + 4 * i);
      return withLength(body);
    };
    /** @param {Buffer} bytes of one message */
    const withLength = (bytes) => {
      bytes.writeInt32BE(bytes.length - 1, 1);
      return bytes;
    };

    for (const [what, bytes] of [
      ['fewer columns', row(-1, -1, -1, -1)],
      ['more columns', row(-1, -1, -1, -1, -1, -1)],
      ['no columns', row()],
      ['a value beyond its end', row(4, -1, -1, -1, -1)],
      ['a value that its column cannot have', row(-1, -1, -1, 0, -1)],
      [
        'bytes that belong to no column',
        withLength(Buffer.concat([row(-1, -1, -1, -1, -1), Buffer.alloc(3)])),
      ],
    ]) {
      it(`a row with ${what} is refused`, async () => {
        const error = await changed((type, given) => (type === 'D' ? bytes : given));
        assert.ok(error instanceof Error, String(error));
      });
    }

    it('a row for a statement without rows is refused', async () => {
      const text = `update ${TABLE} set price = 1 where id = $1`;
      const error = await changed(
        (type, bytes) => (type === 'C' ? Buffer.concat([row(-1), bytes]) : bytes),
        text,
      );
      assert.ok(error instanceof Error);
    });
  });
});
