'use strict';

// Text, json and bytea of all lengths arrive complete, wherever they are in the chunks in which
// the addon passes text to JavaScript.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { endAll, newClient } = require('../support/connect');
const {
  RESULT_EXECUTIONS,
  closeReference,
  openReference,
  sameAsPg,
} = require('../support/like-pg');
const { holds } = require('../support/property');

describe('results', () => {
  before(openReference);
  after(closeReference);
  afterEach(endAll);

  describe('have the exact text', () => {
    /** A chunk of text is full beyond 8 KiB, and is then as long as its last row makes it. */
    const CHUNK = 8192;
    const SIZES = [
      ...[0, 1, 7, 8, 12, 13, 14, 2047, 2048, 2049, 4095, 4096, 4097],
      ...[CHUNK - 2, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + 2, 2 * CHUNK, 65535, 65536, 65537],
    ];

    it('when a string ends where a chunk of text ends', async () => {
      const client = await newClient();
      for (const letters of ['x', 'é', '漢', '😀']) {
        const text = `select n, repeat('${letters}', n) as v, 'end ' || n as a, 'ende é' || n as b
          from unnest(array[${SIZES}]) n`;
        for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
          const { rows } = await client.query(text);
          assert.equal(rows.length, SIZES.length);
          for (const [index, n] of SIZES.entries()) {
            const { v, ...rest } = rows[index];
            assert.deepEqual(rest, { n, a: `end ${n}`, b: `ende é${n}` });
            assert.ok(v === letters.repeat(n), `${n} times ${letters}`);
          }
        }
      }
    });

    it('when rows add up to exactly the size of a chunk', async () => {
      const client = await newClient();
      for (const each of [1, 16, 1024, 2048, 4096, CHUNK, 2 * CHUNK]) {
        const count = Math.max(2, CHUNK / each) * 2 + 1;
        const text = `select lpad(g::text, ${each}, '.') as a, lpad(g::text, ${each}, 'é') as b
          from generate_series(1, ${count}) g`;
        for (let execution = 1; execution <= 4; ++execution) {
          const { rows } = await client.query(text);
          assert.equal(rows.length, count);
          for (const [index, { a, b }] of rows.entries()) {
            const number = String(index + 1).slice(0, each);
            assert.ok(a === number.padStart(each, '.') && b === number.padStart(each, 'é'));
          }
        }
      }
    });

    it('for any mix of characters, with lengths near the size of a chunk', async () => {
      const client = await newClient();
      const letter = fc.constantFrom('x', 'é', '漢', '😀', '\u0001', '\ufffd');
      const length = fc.oneof(
        fc.nat(20),
        fc
          .constantFrom(CHUNK / 4, CHUNK / 2, CHUNK)
          .chain((n) => fc.integer({ min: n - 3, max: n + 3 })),
      );
      // Of one letter, of two, and with an odd one at the end.
      const value = fc
        .tuple(letter, letter, length, fc.boolean(), fc.option(letter))
        .map(
          ([a, b, n, isMixed, last]) => (isMixed ? a + b : a).repeat(n).slice(0, n) + (last ?? ''),
        )
        .map((text) => text.toWellFormed?.() ?? Buffer.from(text).toString());
      await holds(
        fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 12 }), async (values) => {
          const [first, second] = await Promise.all([
            client.query('select v, n from unnest($1::text[]) with ordinality as u(v, n)', [
              values,
            ]),
            client.query('select $1::text as v, $2::text as w', [values[0], values.at(-1)]),
          ]);
          assert.ok(first.rows.every(({ v }, n) => v === values[n]));
          assert.ok(second.rows[0].v === values[0] && second.rows[0].w === values.at(-1));
        }),
        150,
      );
    });

    it('when results of one delivery share chunks', async () => {
      const client = await newClient();
      const queries = Array.from({ length: 400 }, (_, n) => ({
        text: 'select repeat($1, $2) as v, $1 as letter, $2::int as n, to_jsonb($1::text) as j',
        values: [['x', 'é', '😀', 'ab', 'ß-ẞ'][n % 5], (n * 331) % 2000],
      }));
      for (let round = 0; round < 3; ++round) {
        const answers = await Promise.all(queries.map((query) => client.query(query)));
        for (const [n, { rows }] of answers.entries()) {
          const [letter, count] = queries[n].values;
          assert.deepEqual(rows, [{ v: letter.repeat(count), letter, n: count, j: letter }]);
        }
      }
    });

    it('when it is very long', async () => {
      const client = await newClient();
      for (let execution = 1; execution <= 4; ++execution) {
        const { rows } = await client.query(
          "select repeat('0123456789', 2000000) as a, repeat('é漢😀', 1000000) as b, 'after' as c, " +
            "to_jsonb(repeat('é', 2000000)) as j, decode(repeat('00ff', 1000000), 'hex') as bytes",
        );
        const [row] = rows;
        assert.ok(row.a === '0123456789'.repeat(2000000));
        assert.ok(row.b === 'é漢😀'.repeat(1000000));
        assert.equal(row.c, 'after');
        assert.ok(row.j === 'é'.repeat(2000000));
        assert.ok(row.bytes.equals(Buffer.alloc(2000000, Buffer.from([0, 255]))));
      }
    });

    it('when json and bytea exceed the size of a chunk', async () => {
      const client = await newClient();
      const text = `select g, json_build_object('g', g, 't', repeat('é', 200)) as j,
        jsonb_build_array(g, null, repeat('e', 200)) as b, decode(repeat(to_hex(g % 16) || '0', 300), 'hex') as bytes
        from generate_series(1, 6000) g`;
      await sameAsPg(client, text);
    });

    it('also in values that are kept while later results arrive', async () => {
      const client = await newClient();
      const kept = [];
      for (let n = 0; n < 200; ++n) {
        const { rows } = await client.query(
          "select decode(lpad(to_hex($1::int), 8, '0'), 'hex') as bytes, repeat($1::text, 5) as a, " +
            "repeat('é' || $1, 5) as b",
          [n],
        );
        kept.push(rows[0]);
      }
      for (const [n, row] of kept.entries()) {
        const bytes = Buffer.alloc(4);
        bytes.writeUInt32BE(n);
        assert.deepEqual(row, { bytes, a: `${n}`.repeat(5), b: `é${n}`.repeat(5) });
      }
    });
  });
});
