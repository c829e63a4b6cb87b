'use strict';

// The styles in which an HTTP server gets the rows that it answers with. Used by http-styles.js.

const { once } = require('node:events');
const { sendBody } = require('../http/answering-server');

/**
 * @typedef {import('.').Target} Target
 * @typedef {import('node:http').ServerResponse} Response
 *
 * @typedef {object} Style
 * @property {(response: Response) => Promise<void>} answer
 * @property {() => unknown} end
 *
 * @typedef {object} Way
 * @property {(target: Target, text: string) => Promise<Style>} open
 * @property {boolean} [connects] for each request, so that fewer are made
 *
 * @typedef {import('.').Arm & Way} Arm
 */

const POOL = 5;
const JSON_TYPE = 'application/json';

/**
 * @param {() => any[] | Promise<any[]>} getRows
 * @param {() => unknown} [end]
 * @returns {Style}
 */
function answerWith(getRows, end = () => {}) {
  return {
    async answer(response) {
      sendBody(response, JSON.stringify(await getRows()), JSON_TYPE);
    },
    end,
  };
}

/** @param {Target} target */
function optionsOf({ connectionString, config }) {
  return { connectionString, password: config.password };
}

/**
 * `pg-native`, whose synchronous calls hold up everything else until the server has answered.
 * @param {Target} target
 */
function openBlocking({ connectionString }) {
  const Native = require('pg-native');
  const native = new Native();
  native.connectSync(connectionString);
  return native;
}

/** @param {any} native */
function endNative(native) {
  return new Promise((resolve) => {
    native.end(resolve);
  });
}

/**
 * A connection for each request, of either driver: they have the same shape.
 * @param {() => { Client: any }} load
 * @returns {Way['open']}
 */
function connecting(load) {
  return async (target, text) => {
    const { Client } = load();
    return answerWith(async () => {
      const client = new Client(optionsOf(target));
      await client.connect();
      const { rows } = await client.query(text);
      await client.end();
      return rows;
    });
  };
}

/**
 * One Client or Pool for all requests.
 * @param {() => { Client: any, Pool: any }} load
 * @param {{ max?: number, prepare?: boolean }} [pool] else a Client
 * @param {{ name?: string }} [query]
 * @returns {Way['open']}
 */
function shared(load, pool, query) {
  return async (target, text) => {
    const { Client, Pool } = load();
    const options = optionsOf(target);
    const client = pool ? new Pool({ ...options, ...pool }) : new Client(options);
    if (!pool) await client.connect();
    return answerWith(
      async () => (await client.query({ ...query, text })).rows,
      () => client.end(),
    );
  };
}

/**
 * Rows are passed on to the HTTP client as they come.
 * @param {Target} target
 * @param {string} text
 * @returns {Promise<Style>}
 */
async function openStreaming(target, text) {
  const { Pool } = require('../..');
  const pool = new Pool({ ...optionsOf(target), max: POOL });
  return {
    async answer(response) {
      response.writeHead(200, { 'content-type': JSON_TYPE });
      let separator = '[';
      for await (const row of pool.stream(text)) {
        if (!response.write(separator + JSON.stringify(row))) await once(response, 'drain');
        separator = ',';
      }
      response.end(']');
    },
    end: () => pool.end(),
  };
}

const conduit = () => require('../..');
const pg = () => require('pg');

/** @type {Arm[]} */
const STYLES = [
  {
    name: 'pg-conduit, one shared connection',
    driver: 'pg-conduit',
    ours: true,
    settings: 'Pool with max: 1',
    open: shared(conduit, { max: 1 }),
  },
  {
    name: 'pg-conduit, one shared connection, not prepared',
    driver: 'pg-conduit',
    ours: true,
    settings: 'Pool with max: 1, prepare: false',
    open: shared(conduit, { max: 1, prepare: false }),
  },
  {
    name: 'pg-conduit, Pool',
    driver: 'pg-conduit',
    ours: true,
    settings: `Pool with max: ${POOL}`,
    open: shared(conduit, { max: POOL }),
  },
  {
    name: 'pg-conduit, rows as they come',
    driver: 'pg-conduit',
    ours: true,
    settings: `pool.stream() of a Pool with max: ${POOL}, a write to the HTTP client for each row`,
    open: openStreaming,
  },
  {
    name: 'pg-conduit, connecting each time',
    driver: 'pg-conduit',
    ours: true,
    settings: 'a Client for each request',
    connects: true,
    open: connecting(conduit),
  },
  {
    name: 'pg-native, blocking, connecting each time',
    driver: 'pg-native',
    settings: 'connectSync() and querySync() for each request',
    connects: true,
    open: async (target, text) =>
      answerWith(async () => {
        const native = openBlocking(target);
        const rows = native.querySync(text);
        await endNative(native);
        return rows;
      }),
  },
  {
    name: 'pg, connecting each time',
    driver: 'pg',
    settings: 'a Client for each request',
    connects: true,
    open: connecting(pg),
  },
  {
    name: 'pg-native, blocking, one connection',
    driver: 'pg-native',
    settings: 'querySync()',
    async open(target, text) {
      const native = openBlocking(target);
      return answerWith(
        () => native.querySync(text),
        () => endNative(native),
      );
    },
  },
  {
    name: 'pg, one connection',
    driver: 'pg',
    settings: 'Client, in whose queue the queries wait',
    open: shared(pg),
  },
  {
    name: 'pg, Pool',
    driver: 'pg',
    settings: `Pool with max: ${POOL}`,
    open: shared(pg, { max: POOL }),
  },
  {
    name: 'pg, Pool, prepared',
    driver: 'pg',
    settings: `Pool with max: ${POOL}, a named statement`,
    open: shared(pg, { max: POOL }, { name: 'classes' }),
  },
];

module.exports = { STYLES };
