'use strict';

// Clients without a pool that share connections (the option `multiplex`), and how many connections they have.
// useSharedClients() stands first in a describe block.

const { Client } = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { options } = require('./connect');
const { applicationName, observeServer, until } = require('./outside');

/** A read that is known when shareReads() has given clients. */
const READ = 'select $1::int + 1 as next';

/** @type {any[]} */
let opened = [];

/** @param {Record<string, any>} [given] */
function makeClient(given) {
  const client = new Client(options({ multiplex: 'reads', ...given }));
  // Where a test cuts the connection.
  client.on('error', () => {});
  opened.push(client);
  return client;
}

/** @param {number} count @param {Record<string, any>} [given] */
function connectAll(count, given) {
  return Promise.all(Array.from({ length: count }, () => makeClient(given).connect()));
}

/**
 * Clients with an application_name of their own whose reads are known to be the same in each session.
 * @param {number} count
 * @param {Record<string, any>} [given]
 * @param {string[]} [texts] reads that are known, too
 */
async function shareReads(count, given, texts = []) {
  const name = applicationName();
  const clients = await connectAll(count, { application_name: name, ...given });
  const teacher = makeClient({ application_name: name, ...given });
  await teacher.connect();
  await teacher.query(READ, [1]);
  for (const text of texts) await teacher.query(text);
  const { catalog } = connectionOf(teacher).registry;
  await until('what the catalog says is known', () => catalog.names);
  await teacher.end();
  return { name, clients };
}

async function endAll() {
  const clients = opened;
  opened = [];
  await Promise.all(clients.map((client) => client.end()));
}

/** Ends after each test what it has opened; call it in describe. */
function useSharedClients() {
  const observer = observeServer();
  afterEach(endAll);
  return {
    observer,
    /** @param {string} name application_name */
    count: async (name) => (await observer.backends(name)).length,
    /** @param {string} name application_name @param {number} count */
    untilCount: (name, count) =>
      until(`there are ${count} connections`, async () => {
        return (await observer.backends(name)).length === count;
      }),
  };
}

module.exports = { READ, connectAll, makeClient, shareReads, useSharedClients };
