'use strict';

// Which queries of one connection may share a Sync with others of their text: those that are known
// to be cheap and, unless the caller allows more, to only read. Owned by outbox.js.

const { ticks } = require('../native');
const { MAX_MEMBER_BYTES, MAX_MEMBER_MILLIS } = require('./sync-groups');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').StatementInfo} StatementInfo
 */

class SyncCandidates {
  #connection;
  #settings;
  #catalog;
  /**
   * The last text that only the missing answer of the catalog may have kept from sharing a Sync.
   * @type {StatementInfo | undefined}
   */
  #lonely = undefined;
  #turn = 0;

  #ask;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('../options').Settings} settings
   * @param {import('./catalog').Catalog} catalog
   * @param {() => void} ask whether the database is local
   */
  constructor(connection, settings, catalog, ask) {
    this.#ask = ask;
    this.#connection = connection;
    this.#settings = settings;
    this.#catalog = catalog;
  }

  /** @param {Query} query that is about to be sent */
  take(query) {
    const { info, size } = query;
    const mode = query.syncGroup ?? this.#settings.syncGroup;
    if (mode === 'off' || !this.#connection.isShared) return false;
    if (info.effect !== 'read' && (mode !== 'all' || info.effect !== 'write')) return false;
    const kind = mode === 'all' ? this.#findKind() : undefined;
    if (mode === 'all' && kind === undefined) return false;
    if (kind !== 'local' && info.effect === 'write') return false;
    if (info.usesAlone > 0) {
      --info.usesAlone;
      return false;
    }
    if (info.averageMillis > MAX_MEMBER_MILLIS || size > MAX_MEMBER_BYTES) return false;
    return kind === 'local' || this.#onlyReads(info);
  }

  /**
   * Only on one server are writes of one Sync surely one transaction, and surely undone when one of them fails. Which it is
   * is found out in the background.
   */
  #findKind() {
    const { locality } = this.#catalog;
    if (!locality.isFresh) this.#ask();
    return locality.kind;
  }

  /** @param {StatementInfo} info of a text that seems to only read */
  #onlyReads(info) {
    const names = this.#catalog.names ?? this.#findNames(info);
    return names !== undefined && info.onlyReads(names);
  }

  /** @param {StatementInfo} info */
  #findNames(info) {
    const turn = ticks.turn();
    const isOfUse = this.#lonely === info && this.#turn === turn;
    this.#lonely = info;
    this.#turn = turn;
    return this.#catalog.find(this.#connection, isOfUse);
  }
}

module.exports = { SyncCandidates };
