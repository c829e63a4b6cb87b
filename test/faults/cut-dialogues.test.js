'use strict';

// A dialogue that ends at each of its bytes (in `npm test` at every third), by the end of the connection and by a reset: what was
// answered is fulfilled, nothing that the server has run is called not run, nothing runs twice, and
// nobody waits for ever. By a scripted server.

const assert = require('node:assert/strict');
const { ConduitError } = require('../..');
const { until } = require('../support/outside');
const { IS_FULL, IS_LONG, randomFrom } = require('../support/property');
const { ECHO } = require('../support/scripted-server');
const { allInTime, assertOwn, echo, inTime, useScript } = require('../support/scripts');

const INSERT = 'insert into t values ($1)';
const WAYS = ['end', 'reset'];

/** Bytes between two cuts: where the first is differs from run to run. */
const STEP = IS_FULL || IS_LONG ? 1 : 3;
const FIRST = Math.floor(STEP * randomFrom()());

describe('A connection that is cut', () => {
  const script = useScript();

  /** How often each INSERT has run, by its number. @type {Map<number, number>} */
  let runs;
  /** Bytes until the end of each answer, on the first connection. @type {number[]} */
  let ends;
  /** Bytes until the server is ready. */
  let start;

  beforeEach(() => {
    runs = new Map();
    ends = [];
    // Called by Describe, and by Execute.
    let isDescribed = false;
    script.server.statements[INSERT] = ([number]) => {
      isDescribed = !isDescribed;
      if (!isDescribed) runs.set(Number(number), (runs.get(Number(number)) ?? 0) + 1);
      return { columns: [], rows: [], tag: 'INSERT 0 1' };
    };
    script.server.reply = (sane, { number, texts, session }) => {
      if (number === 1) start = session.said;
      if (texts.length > 0) {
        ends.push(session.said + sane.reduce((sum, { length }) => sum + length, 0));
      }
      return sane;
    };
  });

  const insert = (one, i) => one.query(INSERT, [i]);

  /** What each query of the dialogue is, in the order of its answers, and how it is proved. */
  const DIALOGUE = [
    { send: (one) => echo(one, 1), check: (result) => assertOwn(result, 1) },
    { send: (one) => insert(one, 1), check: ({ command }) => assert.equal(command, 'INSERT') },
    { send: (one) => echo(one, 2), check: (result) => assertOwn(result, 2) },
    {
      send: (one) =>
        one.batch([
          { text: INSERT, values: [2] },
          { text: ECHO, values: [3, 'v3'] },
        ]),
      check: ([first, second]) => {
        assert.equal(first.command, 'INSERT');
        assertOwn(second, 3);
      },
    },
    { send: (one) => insert(one, 3), check: ({ command }) => assert.equal(command, 'INSERT') },
  ];
  const TEXT = {
    send: (client) => client.query('select 1; select 2'),
    check: (results) => {
      assert.deepEqual(
        results.map(({ rows }) => rows),
        [[{ text: 'select 1' }], [{ text: 'select 2' }]],
      );
    },
  };
  const ON_CLIENT = [...DIALOGUE, TEXT];

  /** @param {PromiseSettledResult<any>} outcome @param {number | undefined} count of its runs */
  function assertTrue(outcome, count, what) {
    if (outcome.status === 'fulfilled') {
      if (count !== undefined) assert.equal(count, 1, what);
      return;
    }
    assert.ok(outcome.reason instanceof ConduitError, `${what}: ${outcome.reason?.stack}`);
    if (count === undefined) return;
    assert.ok(count <= 1, `${what}: ran ${count} times`);
    if (outcome.reason.outcome === 'not-run') assert.equal(count, 0, `${what}: ${outcome.reason}`);
  }

  /** @param {PromiseSettledResult<any>[]} outcomes of the dialogue */
  function assertAllTrue(outcomes, what) {
    const written = [undefined, 1, undefined, 2, 3, undefined];
    outcomes.forEach((outcome, index) => {
      const number = written[index];
      if (outcome.status === 'fulfilled') ON_CLIENT[index].check(outcome.value);
      assertTrue(outcome, number && (runs.get(number) ?? 0), `${what}, query ${index}`);
    });
  }

  /** The dialogue on a client of its own. */
  async function onClient() {
    const client = script.newClient();
    client.on('error', () => {});
    const connected = client.connect();
    const queries = ON_CLIENT.map(({ send }) => send(client));
    const [connection, ...outcomes] = await allInTime([connected, ...queries]);
    await inTime('the end', client.end());
    return { connection, outcomes };
  }

  for (const way of WAYS) {
    it(`at any byte, by its ${way}, gives a client correct outcomes`, async () => {
      const whole = await onClient();
      assert.ok(whole.outcomes.every(({ status }) => status === 'fulfilled'));
      const answers = [...ends];
      assert.equal(answers.length, ON_CLIENT.length);
      const handshake = start;
      const total = /** @type {number} */ (answers.at(-1));
      script.server.cutBy = way;
      let connects = 0;
      for (let cut = FIRST; cut <= total; cut += STEP) {
        runs.clear();
        script.server.cutAt = cut;
        const { connection, outcomes } = await onClient();
        const what = `cut at ${cut} of ${total}`;
        assertAllTrue(outcomes, what);
        if (connection.status === 'fulfilled') {
          ++connects;
        } else {
          assert.equal(runs.size, 0);
          for (const { reason } of outcomes) assert.equal(reason.outcome, 'not-run', what);
        }
        if (way === 'reset') continue;
        // All that was said is there to be read.
        assert.equal(connection.status === 'fulfilled', cut >= handshake, what);
        assert.deepEqual(
          outcomes.map(({ status }) => status === 'fulfilled'),
          answers.map((end) => cut >= end),
          what,
        );
      }
      assert.ok(connects > 0 && connects < total);
    });

    for (const [distributed, where] of [
      [false, ''],
      [true, ', also where a batch needs BEGIN and COMMIT'],
    ]) {
      it(`at any byte of its answers, by its ${way}, is replaced in a pool${where}`, async () => {
        const run = async (pool) => allInTime(DIALOGUE.map(({ send }) => send(pool)));
        const newPool = () => script.newPool({ syncGroup: 'all', distributed });
        const whole = newPool();
        assert.ok((await run(whole)).every(({ status }) => status === 'fulfilled'));
        const total = /** @type {number} */ (ends.at(-1));
        await whole.end();
        script.server.cutBy = way;
        for (let cut = start + FIRST; cut <= total; cut += STEP) {
          runs.clear();
          script.server.cutAt = cut;
          const pool = newPool();
          assertAllTrue(await run(pool), `cut at ${cut} of ${total}`);
          // The first may still find the connection that ends just then.
          await until('the pool is well again', () => echo(pool, 9).then(Boolean, () => false));
          assertOwn(await inTime('a query afterwards', echo(pool, 9)), 9);
          await inTime('the end', pool.end());
        }
      });
    }

    it(`at any byte of a COPY TO STDOUT, by its ${way}, returns no incomplete data as complete`, async () => {
      const whole = 'one\ntwo\n';
      let total = 0;
      const read = async () => {
        const client = script.newClient();
        client.on('error', () => {});
        let text = '';
        const copied = client.connect().then(async () => {
          const [session] = [...script.server.sessions].slice(-1);
          for await (const data of client.copyTo('copy t to stdout')) text += data;
          total = session.said;
        });
        const [outcome] = await allInTime([copied]);
        await inTime('the end', client.end());
        return { text, outcome };
      };
      assert.equal((await read()).text, whole);
      script.server.cutBy = way;
      for (let cut = FIRST, last = total; cut <= last; cut += STEP) {
        script.server.cutAt = cut;
        const { text, outcome } = await read();
        if (outcome.status === 'fulfilled') assert.equal(text, whole);
        else assert.ok(whole.startsWith(text), JSON.stringify(text));
        if (way === 'end') assert.equal(outcome.status === 'fulfilled', cut === last, `${cut}`);
      }
    });

    it(`at any byte of the answer to a COPY FROM STDIN, by its ${way}, gives a correct outcome`, async () => {
      let total = 0;
      const write = async () => {
        const client = script.newClient();
        client.on('error', () => {});
        const copied = client.connect().then(
          () =>
            new Promise((resolve, reject) => {
              const [session] = [...script.server.sessions].slice(-1);
              const stream = client.copyFrom('copy t from stdin');
              stream.on('error', reject);
              stream.on('finish', () => {
                total = session.said;
                resolve(stream.rowCount);
              });
              stream.write('one\n');
              stream.end('two\n');
            }),
        );
        const [outcome] = await allInTime([copied]);
        await inTime('the end', client.end());
        return outcome;
      };
      assert.equal((await write()).value, 1);
      script.server.cutBy = way;
      for (let cut = FIRST, last = total; cut <= last; cut += STEP) {
        script.server.cutAt = cut;
        const outcome = await write();
        if (way === 'end') assert.equal(outcome.status === 'fulfilled', cut === last, `${cut}`);
        if (outcome.status === 'fulfilled') assert.equal(outcome.value, 1);
        else assert.ok(outcome.reason instanceof ConduitError, String(outcome.reason));
      }
    });
  }
});
