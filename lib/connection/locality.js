'use strict';

// Whether a database is one server. Only of one that is does the protocol's promise hold that all before one Sync is one
// transaction, and only there does every error prove that nothing was kept: an engine that distributes may have committed
// on another server already. That a database is local has to be proved; whatever is not counts as distributed. Owned by
// catalog.js, asked by fences.js, sync-candidates.js and doubts.js.

const { LOCAL_EXTENSIONS } = require('./local-extensions');
const { LocalityQuestion } = require('./locality-question');

/**
 * local: one server. foreign: tables of postgres_fdw, whose other servers commit one after the other when this one does;
 * until then nothing of a transaction is kept anywhere. distributed: anything else.
 * @typedef {import('../query').Kind} Kind
 *
 * @typedef {{ version: string, extensions: string[], wrappers: string[] }} Found
 */

/** An answer is used for so long without a new request: other sessions create extensions, too. */
const MAX_AGE_MILLIS = 60_000;

/**
 * What PostgreSQL itself says of its version, with the packagers that add theirs. Others that speak the protocol, and
 * those that are made of its source, add a name of their own, leave out where it was built, or are of another time
 * (Redshift calls itself 8.0.2).
 */
const POSTGRESQL =
  /^PostgreSQL (?:9|[1-9]\d)(?:\.\d+)*(?:(?:devel|alpha|beta|rc)\d*)?(?: \((?:Debian|Ubuntu|Raspbian|Devuan|Homebrew|Postgres\.app)\b[^()]*\))?(?: on |, compiled by )/;

/** CREATE EXTENSION, CREATE SERVER, CREATE FOREIGN DATA WRAPPER, and what runs texts of its own. */
const MAY_DISTRIBUTE = /\b(?:extension|server|wrapper|do|call|execute)\b/i;

/** Handlers of foreign-data wrappers that lead to no other server. */
const HERE = new Set(['', 'file_fdw_handler']);
const POSTGRES_FDW = 'postgres_fdw_handler';

/** @param {Found} found @returns {Kind} */
function judge({ version, extensions, wrappers }) {
  if (!POSTGRESQL.test(version)) return 'distributed';
  if (!extensions.every((name) => LOCAL_EXTENSIONS.has(name))) return 'distributed';
  const elsewhere = wrappers.filter((handler) => !HERE.has(handler));
  if (elsewhere.length === 0) return 'local';
  return elsewhere.every((handler) => handler === POSTGRES_FDW) ? 'foreign' : 'distributed';
}

class Locality {
  /** Undefined: not known yet. @type {Kind | undefined} */
  kind = undefined;
  /** Whether the answer need not be renewed. */
  isFresh = false;
  #isGiven;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  /** Incremented when the answer to an earlier question becomes worthless. */
  #epoch = 0;
  /** Connections on which it is asked. @type {Map<object, (() => void)[]>} */
  #asking = new Map();

  /** @param {boolean | undefined} distributed the option */
  constructor(distributed) {
    this.#isGiven = distributed !== undefined;
    if (!this.#isGiven) return;
    this.kind = distributed ? 'distributed' : 'local';
    this.isFresh = true;
  }

  /** Whether all before one Sync is one transaction; undefined: not known. @returns {boolean | undefined} */
  get keepsPipelines() {
    return this.kind === undefined ? undefined : this.kind !== 'distributed';
  }

  /**
   * DDL was committed, or may have been: the answer is renewed. What is known still counts until then, unless the DDL is of
   * the kind that may make a database distributed: a connection that is lost meanwhile cannot be asked.
   * @param {string} [text] of the DDL, where it is known
   */
  onSchemaChange(text = '') {
    if (this.#isGiven) return;
    ++this.#epoch;
    this.isFresh = false;
    if (MAY_DISTRIBUTE.test(text)) this.kind = undefined;
  }

  /**
   * Asks the server, once at a time on each connection.
   * @param {import('./connection').Connection} connection that is idle, or shared
   * @param {import('./asides').Asides} asides
   * @param {() => void} onKnown called after the delivery, and also if it cannot be found out
   */
  ask(connection, asides, onKnown) {
    const waiting = this.#asking.get(connection);
    if (waiting !== undefined) {
      waiting.push(onKnown);
      return;
    }
    this.#asking.set(connection, [onKnown]);
    this.#send(connection, asides, 1);
  }

  get isAskedAnywhere() {
    return this.#asking.size > 0;
  }

  /** @param {object} connection */
  isAskedOn(connection) {
    return this.#asking.has(connection);
  }

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./asides').Asides} asides
   * @param {number} attempt
   */
  #send(connection, asides, attempt) {
    const epoch = this.#epoch;
    const release = asides.guard();
    const question = new LocalityQuestion(connection, () => {
      release();
      if (question.wasCancelled && attempt === 1 && connection.state !== 'closed') {
        // By a signal that was meant for what ran before.
        this.#send(connection, asides, 2);
        return;
      }
      if (epoch === this.#epoch) this.#learn(question);
      const waiting = this.#asking.get(connection) ?? [];
      this.#asking.delete(connection);
      for (const onKnown of waiting) onKnown();
    });
    asides.sendEntry(question, question.text);
  }

  /** @param {LocalityQuestion} question */
  #learn({ found, wasLost }) {
    if (wasLost) return;
    this.isFresh = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isFresh = false;
    }, MAX_AGE_MILLIS).unref();
    this.kind = found === undefined ? 'distributed' : judge(found);
  }
}

module.exports = { judge, Locality };
