'use strict';

// What makes a query a COPY: it goes by the simple protocol (PostgreSQL documentation, "COPY Operations" in "Message
// Flow"), alone on its connection, and what the connection tells of it goes to the stream that has the data (from.js,
// to.js). Made for client.js, pool.js and rows.js.

const { afterDelivery, CallSite, ParameterError, StatementRefusedError } = require('../base');
const { Query, Role } = require('../query');
const { classifyStatement, readCopyTarget, Scanner, splitStatements } = require('../statements');

/**
 * @typedef {(query: import('../query').Query, reason: import('../base').QueryAbortedError) => void} GiveUp
 *
 * What a stream is told of its COPY, after the delivery that tells of it.
 * @typedef {object} CopySide
 * @property {boolean} [writableEnded]
 * @property {boolean} [destroyed]
 * @property {(error: Error) => void} onFailed
 * @property {() => void} onReady the server waits for data, or sends them
 * @property {(data: Buffer) => void} onData
 * @property {() => void} onDrained
 */

const TAKES_COPY_FROM = 'COPY … FROM STDIN needs copyFrom()';
const TAKES_COPY_TO = 'COPY … TO STDOUT needs copyTo()';

class CopyRole extends Role {
  /** @type {CopySide | undefined} */
  side = undefined;
  #direction;

  /** @param {'in' | 'out'} direction @param {Query} query */
  constructor(direction, query) {
    super(query);
    this.#direction = direction;
    query.isCopy = true;
    query.callSite = new CallSite();
    query.isRead = direction === 'out';
    query.runsSolo = true;
  }

  /** @override Its stream has not been ended: the transaction that it is a part of cannot end before. */
  get isOpen() {
    return !this.query.isSettled && this.side !== undefined && !this.side.writableEnded;
  }

  /** @override @param {Error} error */
  interrupt(error) {
    this.side?.onFailed(error);
  }

  /** @override */
  copyIn() {
    if (this.#direction === 'in') afterDelivery(() => this.side?.onReady());
    else this.#refuse(TAKES_COPY_FROM);
  }

  /** @override */
  copyOut() {
    if (this.#direction === 'out') afterDelivery(() => this.side?.onReady());
    else this.#refuse(TAKES_COPY_TO);
  }

  /** @param {string} why */
  #refuse(why) {
    this.query.error ??= new StatementRefusedError(why);
    this.query.connection.endCopy(why);
  }

  /** @override @param {Buffer} data */
  copyData(data) {
    if (!this.query.isSettled) afterDelivery(() => this.side?.onData(data));
  }

  /** @override */
  copyDrained() {
    afterDelivery(() => this.side?.onDrained());
  }
}

/** @param {string} text of a COPY @param {'FROM' | 'TO'} direction */
function isOfDirection(text, direction) {
  const scanner = new Scanner(text);
  return readCopyTarget(scanner).direction === direction;
}

/**
 * @param {'in' | 'out'} direction
 * @param {unknown} text
 * @param {import('../query').QueryDefaults} defaults
 * @returns {CopyRole} `query.refusal` says why it cannot be sent, if it cannot
 */
function readCopy(direction, text, defaults) {
  const query = new Query(typeof text === 'string' ? text : '', [], {}, defaults);
  const role = new CopyRole(direction, query);
  const name = direction === 'in' ? 'copyFrom' : 'copyTo';
  if (typeof text !== 'string') {
    query.refusal = new ParameterError(`${name}() needs the text of a COPY, not ${typeof text}`);
  } else if (classifyStatement(text).kind !== 'copy' || splitStatements(text).length > 1) {
    query.refusal = new ParameterError(
      `${name}() takes one COPY … ${direction === 'in' ? 'FROM STDIN' : 'TO STDOUT'}, and nothing else`,
    );
  } else if (isOfDirection(text, direction === 'in' ? 'TO' : 'FROM')) {
    query.refusal = new StatementRefusedError(direction === 'in' ? TAKES_COPY_TO : TAKES_COPY_FROM);
  }
  return role;
}

module.exports = { CopyRole, readCopy };
