'use strict';

// PGlite behind its socket server: one session for all connections.

const assert = require('node:assert/strict');
const { PGlite } = require('@electric-sql/pglite');
const { PGLiteSocketServer } = require('@electric-sql/pglite-socket');
const { Pool } = require('../..');
const { warningsOf } = require('../support/process');

const QUERIES = 2000;
const CALLERS = 64;

describe('PGlite', function () {
  this.timeout(120_000);

  /** @type {any} */
  let db;
  /** @type {any} */
  let server;
  /** @type {Pool} */
  let pool;

  /** @param {number} maxConnections @param {Record<string, any>} [given] */
  async function start(maxConnections, given) {
    server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections });
    await server.start();
    const port = Number(server.getServerConn().split(':').at(-1));
    pool = new Pool({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      database: 'postgres',
      sslmode: 'disable',
      ...given,
    });
    pool.on('error', () => {});
  }

  before(async () => {
    db = await PGlite.create();
  });
  beforeEach(() => db.exec('drop table if exists done; create table done (i int)'));
  afterEach(async () => {
    await pool?.end();
    await server?.stop();
  });
  after(() => db?.close());

  /** @param {number} i */
  async function act(i) {
    const insert = 'insert into done values ($1) returning i';
    if (i % 8 === 3) {
      assert.deepEqual((await pool.query(insert, [i])).rows, [{ i }]);
    } else if (i % 8 === 5) {
      await pool.transaction(async (tx) => {
        await tx.query(insert, [i]);
        assert.deepEqual((await tx.query('select $1::int as t', [i])).rows, [{ t: i }]);
      });
    } else if (i % 40 === 6) {
      await assert.rejects(pool.query('select 1 / $1::int', [0]), { code: '22012' });
    } else if (i % 40 === 7) {
      const [, { rows }] = await pool.batch([
        { text: insert, values: [i] },
        { text: 'select $1::int as b', values: [i] },
      ]);
      assert.deepEqual(rows, [{ b: i }]);
    } else {
      const text = `select $1::int as i, ${i % 20} as k`;
      assert.deepEqual((await pool.query(text, [i])).rows, [{ i, k: i % 20 }]);
    }
  }

  async function runAll() {
    /** @type {string[]} */
    const lost = [];
    let next = 0;
    const warnings = await warningsOf(() =>
      Promise.all(
        Array.from({ length: CALLERS }, async () => {
          while (next < QUERIES) {
            const i = next++;
            await act(i).catch((error) => lost.push(`${i}: ${error.code} ${error.message}`));
          }
        }),
      ),
    );
    assert.deepEqual(lost.slice(0, 5), [], `${lost.length} of ${QUERIES}`);
    const { rows } = await db.query('select i, count(*)::int as n from done group by i');
    assert.ok(rows.every(({ n }) => n === 1));
    const written = Array.from({ length: QUERIES }, (_, i) => i).filter(
      (i) => i % 8 === 3 || i % 8 === 5 || i % 40 === 7,
    );
    assert.deepEqual(
      rows.map(({ i }) => i).sort((a, b) => a - b),
      written,
    );
    return warnings.map(({ code }) => code);
  }

  it('that takes ten connections for one session: a pool finds out, and uses one', async () => {
    await start(10);
    assert.deepEqual(await runAll(), ['PG_CONDUIT_ONE_SESSION']);
    assert.equal(pool.totalCount, 1);
  });

  it('that refuses a second connection: a pool does with one', async () => {
    await start(1);
    await runAll();
    assert.equal(pool.totalCount, 1);
  });

  it('with max: 1', async () => {
    await start(10, { max: 1 });
    assert.deepEqual(await runAll(), []);
  });
});
