'use strict';

// What copyRows() sends: each COPY alone in its Query, and as few round trips as rows and columns allow.

const assert = require('node:assert/strict');
const { StatementRefusedError } = require('../..');
const { newClient } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { newPool, usePools } = require('../support/pools');
const { errorMessage, message, Proxy } = require('../support/proxy');

/** Query. */
const QUERIES = Buffer.from('Q');
/** What the server gets in the place of a ROLLBACK: in a failed transaction it is refused. */
const REFUSED = message('Q', Buffer.from('select 1\0'));
/** What the driver is told then. */
const CANCELED = errorMessage({ S: 'ERROR', V: 'ERROR', C: '57014', M: 'canceled by a signal' });
/** What runs in a query for whether it waits for a lock. */
const WAITS = 'select 1 from pg_locks where pid = $1 and not granted';

describe('copyRows() on the wire', () => {
  const observer = usePools();
  const rowsOf = (table) => observer.rowsOf(table);
  const makeTable = (name, columns) => observer.makeTable(name, columns);
  /** @type {Proxy} */
  let proxy;
  /** Texts of Query messages. @type {string[]} */
  let sent;
  /** Of ROLLBACK in the next ones. */
  let failures = 0;

  before(async () => {
    proxy = await Proxy.open();
    proxy.changeRequest = (bytes) => {
      // Each message begins a piece, or follows another one of these two types.
      for (let at = 0; at < bytes.length && QUERIES.includes(bytes[at]);) {
        const end = at + 1 + bytes.readInt32BE(at + 1);
        sent.push(bytes.toString('utf8', at + 5, end - 1));
        at = end;
      }
      return sent.at(-1) === 'rollback' && failures > 0 ? REFUSED : bytes;
    };
    proxy.change = (type, bytes) => {
      if (failures === 0 || type !== 'E' || !bytes.includes('25P02')) return bytes;
      --failures;
      return CANCELED;
    };
  });
  beforeEach(() => {
    failures = 0;
    sent = [];
  });
  after(() => proxy.close());

  /** What each text does, statement by statement. */
  const steps = () =>
    sent.splice(0).map((text) =>
      text
        .split('; ')
        .map((one) => {
          if (one.startsWith('select a.attname')) return 'describe';
          const isBinary = one.startsWith('copy') && one.includes(' binary');
          return `${one.split(' ')[0]}${isBinary ? ' binary' : ''}`;
        })
        .join('; '),
    );

  const many = Array.from({ length: 2000 }, (_, n) => [n]);

  for (const [kind, open] of [
    ['pool', (given) => newPool(proxy.options({ max: 1, ...given }))],
    ['client', (given) => newClient(proxy.options(given))],
  ]) {
    it(`a few rows of a ${kind} are one COPY, and from the second time on nothing else`, async () => {
      await makeTable('few', 'n int');
      const db = await open();
      await db.copyRows('few', ['n'], [[1], [2]]);
      assert.deepEqual(steps(), ['describe', 'copy binary']);
      await db.copyRows('few', ['n'], [[3]]);
      await db.copyRows('few', ['n'], []);
      await db.copyRows('few', ['n'], [[' 4 ']]);
      assert.deepEqual(steps(), ['copy binary', 'copy binary', 'copy']);
      assert.deepEqual(await rowsOf('few'), [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
    });

    it(`are rolled back once more where a signal has hit the ROLLBACK of a ${kind}`, async () => {
      await makeTable('cancelled', 'n int');
      const db = await open();
      const mine = new Error('mine');
      const throwing = function* throwing() {
        yield* many;
        throw mine;
      };
      failures = 3;
      assert.equal(await errorOf(db.copyRows('cancelled', ['n'], throwing())), mine);
      assert.equal(sent.filter((text) => text === 'rollback').length, 4);
      assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      assert.deepEqual(await rowsOf('cancelled'), []);
    });

    it(`close the connection of a ${kind} where no ROLLBACK gets through`, async () => {
      await makeTable('cancelled', 'n int');
      const db = await open();
      /** @type {any[]} */
      const told = [];
      db.on('error', (error) => told.push(error));
      failures = Infinity;
      const mine = new Error('mine');
      const throwing = function* throwing() {
        yield* many;
        throw mine;
      };
      assert.equal(await errorOf(db.copyRows('cancelled', ['n'], throwing())), mine);
      assert.equal(sent.filter((text) => text === 'rollback').length, 10);
      failures = 0;
      if (kind === 'client') {
        await until('it is told', () => told.length > 0);
        assert.equal(told[0].message, 'ROLLBACK has failed');
        const error = await errorOf(db.query('select 1'));
        assert.equal(error.detail, 'ROLLBACK has failed');
      } else {
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      }
      assert.deepEqual(await rowsOf('cancelled'), []);
    });

    it(`many rows of a ${kind} are one transaction, with each COPY alone in its text`, async () => {
      await makeTable('much', 'n int');
      const db = await open();
      assert.deepEqual(await db.copyRows('much', ['n'], many), { rowCount: 2000 });
      assert.deepEqual(steps(), ['describe', 'begin; lock; describe', 'copy binary', 'commit']);
      const mixed = [...many, [' 1 ']];
      assert.deepEqual(await db.copyRows('much', ['n'], mixed), { rowCount: 2001 });
      assert.deepEqual(steps().slice(-4), [
        'begin; lock; describe',
        'copy binary',
        'copy',
        'commit',
      ]);
      assert.equal((await rowsOf('much')).length, 4001);
    });
  }

  it('where only one COPY will do, there is one, of text, and no transaction', async () => {
    await makeTable('noticed', 'n int');
    await observer.ask(`create or replace function conduit_test.nothing() returns trigger language plpgsql
      as 'begin return null; end';
      create trigger once after insert on conduit_test.noticed execute function conduit_test.nothing()`);
    const client = await newClient(proxy.options());
    await client.copyRows('noticed', ['n'], many);
    assert.deepEqual(steps(), ['describe', 'copy']);
  });

  it('in a transaction of the caller it begins and ends none', async () => {
    await makeTable('inner', 'n int');
    const client = await newClient(proxy.options());
    await client.query('begin');
    steps();
    await client.copyRows('inner', ['n'], [[1]]);
    assert.deepEqual(steps(), ['describe', 'copy binary']);
    await client.copyRows('inner', ['n'], many);
    assert.deepEqual(steps(), ['describe', 'lock; describe', 'copy binary']);
    await client.query('rollback');
    assert.deepEqual(await rowsOf('inner'), []);
    await client.transaction(async (tx) => {
      await tx.copyRows('inner', ['n'], many);
      await tx.copyRows('inner', ['n'], [[1]]);
    });
    assert.equal((await rowsOf('inner')).length, 2001);
    // As after a COPY in psql.
    await client.query('begin');
    assert.equal((await errorOf(client.copyRows('inner', ['n'], [['x']]))).code, '22P02');
    assert.equal((await errorOf(client.query('select 1'))).code, '25P02');
    await client.query('rollback');
  });

  it('what its client sends next is not a part of its transaction', async () => {
    await makeTable('ordered', 'n int, at timestamptz default now()');
    const client = await newClient();
    const copied = client.copyRows('ordered', ['n'], many);
    const [{ rows }] = await Promise.all([
      client.query('select count(*)::int as n, now() > max(at) as later from ordered'),
      copied,
    ]);
    assert.deepEqual(rows, [{ n: 2000, later: true }]);
  });

  it('a failure undoes all of it, and leaves no lock', async () => {
    await makeTable('undone', 'n int check (n < 3000)');
    for (const db of [newPool({ max: 1 }), await newClient()]) {
      const own = new Error('mine');
      for (const [last, check] of [
        [[5000], { code: '23514', outcome: 'not-run' }],
        [['x'], { code: '22P02', outcome: 'not-run' }],
        [
          {
            get length() {
              throw own;
            },
          },
          { code: 'ERR_PG_CONDUIT_PARAMETER' },
        ],
      ]) {
        await assert.rejects(db.copyRows('undone', ['n'], [...many, last]), check);
        await observer.ask(
          'begin; lock conduit_test.undone in access exclusive mode nowait; rollback',
        );
      }
      const rows = (function* () {
        yield* many;
        throw own;
      })();
      await assert.rejects(db.copyRows('undone', ['n'], rows), own);
      assert.deepEqual(await rowsOf('undone'), []);
      assert.deepEqual((await db.query('select 1 as a')).rows, [{ a: 1 }]);
    }
  });

  it('a constraint that fails at the commit is its error', async () => {
    await makeTable('deferred', 'n int unique deferrable initially deferred');
    const client = await newClient();
    for (const rows of [
      [...many, [1]],
      [[1], [1]],
    ]) {
      const error = await errorOf(client.copyRows('deferred', ['n'], rows));
      assert.deepEqual([error.code, error.outcome], ['23505', 'not-run']);
      assert.deepEqual(await rowsOf('deferred'), []);
    }
  });

  it('a session that ends in the middle has stored nothing', async () => {
    await makeTable('lost', 'n int');
    const client = await newClient();
    client.on('error', () => {});
    const rows = (async function* () {
      yield* many;
      await observer.ask('select pg_terminate_backend($1)', [client.processID]);
      for (;;) yield [1];
    })();
    const error = await errorOf(client.copyRows('lost', ['n'], rows));
    assert.equal(error.outcome, 'not-run');
    assert.deepEqual(await rowsOf('lost'), []);
  });

  it('a connection that is lost at the commit leaves it open whether it was', async () => {
    await makeTable('unknown', 'n int');
    const pool = newPool(proxy.options({ max: 1 }));
    await pool.query('select 1');
    proxy.change = (type, bytes, close) => {
      if (type !== 'C' || !bytes.includes('COMMIT\0')) return bytes;
      close();
      return Buffer.alloc(0);
    };
    try {
      const error = await errorOf(pool.copyRows('unknown', ['n'], many));
      assert.equal(error.outcome, 'unknown');
    } finally {
      proxy.change = undefined;
    }
    assert.equal((await rowsOf('unknown')).length, 2000);
  });

  describe('columns that another session alters', () => {
    /** @param {Promise<unknown>} copied that has begun @param {number} pid @param {string} change while it waits */
    async function alterMeanwhile(start, { processID }, change) {
      await observer.ask('begin; lock conduit_test.altered in access exclusive mode');
      const copied = start();
      await until('it waits for the lock', async () => {
        return (await observer.ask(WAITS, [processID])).length > 0;
      });
      await observer.ask(`alter table conduit_test.altered ${change}; commit`);
      return copied;
    }

    // The same number of bytes, an array of the same, a domain with another base.
    for (const [from, to, value, stored] of [
      ['int', 'real', 1, 1],
      ['int8', 'float8', 1, 1],
      ['int', 'int[] using array[n]', '{7}', [7]],
      ['text', 'text[] using array[n]', '{a}', ['a']],
      ['int', 'date using null', '2024-01-02', '2024-01-02'],
      ['varchar', 'bytea using null', 'a', 'a'],
    ]) {
      const seen = `select to_jsonb(n) as n from conduit_test.altered where n is not null`;
      const assertStored = async () => {
        const [row] = (await observer.ask(seen)).slice(-1);
        assert.deepEqual(row, { n: to.startsWith('bytea') ? '\\x61' : stored });
      };

      it(`before: from ${from} to ${to}`, async () => {
        await makeTable('altered', `n ${from}`);
        const client = await newClient();
        await client.copyRows('altered', ['n'], []);
        await observer.ask(`alter table conduit_test.altered alter n type ${to}`);
        await client.copyRows('altered', ['n'], [[value]]);
        await assertStored();
      });

      it(`while it waits for its lock: from ${from} to ${to}`, async () => {
        for (const isMany of [false, true]) {
          await makeTable('altered', `n ${from}`);
          const client = await newClient();
          await client.copyRows('altered', ['n'], []);
          const rows = isMany
            ? (function* () {
                yield [value];
              })()
            : [[value]];
          const change = `alter n type ${to}`;
          await alterMeanwhile(() => client.copyRows('altered', ['n'], rows), client, change);
          await assertStored();
        }
      });
    }

    it('in a transaction of the caller a few rows are refused, if there was no time to ask again', async () => {
      await makeTable('altered', 'n int');
      const client = await newClient();
      await client.query('begin');
      const copied = alterMeanwhile(
        () => errorOf(client.copyRows('altered', ['n'], [[1]])),
        client,
        'alter n type real',
      );
      const error = await copied;
      assert.ok(error instanceof StatementRefusedError, String(error));
      assert.equal(error.outcome, 'not-run');
      await client.query('rollback');
      assert.deepEqual(await client.copyRows('altered', ['n'], [[1]]), { rowCount: 1 });
    });

    it('a column that is gone is the error of the server', async () => {
      await makeTable('altered', 'n int, m int');
      const client = await newClient();
      await client.copyRows('altered', ['n', 'm'], [[1, 1]]);
      await observer.ask('alter table conduit_test.altered drop m');
      const error = await errorOf(client.copyRows('altered', ['n', 'm'], [[1, 1]]));
      assert.deepEqual([error.code, error.outcome], ['42703', 'not-run']);
      assert.deepEqual(await client.copyRows('altered', ['n'], [[1]]), { rowCount: 1 });
    });
  });

  it('whoever may write and not read the columns writes a few rows, too', async () => {
    await makeTable('granted', 'n int');
    await observer.ask(`drop role if exists conduit_writer; create role conduit_writer;
      grant usage on schema conduit_test to conduit_writer;
      grant insert on conduit_test.granted to conduit_writer`);
    try {
      const client = await newClient();
      // With what was learned as somebody who may.
      await client.copyRows('granted', ['n'], [[1]]);
      await client.query('set role conduit_writer');
      assert.deepEqual(await client.copyRows('granted', ['n'], [[2]]), { rowCount: 1 });
      assert.deepEqual(await client.copyRows('granted', ['n'], many), { rowCount: 2000 });
    } finally {
      await observer.ask('drop owned by conduit_writer; drop role conduit_writer');
    }
  });
});
