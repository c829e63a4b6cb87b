'use strict';

// The Writable of COPY … FROM STDIN, which copyFrom() gives: takes chunks, sends them when the server waits for them,
// and has the server fail the COPY if it is destroyed. Made by client/streamable.js, and for rows.js.

const { Writable } = require('node:stream');
const {
  apart,
  assertThere,
  emitApart,
  isBytes,
  lengthOf,
  messageOf,
  ParameterError,
  partOf,
  QueryAbortedError,
  toBytes,
} = require('../base');

/**
 * @typedef {import('./role').CopyRole} CopyRole
 * @typedef {import('./role').GiveUp} GiveUp
 */

/** A CopyData message of this size; the server does not care where they end. */
const MESSAGE_BYTES = 1 << 20;

class CopyFrom extends Writable {
  /** Rows that the server has taken; set at the end. @type {number | null} */
  rowCount = null;
  #query;
  #abort;
  /** @type {(() => void) | undefined} what is to be sent when the server waits for it */
  #waiting = undefined;
  /** @type {((error?: Error | null) => void) | undefined} of _write */
  #whenDrained = undefined;
  #isReady = false;

  /**
   * @param {CopyRole} role
   * @param {GiveUp} abort
   * @param {() => void} start submits it
   */
  constructor(role, abort, start) {
    super({ highWaterMark: MESSAGE_BYTES });
    const { query } = role;
    this.#query = query;
    this.#abort = abort;
    role.side = this;
    // Before the COPY is sent, so that an error cannot go by unnoticed.
    query.promise.then(
      () => this.#onSettled(undefined),
      (error) => this.#onSettled(error),
    );
    start();
  }

  /** @override @param {[any, ...any[]]} parameters */
  emit(...parameters) {
    return emitApart(() => super.emit(...parameters));
  }

  /**
   * An exception of the callback's does not stop the stream either. And Writable counts the property `length` of
   * chunks: of one that has its own, it would wait for ever for bytes that never come.
   * @override
   * @param {any} data
   * @param {any} [encoding] or the callback
   * @param {any} [callback]
   */
  write(data, encoding, callback) {
    const counted = toCounted(data);
    if (typeof encoding === 'function') return super.write(counted, apart(encoding));
    return super.write(counted, encoding, apart(callback));
  }

  /**
   * @override
   * @param {any} [data] or the callback
   * @param {any} [encoding] or the callback
   * @param {any} [callback]
   */
  end(data, encoding, callback) {
    if (typeof data === 'function') return super.end(apart(data));
    const counted = toCounted(data);
    if (typeof encoding === 'function') return super.end(counted, apart(encoding));
    return super.end(counted, encoding, apart(callback));
  }

  onReady() {
    this.#isReady = true;
    // A server that waits for data ignores cancel requests.
    if (this.destroyed) this.#fail(undefined);
    else this.#waiting?.();
    this.#waiting = undefined;
  }

  /**
   * Not by _construct(), which would delay _destroy() too.
   * @param {() => void} send
   */
  #whenReady(send) {
    if (this.#isReady) send();
    else this.#waiting = send;
  }

  onData() {}

  /** @param {unknown} error */
  onFailed(error) {
    this.#query.callSite?.nameIn(error);
    this.destroy(/** @type {Error} */ (error));
  }

  onDrained() {
    const callback = this.#whenDrained;
    this.#whenDrained = undefined;
    callback?.();
  }

  /** @param {Error | undefined} error */
  #onSettled(error) {
    if (error !== undefined) this.onFailed(error);
    this.#waiting = undefined;
    this.onDrained();
  }

  /**
   * Ends the first COPY of a text of two.
   * @param {Buffer} data its last
   * @returns {Promise<void>} what is written now belongs to the second, unless it is destroyed
   */
  async nextCopy(data) {
    await new Promise((resolve) => {
      this.write(data, resolve);
    });
    if (this.#query.isSettled || this.destroyed) return;
    this.#isReady = false;
    await new Promise((resolve) => {
      this.#waiting = () => resolve(undefined);
      this.once('close', resolve);
      this.#query.connection.endCopy();
    });
  }

  /**
   * @override
   * @param {Buffer} data
   * @param {string} encoding
   * @param {(error?: Error | null) => void} callback
   */
  _write(data, encoding, callback) {
    this.#take([data], callback);
  }

  /**
   * @override
   * @param {{ chunk: Buffer }[]} chunks
   * @param {(error?: Error | null) => void} callback
   */
  _writev(chunks, callback) {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      callback,
    );
  }

  /**
   * @param {readonly unknown[]} data
   * @param {(error?: Error | null) => void} callback
   */
  #take(data, callback) {
    /** @type {Buffer[]} */
    let all;
    try {
      all = data.map(toData);
    } catch (error) {
      this.#query.callSite?.nameIn(error);
      callback(/** @type {Error} */ (error));
      return;
    }
    this.#whenDrained = callback;
    this.#whenReady(() => {
      try {
        for (const each of all) assertThere(each);
      } catch (error) {
        this.onFailed(dataError(error));
        return;
      }
      for (const each of all) this.#put(each);
    });
  }

  /** @param {Buffer} data */
  #put(data) {
    const { connection } = this.#query;
    const length = lengthOf(data);
    for (let at = 0; at < length; at += MESSAGE_BYTES) {
      const message = length > MESSAGE_BYTES ? partOf(data, at, MESSAGE_BYTES) : data;
      // Lost meanwhile: the rejected query tells why.
      if (!connection.putCopyData(message)) return;
    }
  }

  /**
   * Has the server fail the COPY, so that it stores nothing of it.
   * @param {any} error
   * @returns {boolean} false: it does not wait for data any more
   */
  #fail(error) {
    const message =
      error === undefined || error === null ? 'the stream was destroyed' : messageOf(error);
    return this.#query.connection.endCopy(message.replaceAll('\0', ''));
  }

  /** @override @param {(error?: Error | null) => void} callback */
  _final(callback) {
    this.#whenReady(() => this.#query.connection.endCopy());
    this.#query.promise.then(
      (result) => {
        this.rowCount = result.rowCount;
        callback();
      },
      (error) => callback(error),
    );
  }

  /**
   * @override
   * @param {Error | null} error
   * @param {(error?: Error | null) => void} callback
   */
  _destroy(error, callback) {
    const query = this.#query;
    if (query.isSettled) {
      callback(error);
      return;
    }
    const done = () => callback(error);
    query.promise.then(done, done);
    if (this.#isReady && this.#fail(error)) return;
    this.#abort(query, new QueryAbortedError('The stream was destroyed', 'ABORT_ERR'));
  }
}

/** @param {unknown} cause */
function dataError(cause) {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ParameterError(`COPY data cannot be sent: ${why}`, { cause });
}

/** @param {unknown} chunk @returns {unknown} what _write() refuses is left to it */
function toCounted(chunk) {
  try {
    return isBytes(chunk) ? toBytes(chunk) : chunk;
  } catch {
    return chunk;
  }
}

/**
 * @param {unknown} data
 * @returns {Buffer} that nothing can change the length of
 */
function toData(data) {
  // An object that merely inherits from Buffer passes the checks of Writable.
  if (!isBytes(data)) throw new ParameterError('COPY data must be strings, Buffers or Uint8Arrays');
  try {
    return toBytes(data);
  } catch (error) {
    throw dataError(error);
  }
}

module.exports = { CopyFrom };
