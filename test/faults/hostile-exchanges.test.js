'use strict';

// Wrong answers to what is more than one query: Sync groups, batches, texts of several statements, COPY,
// cancel requests. No word of libpq's own proves that something has not run. By a scripted server.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { binding } = require('../../lib/native');
const m = require('../support/messages');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { ECHO } = require('../support/scripted-server');
const {
  allInTime,
  assertOwn,
  before,
  behind,
  describeEcho,
  echo,
  inTime,
  instead,
  typeOf,
  useScript,
  without,
} = require('../support/scripts');

const UNKNOWN = m.message('?');
const OTHER_ROWS = m.rowDescription([
  { name: 'i', oid: m.OID.int4 },
  { name: 't', oid: m.OID.text },
]);
const OTHER_ROW = m.dataRow(['99', 'another']);
const COMPLETE = m.commandComplete('SELECT 1');
const FAILURE = m.errorMessage({ S: 'ERROR', V: 'ERROR', C: '22012', M: 'said so' });
const INSERT = 'insert into t values ($1)';

describe('A server that sends wrong answers', () => {
  const script = useScript();

  describe('to queries that share a Sync', () => {
    /** So many at once that some of them share a Sync: the first ones have one each. */
    const insertMany = (pool) => Array.from({ length: 24 }, (_, i) => pool.query(INSERT, [i]));

    /** So that some of those are sent behind one Sync. */
    async function newSharingPool() {
      const pool = script.newPool({ syncGroup: 'all' });
      await until('they share Syncs', async () => {
        const { syncs } = pool.stats();
        await Promise.all(insertMany(pool));
        return pool.stats().syncs - syncs < 24;
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
      it(`makes none of them run again: with ${what}`, async () => {
        const pool = await newSharingPool();
        /** @type {string[][]} */
        const turns = [];
        script.server.reply = (sane, { texts, session }) => {
          turns.push(texts);
          if (texts.length < 2) return sane;
          session.say(change(sane));
          if (what.includes('end')) session.end();
          return undefined;
        };
        const outcomes = await allInTime(insertMany(pool));
        const lone = turns.findIndex(({ length }) => length > 1);
        assert.ok(lone >= 0, 'some share a Sync');
        for (const [i, { status, reason }] of outcomes.entries()) {
          assert.equal(status, i < lone ? 'fulfilled' : 'rejected', `${i}: ${reason}`);
          if (i >= lone) assert.equal(reason.outcome, 'unknown', String(reason));
        }
        assert.ok(turns.flat().length <= 24);
        script.server.reply = (sane) => sane;
        await script.recovers(pool);
      });

      it(`does not make a batch report not-run: with ${what}`, async () => {
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

    it('makes each of them run again when it reports that one has failed', async () => {
      const answer = { columns: [], rows: [], tag: 'INSERT 0 1' };
      script.server.statements[INSERT] = () => answer;
      const pool = await newSharingPool();
      let runs = 0;
      let failed = 0;
      script.server.reply = (sane, { texts }) => {
        runs += texts.length;
        if (texts.length < 2) return sane;
        failed += texts.length;
        return [FAILURE, m.ready()];
      };
      const results = await allInTime(insertMany(pool));
      assert.deepEqual(
        results.map(({ value }) => value.command),
        Array(24).fill('INSERT'),
      );
      assert.ok(failed > 1);
      assert.equal(runs, 24 + failed);
    });

    it('does not make them report not-run when its last error has no V field, as of an old pooler', async () => {
      const pool = await newSharingPool();
      let lone = 0;
      script.server.reply = (sane, { texts, session }) => {
        if (texts.length < 2) {
          ++lone;
          return sane;
        }
        session.say(m.errorMessage({ S: 'FATAL', C: '08P01', M: 'server conn crashed?' }));
        session.end();
        return undefined;
      };
      const outcomes = await allInTime(insertMany(pool));
      assert.ok(lone < 24);
      for (const { reason } of outcomes.slice(lone)) {
        assert.equal(reason?.outcome, 'unknown', String(reason));
      }
    });
  });

  describe('to several statements in one text', () => {
    const TEXT = 'select 1; select 2';

    for (const [what, change] of [
      ['no CommandComplete between two', without('C')],
      ['something unknown', before('D', UNKNOWN)],
      ['CopyBothResponse', before('D', m.copyResponse('W'))],
      ['a row of another width', instead('D', OTHER_ROW)],
      ['a message of negative length', before('D', m.withLength('D', -1))],
      [
        'client_encoding of another kind',
        before('D', m.parameterStatus('client_encoding', 'BIG5')),
      ],
    ]) {
      it(`makes it fail with ${what}`, async () => {
        const client = await script.connect();
        client.on('error', () => {});
        script.server.reply = (sane, { last }) => (last === 'Q' ? change(sane) : sane);
        const error = await errorOf(inTime('the text', client.query(TEXT)));
        assert.equal(error.outcome, 'unknown', String(error));
      });
    }
  });

  describe('to one statement by the simple protocol, among other queries', () => {
    const TEXT = 'select something';
    const COLUMNS = [{ name: 'v', oid: m.OID.text }];
    const OWN = { columns: COLUMNS, rows: [['own']], tag: 'SELECT 1' };
    const MORE = [m.rowDescription(COLUMNS), m.dataRow(['more'])];

    for (const [what, change, told] of [
      ['what it should', (sane) => sane, 'own'],
      ['rows that a rule adds', before('C', MORE), 'own more'],
      ['a second CommandComplete', behind('C', COMPLETE), 'unknown'],
      ['no CommandComplete', without('C'), 'unknown'],
      ['no ReadyForQuery', without('Z'), 'unknown'],
      ['ReadyForQuery twice', behind('Z', m.ready()), undefined],
      ['ReadyForQuery alone', (sane) => sane.slice(-1), 'unknown'],
      ['ReadyForQuery among the rows', before('D', m.ready()), 'unknown'],
      ['rows and CommandComplete behind an error', instead('T', FAILURE), 'not-run'],
      ['an error behind CommandComplete', behind('C', FAILURE), 'not-run'],
      ['an error behind rows', instead('C', FAILURE), 'not-run'],
      ['something unknown', before('D', UNKNOWN), 'unknown'],
      ['a row of another width', instead('D', OTHER_ROW), 'unknown'],
      ['a row without columns', without('T'), 'unknown'],
      ['CopyInResponse', before('T', m.copyResponse('G')), 'unknown'],
      ['CopyOutResponse', before('T', m.copyResponse('H')), 'unknown'],
      ['CopyBothResponse', before('T', m.copyResponse('W')), 'unknown'],
      ['the answer to a Parse and a Bind', before('T', [m.PARSE_COMPLETE, m.BIND_COMPLETE]), 'own'],
    ]) {
      it(`does no harm with ${what}`, async () => {
        const client = await script.connect({ prepare: false, distributed: false });
        client.on('error', () => {});
        script.server.statements[TEXT] = () => OWN;
        const turns = [];
        script.server.reply = (sane, { last, texts }) => {
          turns.push(last);
          return texts[0] === TEXT && last === 'Q' ? change(sane) : sane;
        };
        const [first, own, ...others] = await allInTime([
          echo(client, 1),
          client.query(TEXT),
          echo(client, 2),
          echo(client, 3),
        ]);
        assertOwn(first.value, 1);
        const { value, reason } = own;
        const said = reason?.outcome ?? value.rows.map(({ v }) => v).join(' ');
        // With an installed libpq it is an extended query, whose answer is not changed.
        const expected = binding.pipelinesSimple ? told : 'own';
        if (expected !== undefined) assert.equal(said, expected, String(reason));
        assert.equal(turns.includes('Q'), binding.pipelinesSimple);
        for (const [i, outcome] of others.entries()) {
          const word = describeEcho(outcome, i + 2);
          if (expected === 'own' || expected === 'not-run') assert.equal(word, 'own');
        }
      });
    }
  });

  describe('to a COPY', () => {
    const FROM = 'copy t from stdin';
    const TO = 'copy t to stdout';

    /** The stream's error, or undefined when it ended well. */
    function endOf(stream) {
      return inTime(
        'the stream',
        new Promise((resolve) => {
          stream.on('error', resolve);
          stream.on('close', () => resolve(undefined));
        }),
      );
    }

    it('succeeds when its answers are not changed', async () => {
      const client = await script.connect();
      const stream = client.copyFrom(FROM);
      stream.end('one\n');
      assert.equal(await endOf(stream), undefined);
      const out = client.copyTo(TO);
      out.resume();
      assert.equal(await endOf(out), undefined);
    });

    for (const [what, edit] of [
      ['something unknown', (sane) => [UNKNOWN, ...sane]],
      ['CopyOutResponse', () => [m.copyResponse('H')]],
      ['rows', (sane) => [OTHER_ROWS, OTHER_ROW, COMPLETE, ...sane.slice(-1)]],
      ['ReadyForQuery alone', (sane) => sane.slice(-1)],
      ['an error', (sane) => [FAILURE, ...sane.slice(-1)]],
      ['its end', () => []],
    ]) {
      it(`FROM STDIN, with ${what} at the end of the data, ends it with a correct outcome`, async () => {
        const client = await script.connect();
        client.on('error', () => {});
        script.server.reply = (sane, { last, session }) => {
          if (last !== 'c') return sane;
          const said = edit(sane);
          session.say(said);
          if (typeOf(said.at(-1) ?? Buffer.from('x')) !== 'Z') session.end();
          return undefined;
        };
        const stream = client.copyFrom(FROM);
        stream.end('one\n');
        const error = await endOf(stream);
        if (what === 'rows') assert.equal(error, undefined);
        else assert.equal(error.outcome, what === 'an error' ? 'not-run' : 'unknown');
      });
    }

    for (const [what, change] of [
      ['something unknown among the data', before('d', UNKNOWN)],
      ['a row among the data', before('d', OTHER_ROW)],
      ['ReadyForQuery among the data', behind('d', m.ready())],
      ['an error among the data', (sane) => [...sane.slice(0, 2), FAILURE, m.ready()]],
      ['no CopyDone', without('c')],
      ['data of negative length', before('d', m.withLength('d', -5))],
      ['its end among the data', (sane) => sane.slice(0, 2)],
    ]) {
      it(`TO STDOUT, with ${what}, ends it with a correct outcome`, async () => {
        const client = await script.connect();
        client.on('error', () => {});
        script.server.reply = (sane, { last, session }) => {
          if (last !== 'Q') return sane;
          const said = change(sane);
          session.say(said);
          if (!/an error/.test(what)) session.end();
          return undefined;
        };
        const stream = client.copyTo(TO);
        let text = '';
        stream.on('data', (data) => (text += data));
        const error = await endOf(stream);
        assert.ok('one\ntwo\n'.startsWith(text), JSON.stringify(text));
        if (error === undefined) assert.equal(text, 'one\ntwo\n');
        else assert.ok(['unknown', 'not-run'].includes(error.outcome));
      });
    }
  });

  describe('to a cancel request', () => {
    it('and has sent no key makes the driver close the connection and reject the query', async () => {
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

    describe('behind a savepoint of the driver', () => {
      /** @type {() => void} */
      let answerSavepoint;
      /** @type {import('../..').Client} */
      let client;

      /** A stream in a transaction, whose savepoint is at the server. */
      async function openStream() {
        const inTransaction = instead('Z', m.ready('T'));
        client = await script.connect();
        client.on('error', () => {});
        script.server.reply = inTransaction;
        // With a limit it waits for its answer.
        await inTime('BEGIN', client.query('begin', [], { timeoutMillis: 60_000 }));
        let isThere = false;
        script.server.reply = (sane, { texts, session }) => {
          if (!/^SAVEPOINT/.test(texts[0])) return undefined;
          isThere = true;
          answerSavepoint = () => session.say(inTransaction(sane));
          return undefined;
        };
        const stream = client.stream(ECHO, [1, 'v1']);
        stream.on('error', () => {});
        return { stream, untilThere: () => until('it is there', () => isThere) };
      }

      it('gets no cancel request before it has answered the savepoint, which that would hit', async () => {
        const { stream, untilThere } = await openStream();
        stream.destroy();
        await untilThere();
        await delay(50);
        assert.equal(script.server.cancels, 0);
        answerSavepoint();
        await until('it is asked', () => script.server.cancels > 0);
      });

      it('gets no cancel request if the query was aborted by then', async () => {
        const { stream, untilThere } = await openStream();
        stream.resume();
        await untilThere();
        const error = await errorOf(inTime('cancel()', client.cancel()));
        assert.match(error.message, /could not be asked to cancel/);
        answerSavepoint();
        await delay(50);
        assert.equal(script.server.cancels, 0);
      });
    });
  });
});
