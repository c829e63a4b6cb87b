'use strict';

// Tracks the settings of the session that change the text of a value but not its binary form:
// DateStyle and extra_float_digits. All executions of a text must return the same, so binary is
// requested only while the text of these types is known to say the same. Owned by outbox.js;
// command-writer.js reports what is sent, decode-flags.js asks for each shape.

const { afterDelivery } = require('../base');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../rows').Shape} Shape
 *
 * Sends a statement of the driver's own, under a Sync of its own.
 * @typedef {(text: string, onAnswered: () => void, onRow?: (row: any[]) => void) => boolean}
 *   SendAside
 *   false: nothing can be sent now
 */

const IS_ISO = /^ISO\b/;
const SET_ISO = 'SET DateStyle TO ISO';
const ASK_DIGITS = "SELECT pg_catalog.current_setting('extra_float_digits')";
/** A number from -15 to 3. */
const IS_DIGITS = /^-?\d{1,2}$/;
/** Since this version of the server 1 is exact; before, 2 was (17 digits). */
const EXACT_SINCE = 120000;
/** Attempts at SET_ISO, which a cancel request may hit. */
const MAX_ATTEMPTS = 3;

class SessionFormats {
  /** Whether a query would use binary float8 if the text were known to be exact. */
  isWanted = false;
  /** Whether dates are written in ISO style, as far as is known. */
  #isIso = true;
  /** Whether the session began with another style, which RESET restores. */
  #isOverruled = false;
  /** The change whose answer will tell how dates are written. @type {object | undefined} */
  #lastChange = undefined;
  #attempts = 0;
  /** @type {'unknown' | 'asked' | 'exact' | 'rounded'} */
  #floats = 'unknown';
  /** Incremented by what may have changed extra_float_digits since it was requested. */
  #floatChanges = 0;
  #connection;
  #statements;
  #sendAside;

  /**
   * @param {Connection} connection
   * @param {import('../statements').StatementCache} statements whose flags depend on this
   * @param {SendAside} sendAside
   */
  constructor(connection, statements, sendAside) {
    this.#connection = connection;
    this.#statements = statements;
    this.#sendAside = sendAside;
  }

  /**
   * The session has begun, and nothing was sent. Dates in other styles than ISO could not be
   * parsed. The order of day and month is kept, by which the server reads input.
   */
  begin() {
    if (this.#hasIso) return;
    this.#isOverruled = true;
    this.#setIso();
  }

  /** If the server does not report it, ISO is assumed. */
  get #hasIso() {
    const style = this.#connection.parameterStatus('DateStyle');
    return style === null || IS_ISO.test(style);
  }

  #setIso() {
    const token = {};
    this.#expectChange(token);
    if (!this.#sendAside(SET_ISO, () => this.#learn(token))) this.#stopCheckingIso();
  }

  /** @param {object} change that will be answered, or the query that makes it */
  #expectChange(change) {
    this.#lastChange = change;
    this.#statements.forgetFlags();
  }

  /** @param {object} change that is answered */
  #learn(change) {
    if (change !== this.#lastChange || this.#connection.state === 'closed') return;
    this.#lastChange = undefined;
    this.#statements.forgetFlags();
    if (this.#hasIso) {
      this.#attempts = 0;
    } else if (this.#isOverruled && !('text' in change) && ++this.#attempts < MAX_ATTEMPTS) {
      this.#setIso();
    } else {
      this.#stopCheckingIso();
    }
  }

  /** As a rule the user has set another style, and a ROLLBACK may restore it at any time. */
  #stopCheckingIso() {
    this.#lastChange = undefined;
    this.#isIso = false;
    this.#statements.forgetFlags();
  }

  /**
   * @param {Shape} shape
   * @returns {boolean} whether its binary form gives the same values as its text
   */
  allowsBinary({ hasDates, hasFloats }) {
    if (hasDates && (!this.#isIso || this.#lastChange !== undefined)) return false;
    if (!hasFloats) return true;
    if (this.#floats === 'unknown') this.isWanted = true;
    return this.#floats === 'exact';
  }

  /** @param {Query} query with info.changesFormats, which is about to be written */
  onSend(query) {
    this.#expectChange(query);
    if (!query.info.changesFloats) return;
    ++this.#floatChanges;
    this.#floats = 'unknown';
  }

  /**
   * Called behind a query with info.resetsFormats, before anything else is sent.
   * @param {Query} query
   */
  onSent(query) {
    if (this.#isOverruled && query.info.resetsFormats) this.#setIso();
  }

  /**
   * @param {Query} query with info.changesFormats that could not be written, or whose Sync has come
   */
  onAnswered(query) {
    // By the simple protocol nothing could be sent behind it before.
    const isReset = query.results !== undefined && query.info.resetsFormats;
    if (isReset && this.#isOverruled && query === this.#lastChange && !this.#hasIso) {
      this.#expectChange({});
      afterDelivery(() => this.#setIso());
    } else {
      this.#learn(query);
    }
  }

  /**
   * Requests extra_float_digits, unless the request could be in an open transaction, which would
   * get a snapshot by it.
   */
  ask() {
    const { isShared, session } = this.#connection;
    const { hasTouchedTransaction, transactionStatus } = session;
    if (!isShared && hasTouchedTransaction && transactionStatus !== 0) return;
    if (this.#floats !== 'unknown') {
      this.isWanted = false;
      return;
    }
    const asked = this.#floatChanges;
    let digits = NaN;
    const isSent = this.#sendAside(
      ASK_DIGITS,
      () => {
        if (asked !== this.#floatChanges) return;
        const needed = this.#connection.serverVersion < EXACT_SINCE ? 2 : 1;
        this.#floats = digits >= needed ? 'exact' : 'rounded';
        this.#statements.forgetFlags();
      },
      ([value]) => {
        digits = IS_DIGITS.test(value) ? Number(value) : NaN;
      },
    );
    if (!isSent) return;
    this.isWanted = false;
    this.#floats = 'asked';
  }
}

module.exports = { SessionFormats };
