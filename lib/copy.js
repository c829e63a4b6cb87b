'use strict';

// COPY as streams: a Writable for COPY … FROM STDIN, a Readable for COPY … TO
// STDOUT (PostgreSQL documentation, "COPY Operations" in "Message Flow"). Both go
// by the simple protocol, alone on their connection. Made by client.js and pool.js.

const { Readable, Writable } = require('node:stream');
const { afterDelivery } = require('./delivery');
const { ParameterError, QueryAbortedError, StatementRefusedError } = require('./errors');
const { Query } = require('./query');

/**
 * @typedef {(query: Query, reason: QueryAbortedError) => void} GiveUp
 *
 * What a stream is told of its COPY; nothing of it in the middle of a delivery.
 * @typedef {object} CopySide
 * @property {() => void} onReady the server waits for data, or sends them
 * @property {(data: Buffer) => void} onData
 * @property {() => void} onDrained
 */

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
    this.runsSolo = true;
  }

  /** @override */
  copyIn() {
    if (this.#direction === 'in') afterDelivery(() => this.side?.onReady());
    else this.#refuse('FROM STDIN takes copyFrom()');
  }

  /** @override */
  copyOut() {
    if (this.#direction === 'out') afterDelivery(() => this.side?.onReady());
    else this.#refuse('TO STDOUT takes copyTo()');
  }

  /** @param {string} why */
  #refuse(why) {
    this.error ??= new StatementRefusedError(`COPY … ${why}`);
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
  /** @type {((error?: Error | null) => void) | undefined} of _construct */
  #whenReady = undefined;
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

  /** @override @param {(error?: Error | null) => void} callback */
  _construct(callback) {
    if (this.#isReady || this.#query.isSettled) callback();
    else this.#whenReady = callback;
  }

  onReady() {
    this.#isReady = true;
    this.#whenReady?.();
    this.#whenReady = undefined;
  }

  onData() {}

  onDrained() {
    const callback = this.#whenDrained;
    this.#whenDrained = undefined;
    callback?.();
  }

  /** @param {Error | undefined} error */
  #onSettled(error) {
    if (error !== undefined) this.destroy(error);
    this.#whenReady?.();
    this.onDrained();
  }

  /**
   * @override
   * @param {Buffer} data
   * @param {string} encoding
   * @param {(error?: Error | null) => void} callback
   */
  _write(data, encoding, callback) {
    this.#whenDrained = callback;
    this.#put(data);
  }

  /**
   * @override
   * @param {{ chunk: Buffer }[]} chunks
   * @param {(error?: Error | null) => void} callback
   */
  _writev(chunks, callback) {
    this.#whenDrained = callback;
    for (const { chunk } of chunks) this.#put(chunk);
  }

  /** @param {Buffer} data */
  #put(data) {
    const { connection } = this.#query;
    for (let at = 0; at < data.length; at += MESSAGE_BYTES) {
      // Lost meanwhile: its end tells.
      if (!connection.putCopyData(data.subarray(at, at + MESSAGE_BYTES))) return;
    }
  }

  /** @override @param {(error?: Error | null) => void} callback */
  _final(callback) {
    this.#query.connection.endCopy();
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
    // Told to fail, the server takes nothing of it.
    const message = error?.message ?? 'the stream was destroyed';
    if (this.#isReady) query.connection.endCopy(message.replaceAll('\0', ''));
    else this.#giveUp(query, new QueryAbortedError('The stream was destroyed', 'ABORT_ERR'));
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
      (error) => this.destroy(error),
    );
    start();
  }

  onReady() {}
  onDrained() {}

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
      this.#giveUp(query, new QueryAbortedError('The stream was destroyed', 'ABORT_ERR'));
      this._read();
    }
    callback(error);
  }
}

/**
 * @param {'in' | 'out'} direction
 * @param {unknown} text
 * @param {import('./row-builder').TypeSource} types
 * @param {import('./row-builder').Int8} int8
 * @returns {CopyQuery} `refusal` says why it cannot be sent, if it cannot
 */
function readCopy(direction, text, types, int8) {
  const query = new CopyQuery(direction, typeof text === 'string' ? text : '', [], {}, types, int8);
  const name = direction === 'in' ? 'copyFrom' : 'copyTo';
  if (typeof text !== 'string') {
    query.refusal = new ParameterError(`${name}() needs the text of a COPY, not ${typeof text}`);
  } else if (!/^[\s(]*(?:--.*\n\s*|\/\*[^]*?\*\/\s*)*copy\b/i.test(text)) {
    query.refusal = new ParameterError(
      `${name}() takes COPY … ${direction === 'in' ? 'FROM STDIN' : 'TO STDOUT'} only`,
    );
  }
  return query;
}

module.exports = { CopyFrom, CopyTo, readCopy };
