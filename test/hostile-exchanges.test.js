'use strict';

// Wrong answers to what is more than one query: Sync groups, batches, texts of several statements, COPY,
// cancel requests. No word of libpq's own proves that something has not run. By a scripted server.

const assert = require('node:assert/strict');
const m = require('./support/messages');
const { errorOf } = require('./support/outcomes');
const { until } = require('./support/outside');
const { ECHO } = require('./support/scripted-server');
const {
  allInTime,
  assertOwn,
  before,
  behind,
  echo,
  inTime,
  instead,
  typeOf,
  useScript,
  without,
} = require('./support/scripts');

const UNKNOWN = m.message('?');
const OTHER_ROWS = m.rowDescription([
  { name: 'i', oid: m.OID.int4 },
  { name: 't', oid: m.OID.text },
]);
const OTHER_ROW = m.dataRow(['99', 'another']);
const COMPLETE = m.commandComplete('SELECT 1');
const FAILURE = m.errorMessage({ S: 'ERROR', V: 'ERROR', C: '22012', M: 'said so' });
const INSERT = 'insert into t values ($1)';

describe('A server that answers wrongly', () => {
  const script = useScript();

  describe('to queries that share a Sync', () => {
    /** So that four of them are sent behind one Sync. */
    async function newSharingPool() {
      const pool = script.newPool({ syncGroup: 'all' });
      await until('they share Syncs', async () => {
        const { syncs } = pool.stats();
        await Promise.all([1, 2, 3, 4].map((i) => pool.query(INSERT, [i])));
        return pool.stats().syncs - syncs === 1;
      });
      return pool;
    }

    const OUTCOMES = [
      ['something unknown before ReadyForQuery', before('Z', UNKNOWN)],
      ['an error without SQLSTATE before ReadyForQuery', before('Z', m.errorMessage({ M: 'x' }))],
      ['something unknown before a CommandComplete', before('C', UNKNOWN)],
      ['no ReadyForQuery, and its end', without('Z')],
    ];

    for (const [what, change] of OUTCOMES) {
      it(`runs none of them again: with ${what}`, async () => {
        const pool = await newSharingPool();
        /** @type {string[][]} */
        const turns = [];
        script.server.reply = (sane, { texts, session }) => {
          if (texts.length === 0) return sane;
          turns.push(texts);
          session.say(change(sane));
          if (!what.includes('end')) return undefined;
          session.end();
          return undefined;
        };
        const queries = [1, 2, 3, 4].map((i) => pool.query(INSERT, [i]));
        for (const { status, reason } of await allInTime(queries)) {
          assert.equal(status, 'rejected');
          assert.equal(reason.outcome, 'unknown', String(reason));
        }
        assert.deepEqual(
          turns.map(({ length }) => length),
          [4],
        );
        await script.recovers(pool);
      });

      it(`does not call a batch undone: with ${what}`, async () => {
        const pool = script.newPool();
        assertOwn(await echo(pool, 1), 1);
        script.server.reply = (sane, { session }) => {
          session.say(change(sane));
          if (what.includes('end')) session.end();
        };
        const list = [1, 2, 3].map((i) => ({ text: INSERT, values: [i] }));
        const error = await errorOf(inTime('the batch', pool.batch(list)));
        assert.equal(error.outcome, 'unknown', String(error));
        await script.recovers(pool);
      });
    }

    it('runs each of them again when it says that one has failed', async () => {
      const answer = { columns: [], rows: [], tag: 'INSERT 0 1' };
      script.server.statements[INSERT] = () => answer;
      const pool = await newSharingPool();
      let runs = 0;
      script.server.reply = (sane, { texts }) => {
        runs += texts.length;
        return texts.length < 2 ? sane : [FAILURE, m.ready()];
      };
      const results = await allInTime([1, 2, 3, 4].map((i) => pool.query(INSERT, [i])));
      assert.deepEqual(
        results.map(({ value }) => value.command),
        Array(4).fill('INSERT'),
      );
      assert.equal(runs, 8);
    });

    it('does not call them undone when its last words have no V field, as of an old pooler', async () => {
      const pool = await newSharingPool();
      script.server.reply = (sane, { session }) => {
        session.say(m.errorMessage({ S: 'FATAL', C: '08P01', M: 'server conn crashed?' }));
        session.end();
      };
      for (const { reason } of await allInTime([1, 2, 3, 4].map((i) => pool.query(INSERT, [i])))) {
        assert.equal(reason.outcome, 'unknown', String(reason));
      }
    });
  });

  describe('to a cancel request', () => {
    it('has given no key: the query is given up, and its connection', async () => {
      const { handshake } = script.server;
      script.server.handshake = [
        (body) => handshake[0](body).filter((bytes) => typeOf(bytes) !== 'K'),
      ];
      const client = await script.connect();
      client.on('error', () => {});
      script.server.reply = (sane, { texts }) => (texts.length > 0 ? undefined : sane);
      const query = client.query({ text: ECHO, values: [1, 'v1'], timeoutMillis: 50 });
      const error = await errorOf(inTime('the query', query));
      assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
      assert.equal(error.outcome, 'unknown');
    });
  });
});
