'use strict';

// One connection of a subscription: looks whether the server can decode its log and has what is subscribed to,
// prepares the slot, and begins with START_REPLICATION. Made by subscription.js.

const { setTimeout: delay } = require('node:timers/promises');
const { escapeIdentifier, ParameterError, TimeLimit } = require('../base');
const { Client, connectionOf, POOL } = require('../client');
const { ownMillis } = require('../connection');
const { ownTypes } = require('../rows');
const { publicationError, walLevelError } = require('./errors');
const { formatLsn } = require('./lsn');
const { prepareSlot, quoteLiteral, toPosition } = require('./slot');
const { ReplicationStream } = require('./stream');

/**
 * @typedef {import('../options').Settings} Settings
 * @typedef {import('./options').SubscribeOptions} SubscribeOptions
 * @typedef {import('./slot').Known} Known
 */

/** The values are read by parsers for these formats, whatever the settings of the role say. */
const SESSION_OPTIONS = [
  ...['DateStyle=ISO', 'IntervalStyle=postgres', 'bytea_output=hex', 'extra_float_digits=3'],
  ...['statement_timeout=0', 'lock_timeout=0', 'idle_in_transaction_session_timeout=0'],
].map((setting) => `-c ${setting}`);

/** Since this version of the server: streamed transactions, and messages of pg_logical_emit_message(). */
const STREAMING_SINCE = 140000;
/** What was written may be read a moment before the server has it on its disk. */
const BEHIND_ATTEMPTS = 20;
const BEHIND_MILLIS = 100;

/** @param {Settings} settings of a pool @returns {Settings} */
function replicationSettings(settings) {
  const { conninfo } = settings;
  const options = [conninfo.options ?? process.env.PGOPTIONS, ...SESSION_OPTIONS];
  return {
    ...settings,
    conninfo: {
      ...conninfo,
      replication: 'database',
      options: options.filter(Boolean).join(' '),
    },
    // START_REPLICATION runs for as long as there are changes.
    query_timeout: 0,
    multiplex: 'off',
  };
}

class Session {
  #client;
  #settings;
  #options;
  #timeoutMillis = 0;
  systemId = '';

  /**
   * @param {Settings} settings of a pool
   * @param {import('../statements').StatementRegistry} registry
   * @param {SubscribeOptions} options
   */
  constructor(settings, registry, options) {
    this.#settings = settings;
    this.#options = options;
    const side = { settings: replicationSettings(settings), registry };
    this.#client = new Client({ [POOL]: { ...side, onLost() {}, onSettled() {}, onClosed() {} } });
  }

  /** @type {import('./slot').Ask} */
  #ask = async (text) => {
    const result = await this.#client.query({ text, rowMode: 'array', types: ownTypes });
    return result.rows;
  };

  connect() {
    return this.#client.connect();
  }

  get client() {
    return this.#client;
  }

  destroy() {
    connectionOf(this.#client).destroy();
  }

  /**
   * @param {Known} known
   * @returns {Promise<import('./slot').Start>}
   * @throws {import('../base').ReplicationError}
   */
  async prepare(known) {
    const system = await this.#withinTime(() => this.#check(known.position));
    this.systemId = system.systemId;
    /** @type {import('./slot').Ask} */
    const ask = (text) => this.#withinTime(() => this.#ask(text));
    // Making a slot waits for the transactions that run, however long they take.
    return prepareSlot(ask, this.#ask, this.#options, known, system);
  }

  /** @template T @param {() => Promise<T>} work */
  async #withinTime(work) {
    const limit = new TimeLimit(ownMillis(this.#settings.query_timeout), () => this.destroy());
    try {
      return await work();
    } finally {
      limit.cancel();
    }
  }

  /** @param {bigint | undefined} expected position of the server */
  async #check(expected) {
    const rows = await this.#ask(
      "select name, setting from pg_catalog.pg_settings where name in ('wal_level', 'wal_sender_timeout')",
    );
    const { wal_level: level, wal_sender_timeout: timeout } = Object.fromEntries(rows);
    if (level !== 'logical') throw walLevelError(level);
    this.#timeoutMillis = Number(timeout);
    const system = await this.#identify(expected);
    const { publications } = this.#options;
    const found = await this.#ask(
      `select pubname from pg_catalog.pg_publication where pubname in (${publications.map(quoteLiteral).join(', ')})`,
    );
    const names = new Set(found.flat());
    const missing = publications.filter((name) => !names.has(name));
    if (missing.length > 0) throw publicationError(missing, system.database);
    return system;
  }

  /** @param {bigint | undefined} expected @returns {Promise<import('./slot').System>} */
  async #identify(expected = 0n) {
    for (let attempt = 1; ; ++attempt) {
      const [[systemId, , lsn, database]] = await this.#ask('IDENTIFY_SYSTEM');
      const position = toPosition(lsn);
      if (position >= expected || attempt === BEHIND_ATTEMPTS) {
        return { systemId, position, database };
      }
      await delay(BEHIND_MILLIS);
    }
  }

  /**
   * @param {bigint} position to begin with
   * @param {() => bigint} confirmed the position to be confirmed at any time
   * @param {boolean} isStreaming whether large transactions come before they are committed
   */
  async start(position, confirmed, isStreaming) {
    const stream = new ReplicationStream(this.#client, confirmed, this.#timeoutMillis);
    await this.#withinTime(() => stream.start(this.#command(position, isStreaming)));
    return stream;
  }

  /** @param {bigint} position @param {boolean} isStreaming */
  #command(position, isStreaming) {
    const { slot, publications, messages } = this.#options;
    const isNew = connectionOf(this.#client).serverVersion >= STREAMING_SINCE;
    if (messages && !isNew) {
      throw new ParameterError('option "messages" of subscribe() needs PostgreSQL 14 or newer');
    }
    const names = publications.map(escapeIdentifier).join(',');
    const parameters = [
      `proto_version '${isStreaming && isNew ? 2 : 1}'`,
      `publication_names ${quoteLiteral(names)}`,
    ];
    if (isStreaming && isNew) parameters.push("streaming 'on'");
    if (messages) parameters.push("messages 'true'");
    return `START_REPLICATION SLOT ${escapeIdentifier(slot)} LOGICAL ${formatLsn(position)} (${parameters.join(', ')})`;
  }

  /** Once nobody reads it. */
  async dropSlot() {
    await this.#ask(`DROP_REPLICATION_SLOT ${escapeIdentifier(this.#options.slot)} WAIT`);
  }

  /** If nobody reads it. */
  async dropUnusedSlot() {
    await this.#ask(`DROP_REPLICATION_SLOT ${escapeIdentifier(this.#options.slot)}`);
  }
}

module.exports = { Session };
