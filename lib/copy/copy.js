'use strict';

// COPY as streams: a Writable for COPY … FROM STDIN, a Readable for COPY … TO
// STDOUT (PostgreSQL documentation, "COPY Operations" in "Message Flow"). Both go
// by the simple protocol, alone on their connection. Made by client.js and pool.js.

const { Readable, Writable } = require('node:stream');
const {
  afterDelivery,
  apart,
  assertThere,
  CallSite,
  emitApart,
  isBytes,
  lengthOf,
  messageOf,
  ParameterError,
  partOf,
  QueryAbortedError,
  StatementRefusedError,
  toBytes,
} = require('../base');
const { Query } = require('../query');
const { classifyStatement, readCopyTarget, Scanner, splitStatements } = require('../statements');

/**
 * @typedef {(query: Query, reason: QueryAbortedError) => void} GiveUp
 *
 * What a stream is told of its COPY; nothing of it in the middle of a delivery.
 * @typedef {object} CopySide
 * @property {boolean} [writableEnded]
 * @property {(error: Error) => void} onFailed
 * @property {() => void} onReady the server waits for data, or sends them
 * @property {(data: Buffer) => void} onData
 * @property {() => void} onDrained
 */

const TAKES_COPY_FROM = 'COPY … FROM STDIN takes copyFrom()';
const TAKES_COPY_TO = 'COPY … TO STDOUT takes copyTo()';

/** A CopyData message of this size; the server does not care where they end. */
const MESSAGE_BYTES = 1 << 20;

class CopyQuery extends Query {
  /** @type {CopySide | undefined} */
  side = undefined;
  #direction;

  /** @param {'in' | 'out'} direction @param {ConstructorParameters<typeof Query>} parameters */
  constructor(direction, ...parameters) {
    super(...parameters);
    this.#direction = direction;
    this.isCopy = true;
    this.callSite = new CallSite();
    this.isRead = direction === 'out';
    this.runsSolo = true;
  }

  /** Whoever has the data has not ended it: it may not end before. */
  get isOpen() {
    return !this.isSettled && this.side !== undefined && !this.side.writableEnded;
  }

  /** @param {Error} error for whoever has the data */
  interrupt(error) {
    this.side?.onFailed(error);
  }

  /** @override */
  copyIn() {
    if (this.#direction === 'in') afterDelivery(() => this.side?.onReady());
    else this.refuse(TAKES_COPY_FROM);
  }

  /** @override */
  copyOut() {
    if (this.#direction === 'out') afterDelivery(() => this.side?.onReady());
    else this.refuse(TAKES_COPY_TO);
  }

  /** @param {string} why */
  refuse(why) {
    this.error ??= new StatementRefusedError(why);
    this.connection.endCopy(why);
  }

  /** @override @param {Buffer} data */
  copyData(data) {
    if (!this.isSettled) afterDelivery(() => this.side?.onData(data));
  }

  /** @override */
  copyDrained() {
    afterDelivery(() => this.side?.onDrained());
  }
}

class CopyFrom extends Writable {
  /** Rows that the server has taken; set at the end. @type {number | null} */
  rowCount = null;
  #query;
  #giveUp;
  /** @type {(() => void) | undefined} what is to be sent when the server waits for it */
  #waiting = undefined;
  /** @type {((error?: Error | null) => void) | undefined} of _write */
  #whenDrained = undefined;
  #isReady = false;

  /**
   * @param {CopyQuery} query
   * @param {GiveUp} giveUp
   * @param {() => void} start submits it
   */
  constructor(query, giveUp, start) {
    super({ highWaterMark: MESSAGE_BYTES });
    this.#query = query;
    this.#giveUp = giveUp;
    query.side = this;
    // Before the stream asks for it: an error must not go by unnoticed.
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
   * What a callback throws is not to stop it either. And Writable counts by the property `length`: it would
   * wait for ever for what it has miscounted.
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
    // Waiting for data the server takes no notice of a cancel.
    if (this.destroyed) this.#fail(undefined);
    else this.#waiting?.();
    this.#waiting = undefined;
  }

  /**
   * Not by _construct(), which would put off _destroy() too.
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
      // Lost meanwhile: its end tells.
      if (!connection.putCopyData(message)) return;
    }
  }

  /**
   * Told to fail, the server takes nothing of it.
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
    this.#giveUp(query, new QueryAbortedError('The stream was destroyed', 'ABORT_ERR'));
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
  // What merely inherits from Buffer gets past the checks of Writable.
  if (!isBytes(data)) throw new ParameterError('COPY data must be strings, Buffers or Uint8Arrays');
  try {
    return toBytes(data);
  } catch (error) {
    throw dataError(error);
  }
}

class CopyTo extends Readable {
  #query;
  #giveUp;
  #isReading = true;

  /**
   * @param {CopyQuery} query
   * @param {GiveUp} giveUp
   * @param {() => void} start submits it
   */
  constructor(query, giveUp, start) {
    super({ highWaterMark: MESSAGE_BYTES });
    this.#query = query;
    this.#giveUp = giveUp;
    query.side = this;
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
      query.side = undefined;
      query.wasStopped = true;
      this.#giveUp(query, new QueryAbortedError('The stream was destroyed', 'ABORT_ERR'));
      this._read();
    }
    callback(error);
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
 * @returns {CopyQuery} `refusal` says why it cannot be sent, if it cannot
 */
function readCopy(direction, text, defaults) {
  const query = new CopyQuery(direction, typeof text === 'string' ? text : '', [], {}, defaults);
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
  return query;
}

module.exports = { CopyFrom, CopyQuery, CopyTo, readCopy };
