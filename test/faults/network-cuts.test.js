'use strict';

// A dialogue with the server that the network disturbs: in pieces of one byte, late, and cut behind
// each of its bytes. `npm run test:faults` tries them all, `npm test` and `npm run test:long` some of them.

const assert = require('node:assert/strict');
const { Client, ConnectionError, Pool } = require('../..');
const { converse, assertUndisturbed, judge, makeTables } = require('../support/dialogue');
const { applicationName, observeServer, until } = require('../support/outside');
const { IS_FULL, IS_LONG, SEED, randomFrom } = require('../support/property');
const { Proxy } = require('../support/proxy');

/** Cuts of a dialogue in each direction, of each kind, where not all are tried. */
const FEW = IS_LONG ? 150 : 20;
const AT_ONCE = 8;
const PATIENCE_MILLIS = 20000;

describe('A connection through a bad network', function () {
  this.timeout(IS_FULL ? 3600000 : 120000);

  const observer = observeServer();
  let runs = 0;

  before(() => makeTables(observer));
  beforeEach(() => observer.ask('truncate conduit_test.said'));

  /** One after the other: the conversations share the observer. */
  let asked = Promise.resolve();
  const inTurn = (ask) => (asked = asked.then(ask));

  /** @param {number} run @returns {Promise<number[]>} what is in the table of it */
  async function idsOf(run) {
    const rows = await observer.ask('select id from conduit_test.said where run = $1', [run]);
    return rows.map(({ id }) => id);
  }

  /**
   * @param {'client' | 'pool'} kind
   * @param {Proxy} proxy
   * @param {string} where told when it hangs
   */
  async function runOnce(kind, proxy, where) {
    const run = ++runs;
    const name = applicationName();
    const config = proxy.options({ application_name: name, max: 1, syncGroup: 'all' });
    const hung = setTimeout(() => {
      throw new Error(`it hangs: ${where}`);
    }, PATIENCE_MILLIS);
    const one = kind === 'pool' ? new Pool(config) : new Client(config);
    const connected =
      kind === 'pool'
        ? undefined
        : one.connect().then(
            () => undefined,
            (error) => error,
          );
    const said = await converse(one, run);
    const failure = await connected;
    await one.end();
    clearTimeout(hung);
    // What was cut off may still be at work.
    await until('its backends are gone', async () => {
      const backends = await inTurn(() => observer.backends(name));
      return backends.length === 0;
    });
    if (failure !== undefined) assert.ok(failure instanceof ConnectionError, where);
    return { said, ids: await inTurn(() => idsOf(run)) };
  }

  for (const kind of ['client', 'pool']) {
    describe(`of a ${kind}`, () => {
      /** @type {Proxy} */
      let proxy;
      beforeEach(async () => {
        proxy = await Proxy.open();
      });
      afterEach(() => proxy.close());

      it('gives the same results in pieces of one byte, in both directions', async () => {
        proxy.pieceBytes = 1;
        const { said, ids } = await runOnce(kind, proxy, 'in pieces');
        assertUndisturbed(said, ids);
      });

      it('gives the same results when pieces are delayed at random', async () => {
        proxy.random = randomFrom();
        proxy.jitterMillis = 5;
        for (const pieceBytes of [7, 100, Infinity]) {
          proxy.pieceBytes = pieceBytes;
          const { said, ids } = await runOnce(kind, proxy, `jitter, ${pieceBytes}, seed ${SEED}`);
          assertUndisturbed(said, ids);
        }
      });

      for (const direction of /** @type {const} */ (['toServer', 'toDriver'])) {
        for (const by of /** @type {const} */ (['FIN', 'RST'])) {
          it(`reports the outcome of each write correctly wherever it is cut by ${by}, ${direction}`, async () => {
            const { said, ids } = await runOnce(kind, proxy, 'uncut');
            assertUndisturbed(said, ids);
            const total = proxy.bytes[direction];
            const step = IS_FULL ? 1 : Math.ceil(total / FEW);
            let afterBytes = Math.floor(step * randomFrom()());
            const told = { done: 0, 'not-run': 0, unknown: 0 };
            let cuts = 0;
            const worker = async () => {
              while (afterBytes < total) {
                const at = afterBytes;
                afterBytes += step;
                const where = `cut ${direction} after ${at} of ${total} bytes by ${by}`;
                const own = await Proxy.open();
                try {
                  own.cut = { direction, afterBytes: at, by };
                  const cut = await runOnce(kind, own, where);
                  const verdict = judge(cut.said, cut.ids);
                  for (const one of Object.keys(told)) told[one] += verdict[one];
                  ++cuts;
                } catch (error) {
                  error.message = `${where}: ${error.message}`;
                  throw error;
                } finally {
                  await own.close();
                }
              }
            };
            await Promise.all(Array.from({ length: AT_ONCE }, worker));
            if (IS_FULL) console.log(`      ${cuts} cuts; writes: ${JSON.stringify(told)}`);
            assert.ok(told.unknown > 0 && told.done > 0, JSON.stringify(told));
          });
        }
      }
    });
  }
});
