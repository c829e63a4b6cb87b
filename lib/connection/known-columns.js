'use strict';

// What is known of the columns that a prepared statement returns, so that the server need not describe them at each
// execution: that is 5 to 8 % of its work for a row of three columns, and half of what it sends. Their names and types cannot
// change, since the server refuses to execute the statement then (RevalidateCachedQuery), as long as it is the server that
// has described them. A pooler may prepare the text anew in another session, after somebody has changed a type. So it has to
// be proved for each connection that none is between. Owned by prepared-statements.js.

const { knownColumns } = require('../base');
const { binding } = require('../native');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').Statement} Statement
 */

/** To ask takes the server about as long as to describe the columns of so many executions. */
const WORTH_ASKING = 256;

/** Their command tag shows that they are no utility statements, whose columns may differ each time. */
const WITHOUT_ROWS = new Set(
  /** @type {(string | null)[]} */ (['INSERT', 'UPDATE', 'DELETE', 'MERGE']),
);

class KnownColumns {
  #keeping;
  #executions = 0;

  /** @param {import('./statement-keeping').StatementKeeping} keeping */
  constructor(keeping) {
    this.#keeping = keeping;
  }

  /**
   * @param {Statement} statement
   * @param {Query} query that is about to execute it
   * @returns {number} as ticks.writeExecute() takes it
   */
  of(statement, { info }) {
    if (this.#keeping.isDirect) return info.keepsColumns ? statement.columns : knownColumns.unknown;
    if (!binding.omitsDescribe || ++this.#executions < WORTH_ASKING) return knownColumns.unknown;
    this.#executions = 0;
    this.#keeping.wantDirect();
    return knownColumns.unknown;
  }

  /**
   * @param {Statement} statement
   * @param {Query} query that has executed it
   */
  learn(statement, { shape, result, error, hasFailed }) {
    if (shape !== undefined) statement.columns = shape.id;
    else if (hasFailed || error !== undefined || result === undefined) return;
    else if (WITHOUT_ROWS.has(result.command)) statement.columns = knownColumns.none;
  }
}

module.exports = { KnownColumns };
