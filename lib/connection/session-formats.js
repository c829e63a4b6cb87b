'use strict';

// Settings of the session that change what the text of a value is, and not its binary form: DateStyle
// and extra_float_digits. All executions of a text must answer alike, so binary is asked for only while
// the text of these types is known to say the same; where that is not known, all come as text. Owned
// by outbox.js, which asks it for each shape and tells it what is sent.

const { afterDelivery } = require('../base');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../rows').Shape} Shape
 *
 * Sends a statement of our own, under a Sync of its own.
 * @typedef {(text: string, onAnswered: () => void, onRow?: (row: any[]) => void) => boolean} SendAside
 *   false: nothing can be sent now
 */

const IS_ISO = /^ISO\b/;
const SET_ISO = 'SET DateStyle TO ISO';
const ASK_DIGITS = "SELECT pg_catalog.current_setting('extra_float_digits')";
/** From -15 to 3. */
const IS_DIGITS = /^-?\d{1,2}$/;
/** From this server on, 1 is exact; before, 17 digits were. */
const EXACT_SINCE = 120000;
/** A cancel request may hit the statement of ours. */
const MAX_ATTEMPTS = 3;

class SessionFormats {
  /** Somebody would have binary float8, if it were known that their text is exact. */
  isWanted = false;
  /** Whether dates are written in ISO style, as far as it is known. */
  #isIso = true;
  /** The session began with another style, which RESET brings back. */
  #isOverruled = false;
  /** Whose answer will tell how dates are written. @type {object | undefined} */
  #lastChange = undefined;
  #attempts = 0;
  /** @type {'unknown' | 'asked' | 'exact' | 'rounded'} */
  #floats = 'unknown';
  /** Counts what may have changed extra_float_digits since it was asked. */
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
   * The session has begun, and nothing was sent. Dates in another style than ISO would be lost, as
   * nobody could read them; the order of day and month stays, by which the server reads input.
   */
  begin() {
    if (this.#hasIso) return;
    this.#isOverruled = true;
    this.#setIso();
  }

  /** Of a server that does not tell, ISO is believed. */
  get #hasIso() {
    const style = this.#connection.parameterStatus('DateStyle');
    return style === null || IS_ISO.test(style);
  }

  #setIso() {
    const token = {};
    this.#expectChange(token);
    if (!this.#sendAside(SET_ISO, () => this.#learn(token))) this.#giveUpIso();
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
      this.#giveUpIso();
    }
  }

  /** As a rule it is the user's own wish, which a ROLLBACK may bring back at any time. */
  #giveUpIso() {
    this.#lastChange = undefined;
    this.#isIso = false;
    this.#statements.forgetFlags();
  }

  /**
   * @param {Shape} shape
   * @returns {boolean} whether its binary form says what its text says
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
   * Behind a query with info.resetsFormats, before anything else is sent.
   * @param {Query} query
   */
  onSent(query) {
    if (this.#isOverruled && query.info.resetsFormats) this.#setIso();
  }

  /** @param {Query} query with info.changesFormats that could not be written, or whose Sync has come */
  onAnswered(query) {
    // By the simple protocol nothing may be sent behind it before.
    const isReset = query.results !== undefined && query.info.resetsFormats;
    if (isReset && this.#isOverruled && query === this.#lastChange && !this.#hasIso) {
      this.#expectChange({});
      afterDelivery(() => this.#setIso());
    } else {
      this.#learn(query);
    }
  }

  /**
   * Asks for extra_float_digits, where no transaction can be open that this would be in: it would
   * have a snapshot then.
   */
  ask() {
    const { isShared, hasTouchedTransaction, transactionStatus } = this.#connection;
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
