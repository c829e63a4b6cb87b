'use strict';

// Gives the session the settings of whoever sends the next statement (statements/profile.js). The statements for it are
// written in front of that one. A read does not wait for their answers: should one fail, its answer is thrown away.
// Everything else waits, since it would run with settings of somebody else (outbox.js). Owned by outbox.js, called when
// something is written.

const { DatabaseError } = require('../base');
const { Profile } = require('../statements');
const { settingError } = require('./errors');
const { Housekeeping } = require('./housekeeping');

/**
 * It is not expected to fail: the same SET has succeeded before. But if the server stalls, the statement_timeout of the
 * last caller may end it, or an administrator.
 */
class SessionChange extends Housekeeping {
  /** @override @param {number} _phase @param {Readonly<Record<string, string>>} diagnostics */
  failed(_phase, diagnostics) {
    // What was sent behind it would run with settings that are not its caller's.
    const cause = new DatabaseError(diagnostics);
    this.connection.profile.refusal ??= cause;
    this.connection.answers.distrust(() => settingError(cause, 'unknown'));
  }
}

class SessionProfile {
  /** What the session has when all that was written is done; undefined: what it began with. @type {Profile | undefined} */
  current = undefined;
  /** Why the server did not take one. @type {DatabaseError | undefined} */
  refusal = undefined;
  /** Changes in flight. */
  #changes = 0;
  #connection;
  #asides;
  #onChanged;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./asides').Asides} asides
   * @param {() => void} onChanged is called when the session has what was last adopted
   */
  constructor(connection, asides, onChanged) {
    this.#connection = connection;
    this.#asides = asides;
    this.#onChanged = onChanged;
  }

  /** Whether it is not certain yet that the session has what was adopted. */
  get isChanging() {
    return this.#changes > 0;
  }

  /** @param {Profile | undefined} profile that what is written next needs */
  adopt(profile) {
    if (profile === this.current) return;
    for (const text of Profile.difference(this.current, profile)) this.#send(text);
    this.current = profile;
  }

  /**
   * What is prepared of a text under other settings may be another statement: names stand for other tables, and literals
   * for other times, since the server reads them at Parse.
   * @param {string} text
   * @returns {string} the same only where it means the same
   */
  keyOf(text) {
    return this.current === undefined ? text : this.current.meaning + text;
  }

  /** What is written next is answered as if nobody had called nextval() in this session. Nothing waits for it. */
  forgetSequences() {
    const text = 'DISCARD SEQUENCES';
    this.#asides.sendEntry(new SessionChange(this.#connection, text), text);
  }

  /** @param {string} text */
  #send(text) {
    ++this.#changes;
    const release = this.#asides.guard();
    const onAnswered = () => {
      --this.#changes;
      release();
      if (!this.isChanging) this.#onChanged();
    };
    this.#asides.sendEntry(new SessionChange(this.#connection, text, onAnswered), text);
  }
}

module.exports = { SessionProfile };
