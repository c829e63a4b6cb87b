'use strict';

// An HTTP server that answers each request with one query of some 19 kB of JSON, in every style of using a database: one
// connection for each request or one for all, blocking or not, pools, rows that are passed on as they come. One of the
// experiments of index.js, the styles are those of answering.js.

const { AnsweringServer } = require('../http/answering-server');
const { LoadProcess, checkLoaded } = require('../http/load-process');
const { get } = require('../http/verify');
const { startMeters, watchStalls } = require('../measure');
const { SCHEMA, withClient } = require('../tables');
const { STYLES } = require('./answering');

/**
 * @typedef {import('./answering').Arm} Arm
 * @typedef {import('./answering').Style} Style
 */

const SIZES = {
  full: { requests: 10_000, connecting: 1000, warm: 300 },
  tiny: { requests: 20, connecting: 10, warm: 10 },
};
const CLIENTS = 5;
const ANSWER_BYTES = 19_000;

/** A copy, since VACUUM changes the catalogue. */
const CREATE = `
  drop table if exists ${SCHEMA}.classes;
  create table ${SCHEMA}.classes as select * from pg_class where oid < 16384;
  create unique index on ${SCHEMA}.classes (oid);
  analyze ${SCHEMA}.classes`;

/** @param {number} rows */
function selectText(rows) {
  return `select * from ${SCHEMA}.classes order by oid limit ${rows}`;
}

class StyleServer extends AnsweringServer {
  #style;

  /** @param {Style} style */
  constructor(style) {
    super();
    this.#style = style;
  }

  /**
   * @param {import('node:http').IncomingMessage} _request
   * @param {import('node:http').ServerResponse} response
   */
  async answer(_request, response) {
    await this.#style.answer(response);
  }
}

/**
 * @param {Arm} arm
 * @param {import('.').Context} context
 * @param {{ requests: number, warm: number }} counts
 */
async function measureStyle(arm, { target, places }, { requests, warm }) {
  const style = await arm.open(target, places.text);
  const server = new StyleServer(style);
  await server.start();
  const body = await get(server.url).catch((error) => {
    throw server.error ?? error;
  });
  if (body !== places.body) throw new Error(`The answer was ${body.slice(0, 200)}`);
  const load = new LoadProcess();
  const order = { url: server.url, connections: CLIENTS };
  checkLoaded(await load.run({ ...order, amount: warm }), server);
  await server.settle();
  const stopWatching = watchStalls();
  const stop = startMeters();
  const loaded = checkLoaded(await load.run({ ...order, amount: requests }), server);
  const { cpuMicros } = stop();
  const { longestMillis, p99Millis } = await stopWatching();
  await server.end();
  await style.end();
  const { requests: operations, seconds, p50Micros, p99Micros } = loaded;
  return {
    operations,
    seconds,
    cpuMicros,
    p50Micros,
    p99Micros,
    longestStallMillis: longestMillis,
    delayP99Millis: p99Millis,
    note: `${operations.toLocaleString('en')} requests`,
  };
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'http-styles',
  title: 'Styles of an HTTP server',
  about:
    'How many requests does a server answer that needs one query of some 19 kB of JSON for each, how long do they ' +
    'take, and how long is its event loop held up? Only where it is said are statements prepared.',
  ours: STYLES[0].name,
  arms: STYLES,
  workloads(size) {
    const { requests, connecting, warm } = SIZES[size];
    return [
      {
        id: 'http',
        title: `One query for each request, ${CLIENTS} clients`,
        unit: 'request',
        cases: [
          {
            name: '19 kB of JSON',
            unitsPerOperation: 1,
            published: {
              'pg-native, blocking, connecting each time': '52/s',
              'pg, connecting each time': '129/s',
              'pg-native, blocking, one connection': '160/s',
              'pg, one connection': '130/s',
              'pg, Pool': '188/s',
              'pg, Pool, prepared': '214/s',
            },
            run: (arm, context) =>
              measureStyle(arm, context, {
                requests: arm.connects ? connecting : requests,
                warm: arm.connects ? Math.max(CLIENTS, warm / 10) : warm,
              }),
          },
        ],
        async setUp(server) {
          /** @type {any[]} */
          let all = [];
          await withClient(server, async (client) => {
            await client.query(CREATE);
            all = (await client.query(selectText(1000))).rows;
          });
          let rows = 1;
          while (JSON.stringify(all.slice(0, rows)).length < ANSWER_BYTES) rows++;
          const body = JSON.stringify(all.slice(0, rows));
          return {
            places: { text: selectText(rows), body },
            facts: { 'An answer': `${rows} rows of pg_class, ${body.length} bytes` },
            tearDown: async () => {},
          };
        },
      },
    ];
  },
};
