'use strict';

// Databases whose encoding is not UTF-8. The client's always is, so the server converts, or says that
// it cannot: for the query that it cannot convert, and for nobody else.

const assert = require('node:assert/strict');
const pg = require('pg');
const { startDatabase } = require('../../scripts/database');
const { endAll, newClient, newPool } = require('../support/connect');
const { EXECUTIONS, sameAsPg } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');

const UNTRANSLATABLE = '22P05';
const NOT_IN_REPERTOIRE = '22021';

describe('a database in', () => {
  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let server;
  /** @type {pg.Client} */
  let like;

  /** @param {string} encoding */
  const connectionStringOf = (encoding) =>
    server.connectionString.replace('/postgres?', `/in_${encoding.toLowerCase()}?`);

  /** Makes the database, and a client of `pg` in it. @param {string} encoding */
  async function openDatabase(encoding) {
    const admin = new pg.Client(server.connectionString);
    await admin.connect();
    await admin.query(`create database in_${encoding} encoding '${encoding}'
      lc_collate 'C' lc_ctype 'C' template template0`);
    await admin.end();
    like = new pg.Client(connectionStringOf(encoding));
    await like.connect();
    await like.query(`create type letter as enum ('é', 'ü');
      create table "tâble" (id int primary key, "cölumn" text, kind letter)`);
    await like.query(`insert into "tâble" values (1, 'Æ', 'é'), (2, 'ascii', 'ü'), (3, '', null)`);
  }

  before(async () => {
    server = await startDatabase({ own: true });
  });
  after(() => server.stop());
  afterEach(endAll);

  const OF_ITS_OWN = { LATIN1: ofLatin1, SQL_ASCII: ofSqlAscii };

  for (const [encoding, itsOwn] of Object.entries(OF_ITS_OWN)) {
    describe(encoding, () => {
      /** @type {string} */
      let connectionString;
      before(async () => {
        await openDatabase(encoding);
        connectionString = connectionStringOf(encoding);
      });
      after(() => like.end());

      it('returns the same text, names and labels as pg', async () => {
        const client = await newClient({ connectionString });
        for (const query of [
          "select current_setting('server_encoding') as s, current_setting('client_encoding') as c",
          'select * from "tâble" order by id',
          'select "cölumn" as "ñame", length("cölumn"), kind from "tâble" order by id',
          { text: 'select $1::text as t, octet_length($1::text) as n', values: ['été'] },
          { text: 'select array[$1, $2]::letter[] as letters', values: ['é', 'ü'] },
          `select json_build_object('é', "cölumn") as j from "tâble" order by id`,
        ]) {
          await sameAsPg(client, query, { like });
        }
      });

      it('has readable errors and notices', async () => {
        const client = await newClient({ connectionString });
        const notices = [];
        client.on('notice', ({ message }) => notices.push(message));
        for (const [text, values] of [
          ['select * from "naïve"', []],
          ['select $1::letter', ['ö']],
          [`insert into "tâble" values (1, 'ô')`, []],
        ]) {
          const expected = await errorOf(like.query(text, values));
          const actual = await errorOf(client.query(text, values));
          for (const key of ['message', 'code', 'detail', 'table']) {
            assert.equal(actual[key], expected[key]);
          }
        }
        await client.query("do $$ begin raise notice 'ça va'; end $$");
        assert.deepEqual(notices, ['ça va']);
      });

      it('copies rows in and out, and delivers notifications', async () => {
        const client = await newClient({ connectionString });
        const payloads = [];
        client.on('notification', ({ channel, payload }) => payloads.push([channel, payload]));
        await client.query('listen "cänal"');
        await client.copyRows('tâble', ['id', 'cölumn'], [[10, 'façade']]);
        let text = '';
        const copy = client.copyTo('copy (select "cölumn" from "tâble" where id = 10) to stdout');
        for await (const data of copy) text += data;
        assert.equal(text, 'façade\n');
        await client.query(`delete from "tâble" where id = 10; notify "cänal", 'où'`);
        assert.deepEqual(payloads, [['cänal', 'où']]);
      });

      itsOwn();
    });
  }

  function ofLatin1() {
    it('refuses a character that it does not have, without affecting other queries', async () => {
      const pool = newPool({ connectionString: connectionStringOf('LATIN1'), max: 1 });
      const text = 'select $1::text as t';
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const values = ['é', '€', 'a', '😀', 'ÿ', '\ud800', 'z'];
        const settled = await Promise.allSettled(values.map((value) => pool.query(text, [value])));
        for (const [n, { status, value, reason }] of settled.entries()) {
          if (n % 2 === 0) {
            assert.equal(status, 'fulfilled');
            assert.deepEqual(value.rows, [{ t: values[n] }]);
          } else {
            assert.equal(reason.code, UNTRANSLATABLE);
            assert.equal(reason.outcome, 'not-run');
          }
        }
      }
      const { code } = await errorOf(pool.query("select '漢' as t"));
      assert.equal(code, UNTRANSLATABLE);
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    });
  }

  function ofSqlAscii() {
    /** What no client in UTF-8 could have written. */
    const INVALID = { 'a byte': '\\x61ff', 'a surrogate': '\\xeda080', 'a half': '\\x61f09f98' };

    it('refuses to return invalid UTF-8, and other queries get their results', async () => {
      const pool = newPool({ connectionString: connectionStringOf('SQL_ASCII'), max: 1 });
      await like.query('create table old (n int, t text)');
      for (const bytes of Object.values(INVALID)) {
        await like.query("insert into old values ($1, convert_from($2::bytea, 'SQL_ASCII'))", [
          Object.values(INVALID).indexOf(bytes),
          bytes,
        ]);
      }
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const settled = await Promise.allSettled(
          [0, 1, 2].flatMap((n) => [
            pool.query('select t from old where n = $1', [n]),
            pool.query("select 'naïve' as t, $1::int as n", [n]),
          ]),
        );
        for (const [n, { value, reason }] of settled.entries()) {
          if (n % 2 === 1) assert.deepEqual(value.rows, [{ t: 'naïve', n: (n - 1) / 2 }]);
          else assert.equal(reason.code, NOT_IN_REPERTOIRE);
        }
      }
      // The way out: its bytes.
      const { rows } = await pool.query(
        "select convert_to(t, 'SQL_ASCII') as t from old order by n",
      );
      assert.deepEqual(
        rows.map(({ t }) => `\\x${t.toString('hex')}`),
        Object.values(INVALID),
      );
    });

    it('returns U+FFFD for it, as pg does, in a session without conversion', async () => {
      const client = await newClient({ connectionString: connectionStringOf('SQL_ASCII') });
      for (const one of [client, like]) await one.query("set client_encoding to 'SQL_ASCII'");
      const rows = await sameAsPg(client, "select t, t || 'é' as u, array[t] as a from old", {
        like,
      });
      assert.ok(rows.every(({ t }) => t.includes('\ufffd')));
      await like.query(`do $$ begin execute format('create view named as select 1 as %I, 2 as "é"',
        convert_from('\\xff41', 'SQL_ASCII')); end $$`);
      const named = await sameAsPg(client, 'select * from named', { like });
      assert.deepEqual(named, [{ '\ufffdA': 1, é: 2 }]);
      const text = `do $$ begin raise exception '%', convert_from('\\xe9', 'SQL_ASCII'); end $$`;
      assert.equal((await errorOf(client.query(text))).message, '\ufffd');
    });
  }
});
