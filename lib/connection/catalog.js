'use strict';

// What the catalog of a database says about texts that seem to only read: which names mean
// something else there, and which relations make the locks of a text depend on its values. It is
// queried in the background as soon as it is all that keeps two queries from sharing a Sync, and
// again while it is used. Owned by statements/registry.js, used by sync-candidates.js.

const { afterDelivery, DatabaseError } = require('../base');
const { OWN_DEFAULTS, Query, watch } = require('../query');
const { upperCase } = require('../statements');
const { Locality } = require('./locality');
const { LOOK_UP, PARAMETERS } = require('./look-up');

/**
 * What takes the query: a connection, or a pool.
 * @typedef {{ state: string, isShared: boolean, submit: (query: Query) => void }} Carrier
 *
 * @typedef {import('../statements').CatalogNames} CatalogNames
 */

/** An answer is used for at most this long: other sessions create functions, too. */
const MAX_AGE_MILLIS = 60_000;
/** An answer that is older than this, and still used, is requested again. */
const RENEW_MILLIS = MAX_AGE_MILLIS / 2;
/** At least this long between two requests, however much DDL there is. */
const PAUSE_MILLIS = 1000;
/** The same after an error: the server does not allow the query, or is not PostgreSQL. */
const PAUSE_REFUSED_MILLIS = 300_000;
const PATIENCE_MILLIS = 10_000;

/** All values as text: no parser of the user's is called. */
const AS_TEXT = { getTypeParser: () => (/** @type {string} */ text) => text };

/** @param {string[]} names */
function upperCased(names) {
  return new Set(names.map(upperCase));
}

/** @param {string} found @returns {CatalogNames} */
function readNames(found) {
  const { isStrange, calls, attributes, relations, ...session } = JSON.parse(found);
  return {
    isStrange,
    calls: upperCased(calls),
    attributes: upperCased(attributes),
    relations: upperCased(relations),
    isSessionBound: session.isSessionBound,
    sessionRelations: upperCased(session.sessionRelations),
    writeRelations: upperCased(session.writeRelations),
    sequenceRelations: upperCased(session.sequenceRelations),
    asksSequences: session.asksSequences,
  };
}

class Catalog {
  /**
   * The names in use, read for each query; undefined when they must be looked up.
   * @type {CatalogNames | undefined}
   */
  names = undefined;
  /**
   * A connection leads to another process than the one that answered: a pooler is between, which may
   * lead to several servers.
   */
  isBehindPooler = false;
  /** The last answer. @type {{ names: CatalogNames, text: string, askedAt: number } | undefined} */
  #last = undefined;
  #isAsking = false;
  /** The last question. @type {Query | undefined} */
  #question = undefined;
  #notBefore = -Infinity;
  /** Incremented when the answer to an earlier request becomes worthless. */
  #epoch = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /** @param {{ distributed?: boolean | undefined }} [settings] */
  constructor({ distributed } = {}) {
    /** Whether the database is one server. */
    this.locality = new Locality(distributed);
  }

  /**
   * Called while `names` is undefined: returns the last answer if it is not too old, and requests a
   * new one if that is of use.
   * @param {Carrier} carrier that is shared
   * @param {boolean} isOfUse
   * @returns {CatalogNames | undefined}
   */
  find(carrier, isOfUse) {
    const now = performance.now();
    const last = this.#last;
    if (last !== undefined && now - last.askedAt < MAX_AGE_MILLIS) {
      this.#know(last, MAX_AGE_MILLIS, now);
      this.#ask(carrier, now);
      return this.names;
    }
    this.#last = undefined;
    if (isOfUse) this.#ask(carrier, now);
    return undefined;
  }

  /**
   * Whether it is the catalog's own: its answer speaks of the connection that it was sent on, and nobody else is to ask it
   * again. Not a class of its own: one shape of query more makes what each query runs through a third slower (#19).
   * @param {Query} query
   */
  static isQuestion({ text }) {
    return text === LOOK_UP;
  }

  /** DDL was committed, or may have been. @param {string} [text] of it, where it is known */
  onSchemaChange(text) {
    ++this.#epoch;
    this.#last = undefined;
    this.names = undefined;
    this.locality.onSchemaChange(text);
  }

  /**
   * @param {{ names: CatalogNames, text: string, askedAt: number }} answer
   * @param {number} ageMillis up to which it is used without another request
   * @param {number} now performance.now()
   */
  #know(answer, ageMillis, now) {
    this.#last = answer;
    this.names = answer.names;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.names = undefined;
      },
      answer.askedAt + ageMillis - now,
    );
    this.#timer.unref();
  }

  /** @param {Carrier} carrier @param {number} now performance.now() */
  #ask(carrier, now) {
    if (this.#isStuck(carrier, now)) this.#question = undefined;
    else if (this.#isAsking || now < this.#notBefore) return;
    this.#isAsking = true;
    this.#notBefore = now + PAUSE_MILLIS;
    // The query that made this necessary is just being sent.
    afterDelivery(() => this.#send(carrier));
  }

  /**
   * Whether the question stands behind a statement that has stalled, and may be asked again elsewhere.
   * @param {Carrier} carrier
   * @param {number} now performance.now()
   */
  #isStuck(carrier, now) {
    const question = this.#question;
    const connection = question?.connection;
    if (question === undefined || question.isSettled || connection === undefined) return false;
    if (/** @type {object} */ (carrier) === connection) return false;
    return connection.load.isOverdue(now) && connection.head !== question;
  }

  /** @param {Carrier} carrier */
  #send(carrier) {
    if (carrier.state !== 'ready' || !carrier.isShared) {
      this.#isAsking = false;
      return;
    }
    const query = new Query(
      LOOK_UP,
      PARAMETERS,
      { prepare: false, syncGroup: 'off', types: AS_TEXT },
      OWN_DEFAULTS,
    );
    this.#question = query;
    const epoch = this.#epoch;
    const askedAt = performance.now();
    watch(query, PATIENCE_MILLIS, (error) => {
      if (query.connection === undefined) query.reject(error);
      else query.connection.abort(query, error);
    });
    query.promise
      .then(({ rows: [{ found, pid }] }) => {
        if (Number(pid) !== query.connection?.processID) this.isBehindPooler = true;
        if (query === this.#question) this.#isAsking = false;
        this.#learn(found, epoch, askedAt);
      })
      // That it was given up tells nothing of the one that was asked in its place.
      .catch((error) => query === this.#question && this.#onFailed(error));
    carrier.submit(query);
  }

  /** @param {string} text @param {number} epoch @param {number} askedAt */
  #learn(text, epoch, askedAt) {
    if (epoch !== this.#epoch || askedAt < (this.#last?.askedAt ?? 0)) return;
    // As a rule nothing has changed, and no text needs to be checked again.
    const names = this.#last?.text === text ? this.#last.names : readNames(text);
    this.#know({ names, text, askedAt }, RENEW_MILLIS, performance.now());
  }

  /** The last answer, if there is one, stays in use until it is too old. @param {unknown} error */
  #onFailed(error) {
    this.#isAsking = false;
    const millis = error instanceof DatabaseError ? PAUSE_REFUSED_MILLIS : PAUSE_MILLIS;
    this.#notBefore = performance.now() + millis;
  }
}

module.exports = { Catalog, MAX_AGE_MILLIS };
