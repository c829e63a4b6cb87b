'use strict';

// `npm run test:sizes`: what is so large that it meets a limit, of JavaScript's strings, of the server's
// messages or of an int. Each is answered, or refused in words, and its neighbours get theirs. Takes some
// minutes and up to 5 GB of memory. The limits in numbers are tested in parameters.test.js and
// rows.test.js, sizes of some MB in attribution.test.js and result-text.test.js.

const assert = require('node:assert/strict');
const { constants } = require('node:buffer');
const { DatabaseError, ParameterError, ResultError } = require('../..');
const { cannotRun } = require('../support/cannot-run');
const { endAll, newClient } = require('../support/connect');
const { EXECUTIONS } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');

const MB = 1_000_000;
const TOO_LONG = /^column "t" of the result cannot be read: it, or the text of its row, is longer/;

describe('sizes', function () {
  this.timeout(20 * 60_000);
  afterEach(endAll);

  /**
   * The query between two others, which must get theirs.
   * @param {any} client
   * @param {any} query
   */
  async function amongNeighbours(client, query) {
    const [before, settled, after, failing] = await Promise.allSettled([
      client.query('select 1 as n'),
      client.query(query),
      client.query("select 2 as n, 'é' as t"),
      client.query('select no_such_column'),
    ]);
    assert.deepEqual(before.value.rows, [{ n: 1 }]);
    assert.deepEqual(after.value.rows, [{ n: 2, t: 'é' }]);
    assert.equal(failing.reason.message, 'column "no_such_column" does not exist');
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value.rows;
  }

  it('a text of 300 MB goes there and back', async () => {
    const client = await newClient();
    const value = 'x'.repeat(300 * MB);
    const rows = await amongNeighbours(client, { text: 'select $1::text as t', values: [value] });
    assert.ok(rows[0].t === value);
  });

  // A buffer that is moved after each partial write costs 100 times as much CPU for 10 times the bytes.
  it('bytes of 600 MB are sent, and cost as much for each byte as those of 60 MB', async function () {
    if (process.env.PG_CONDUIT_LIBPQ === 'system') {
      cannotRun(this, 'the libpq of this machine moves its buffer');
    }
    const client = await newClient();
    const cpuOf = async (bytes) => {
      const value = Buffer.alloc(bytes, 'conduit');
      const before = process.cpuUsage();
      const query = { text: 'select length($1::bytea) as n', values: [value] };
      assert.deepEqual(await amongNeighbours(client, query), [{ n: bytes }]);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await cpuOf(60 * MB);
    const few = await cpuOf(60 * MB);
    const many = await cpuOf(600 * MB);
    assert.ok(many < 40 * few, `${many / few} times the CPU`);
  });

  it('bytes of 300 MB go there and back, in each format', async () => {
    const client = await newClient();
    const value = Buffer.alloc(300 * MB, 'conduit');
    for (const prepare of [false, true, true, true]) {
      const rows = await amongNeighbours(client, {
        text: 'select $1::bytea as b',
        values: [value],
        prepare,
      });
      assert.ok(value.equals(rows[0].b));
    }
  });

  it('text up to the length that a JavaScript string may have is given, and no longer one', async () => {
    const client = await newClient();
    const limit = constants.MAX_STRING_LENGTH;
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const text = 'select repeat($1, $2::int) as t, $3::int as n';
      const [longest] = await amongNeighbours(client, { text, values: ['x', limit, execution] });
      assert.deepEqual([longest.t.length, longest.n], [limit, execution]);
      const error = await errorOf(
        amongNeighbours(client, { text, values: ['x', limit + 1, execution] }),
      );
      assert.ok(error instanceof ResultError);
      assert.match(error.message, TOO_LONG);
      assert.equal(error.outcome, 'unknown');
    }
  });

  it('text with more bytes than that, and fewer characters, is given', async () => {
    const client = await newClient();
    const rows = await amongNeighbours(client, "select repeat('é', 300000000) as t");
    assert.ok(rows[0].t === 'é'.repeat(300 * MB));
  });

  it('a row with more text than that is not, and says so', async () => {
    const client = await newClient();
    const text = "select repeat('x', 300000000) as s, repeat('y', 300000000) as t";
    assert.match((await errorOf(amongNeighbours(client, text))).message, TOO_LONG);
  });

  it('many such rows are', async () => {
    const client = await newClient();
    const rows = await amongNeighbours(
      client,
      'select repeat(g::text, 250000000) as t from generate_series(1, 4) g',
    );
    for (const [index, { t }] of rows.entries()) assert.ok(t === `${index + 1}`.repeat(250 * MB));
  });

  it('a result of more than 2 GB is given', async () => {
    const client = await newClient();
    const rows = await amongNeighbours(
      client,
      'select g, repeat(chr(64 + g % 60), 1000000) as t from generate_series(1, 2200) g',
    );
    assert.equal(rows.length, 2200);
    let length = 0;
    for (const { g, t } of rows) {
      length += t.length;
      assert.ok(t === String.fromCharCode(64 + (g % 60)).repeat(MB));
    }
    assert.ok(length > 2 ** 31);
  });

  it('json that is too long to be parsed is an error of its query', async () => {
    const client = await newClient();
    const text = "select to_json(repeat('x', 536870900)) as t";
    const error = await errorOf(amongNeighbours(client, text));
    assert.match(error.message, TOO_LONG);
    const [{ t }] = await amongNeighbours(client, "select to_json(repeat('é', 100000000)) as t");
    assert.ok(t === 'é'.repeat(100 * MB));
  });

  it('two million rows are given at once', async () => {
    const client = await newClient();
    const text = "select g, 'row ' || g as t from generate_series(1, 2000000) g";
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const rows = await amongNeighbours(client, text);
      assert.equal(rows.length, 2_000_000);
      rows.forEach(({ g, t }, index) => {
        if (g !== index + 1 || t !== `row ${g}`) assert.fail(`row ${index} is ${g}, ${t}`);
      });
    }
  });

  it('a statement of 100 MB is run', async () => {
    const client = await newClient();
    const text = `select length('${'x'.repeat(100 * MB)}') as n`;
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      assert.deepEqual(await amongNeighbours(client, text), [{ n: 100 * MB }]);
    }
  });

  it('what a message cannot hold is refused before it is sent', async () => {
    const client = await newClient();
    const half = 'x'.repeat(300 * MB);
    for (const values of [
      [half, half],
      [Buffer.alloc(1100 * MB)],
      [Buffer.alloc(600 * MB), half, half],
    ]) {
      const text = `select ${values.map((_, n) => `length($${n + 1})`).join(', ')}`;
      const error = await errorOf(amongNeighbours(client, { text, values }));
      assert.ok(error instanceof ParameterError);
      assert.equal(error.outcome, 'not-run');
    }
  });

  it('an error with a text of 50 MB has the first MB of it', async () => {
    const client = await newClient();
    const text = "do $$ begin raise exception '%', repeat('é', 25000000); end $$";
    const error = await errorOf(amongNeighbours(client, text));
    assert.ok(error instanceof DatabaseError);
    assert.equal(error.code, 'P0001');
    assert.ok(error.message === 'é'.repeat(1 << 19));
  });

  it('a flood of notices is heard by who listens, and by nobody else', async () => {
    const client = await newClient();
    const flood = `do $$ begin
      for i in 1..100000 loop raise notice 'number %', i; end loop;
      for i in 1..700 loop raise notice '%', repeat('x', 900000); end loop;
    end $$`;
    await amongNeighbours(client, flood);
    const heard = [];
    client.on('notice', ({ message }) =>
      heard.push(message.length < 20 ? message : message.length),
    );
    await amongNeighbours(client, flood);
    assert.deepEqual(heard, [
      ...Array.from({ length: 100_000 }, (_, n) => `number ${n + 1}`),
      ...Array(700).fill(900_000),
    ]);
  });

  it('a payload of a notification has 7,999 bytes at most, says the server', async () => {
    const client = await newClient();
    const heard = [];
    client.on('notification', ({ payload }) => heard.push(payload));
    await client.query('listen sizes');
    const notify = { text: "select pg_notify('sizes', repeat('é', $1::int) || 'x')" };
    await client.query({ ...notify, values: [3999] });
    const error = await errorOf(amongNeighbours(client, { ...notify, values: [4000] }));
    assert.match(error.message, /payload string too long/);
    assert.deepEqual(heard, [`${'é'.repeat(3999)}x`]);
  });
});
