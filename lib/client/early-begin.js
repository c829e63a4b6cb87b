'use strict';

// BEGIN without a round trip: its promise resolves when it is on its way, and what its caller sends next travels with
// it. Should it fail after all, or be given up (query_timeout, cancel()), the connection is closed: its caller believes
// in a transaction. Called by client.js.

const { ConnectionError, lock } = require('../base');
const { newResult } = require('../rows');
const { looseError } = require('../transaction');

/**
 * @typedef {import('../connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 */

/** What the server accepts in an idle session. Not SAVEPOINT and the like, nor a text with comments. */
const BEGIN =
  /^\s*(?:begin(?:\s+(?:work|transaction))?|start\s+transaction)(?<modes>(?:[\s,]+(?:isolation\s+level\s+(?:serializable|repeatable\s+read|read\s+(?:un)?committed)|read\s+(?:only|write)|(?:not\s+)?deferrable))*)\s*;?\s*$/i;

/** White space to JavaScript, and to PostgreSQL a part of a name. */
const FOREIGN_SPACE = /[^\S \t\n\r\f]/;
const SPACE = 32;
const LETTER_B = 98;
const LETTER_S = 115;
const MAX_LENGTH = 200;

/** Refused by a standby ("Hot Standby" in the documentation of PostgreSQL). */
const NEEDS_PRIMARY = /serializable|write/i;

/**
 * @param {Query} query that is to be submitted
 * @param {Connection} connection
 */
function beginsEarly(query, connection) {
  // Most texts are longer, or begin otherwise.
  const { text } = query;
  const first = text.charCodeAt(0);
  const mayBegin = first <= SPACE || (first | SPACE) === LETTER_B || (first | SPACE) === LETTER_S;
  if (!mayBegin || text.length > MAX_LENGTH || FOREIGN_SPACE.test(text)) return false;
  const modes = BEGIN.exec(text)?.groups?.modes;
  if (modes === undefined) return false;
  if (query.parameters.length > 0 || query.isExtended || query.runsSolo) return false;
  if (query.refusal !== undefined || query.timeoutMillis !== undefined || lock.isHeld) return false;
  if (connection.state !== 'ready' || connection.inFlight > 0) return false;
  if (connection.session.transactionStatus !== 0) return false;
  return !NEEDS_PRIMARY.test(modes) || connection.parameterStatus('in_hot_standby') === 'off';
}

/**
 * @param {Query} query that was submitted
 * @param {Connection} connection
 * @returns {Promise<import('../rows').Result>} what its caller gets
 */
function beginEarly(query, connection) {
  // eslint-disable-next-line no-restricted-syntax -- the query's own promise names the line
  return new Promise((resolve, fail) => {
    query.promise.then(resolve, fail);
    connection.whenAccepted(query, () => {
      if (query.isSettled) return;
      query.connection.session.beginning = query;
      // In the middle of the delivery, before the answer to what was sent behind it is read.
      query.onFailing = (error) => {
        const isLost = error instanceof ConnectionError || query.wasFatal;
        if (!isLost) query.connection.answers.distrust(() => looseError(error));
      };
      const result = newResult(query.rowMode);
      result.addCommandComplete({
        text: /^\s*b/i.test(query.text) ? 'BEGIN' : 'START TRANSACTION',
      });
      resolve(result);
    });
  });
}

module.exports = { beginEarly, beginsEarly };
