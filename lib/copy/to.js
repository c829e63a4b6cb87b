'use strict';

// The Readable of COPY … TO STDOUT, which copyTo() gives: passes on the data of the server, which is stopped while
// nobody reads them. Made by client/streamable.js.

const { Readable } = require('node:stream');
const { emitApart, QueryAbortedError } = require('../base');

/**
 * @typedef {import('./role').CopyRole} CopyRole
 * @typedef {import('./role').GiveUp} GiveUp
 */

/** The server is stopped when so much waits to be read. */
const BUFFER_BYTES = 1 << 20;

class CopyTo extends Readable {
  #role;
  #query;
  #abort;
  #isReading = true;

  /**
   * @param {CopyRole} role
   * @param {GiveUp} abort
   * @param {() => void} start submits it
   */
  constructor(role, abort, start) {
    super({ highWaterMark: BUFFER_BYTES });
    const { query } = role;
    this.#role = role;
    this.#query = query;
    this.#abort = abort;
    role.side = this;
    query.promise.then(
      () => this.push(null),
      (error) => this.onFailed(error),
    );
    start();
  }

  /** @override @param {[any, ...any[]]} parameters */
  emit(...parameters) {
    return emitApart(() => super.emit(...parameters));
  }

  onReady() {}
  onDrained() {}

  /** @param {unknown} error */
  onFailed(error) {
    this.#query.callSite?.nameIn(error);
    this.destroy(/** @type {Error} */ (error));
  }

  /** @param {Buffer} data */
  onData(data) {
    if (this.destroyed || this.push(data)) return;
    this.#isReading = false;
    this.#query.connection.setReading(false);
  }

  /** @override */
  _read() {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#query.connection.setReading(true);
  }

  /**
   * @override
   * @param {Error | null} error
   * @param {(error?: Error | null) => void} callback
   */
  _destroy(error, callback) {
    const query = this.#query;
    if (!query.isSettled) {
      this.#role.side = undefined;
      query.wasStopped = true;
      this.#abort(query, new QueryAbortedError('The stream was destroyed', 'ABORT_ERR'));
      this._read();
    }
    callback(error);
  }
}

module.exports = { CopyTo };
