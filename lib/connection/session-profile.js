'use strict';

// Gives the session the settings of whoever sends the next statement (statements/profile.js). The statements for it are
// written in front of that one, so no round trip is waited for. Owned by outbox.js, called when something is written.

const { DatabaseError } = require('../base');
const { Profile } = require('../statements');
const { Housekeeping } = require('./housekeeping');

/** It is not expected to fail: the same SET has succeeded before. */
class SessionChange extends Housekeeping {
  /** @override @param {number} _phase @param {Readonly<Record<string, string>>} diagnostics */
  failed(_phase, diagnostics) {
    // What was sent behind it would run with settings that are not its caller's.
    this.connection.answers.distrust(() => new DatabaseError(diagnostics));
  }
}

class SessionProfile {
  /** What the session has when all that was written is done; undefined: what it began with. @type {Profile | undefined} */
  current = undefined;
  #connection;
  #asides;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./asides').Asides} asides
   */
  constructor(connection, asides) {
    this.#connection = connection;
    this.#asides = asides;
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

  /** What is written next is answered as if nobody had called nextval() in this session. */
  forgetSequences() {
    this.#send('DISCARD SEQUENCES');
  }

  /** @param {string} text */
  #send(text) {
    this.#asides.sendEntry(new SessionChange(this.#connection, text), text);
  }
}

module.exports = { SessionProfile };
