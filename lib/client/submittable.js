'use strict';

// Objects with submit(connection), as `pg` takes them: pg-cursor, pg-query-stream, `pg`'s Query.
// They send the protocol's messages to a connection. Here they get a SubmittableConnection, which
// serves them from a Cursor. Made by client.js.

const { EventEmitter } = require('node:events');
const { callApart, CallSite, ParameterError, StatementRefusedError } = require('../base');
const { Cursor, OWN_DEFAULTS } = require('../query');
const { textParsers } = require('../rows');
const { classifyStatement, splitStatements } = require('../statements');
const { readQuery } = require('./query-arguments');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../rows').Result} Result
 * @typedef {import('../rows').Field} Field
 *
 * What is called on a submittable, if it is there.
 * @typedef {object} Submittable
 * @property {string} [text]
 * @property {(connection: any) => Error | null | void} submit
 * @property {(message: { fields: readonly Field[] }) => void} [handleRowDescription]
 * @property {(message: { fields: (string | null)[] }) => void} [handleDataRow]
 * @property {(connection: any) => void} [handlePortalSuspended]
 * @property {(message: { text: string }, connection: any) => void} [handleCommandComplete]
 * @property {(connection: any) => void} [handleEmptyQuery]
 * @property {(connection: any) => void} [handleReadyForQuery]
 * @property {(error: Error, connection: any) => void} [handleError]
 *
 * The client that has the connection.
 * @typedef {object} Face
 * @property {(query: Query) => void} begin submits it, or rejects it
 * @property {(query: Query, reason: import('../base').QueryAbortedError) => void} abort
 * @property {() => void} end
 * @property {import('../query').QueryDefaults} defaults
 * @property {Record<string, string>} statements texts by their names
 */

/** Rows that are passed on at a time when all are requested. */
const BATCH_SIZE = 256;

/** Values are passed on as the server writes them: submittables parse them. */
const AS_TEXT = { getTypeParser: () => (/** @type {string} */ text) => text };

/** Who waits for the end of one. @type {WeakMap<object, () => void>} */
const watched = new WeakMap();

/**
 * @param {object} submittable that is about to be given to query()
 * @param {() => void} onOver is called when it has ended or failed, and has been told so
 */
function watchSubmittable(submittable, onOver) {
  watched.set(submittable, onOver);
}

/** What a submittable gets in place of `pg`'s connection. */
class SubmittableConnection extends EventEmitter {
  #submittable;
  #face;
  /** @type {string | undefined} */
  #text = undefined;
  /** @type {string | undefined} */
  #name = undefined;
  /** @type {unknown[]} */
  #values = [];
  #isSimple = false;
  #isDescribed = false;
  /** Whether the submittable was told of its end. */
  #isOver = false;
  #hasFailed = false;
  /** @type {Query | undefined} */
  #query = undefined;
  /** @type {Cursor | undefined} */
  #cursor = undefined;
  /** For a query without a cursor, which has its own. @type {CallSite | undefined} */
  #callSite = undefined;
  /** Messages that were not served yet. @type {(() => Promise<void>)[]} */
  #messages = [];
  #isServing = false;

  /** Some submittables cork the stream around what they write. */
  stream = { cork() {}, uncork() {} };

  /** @param {Submittable} submittable @param {Face} face */
  constructor(submittable, face) {
    super();
    this.#submittable = submittable;
    this.#face = face;
    this.parsedStatements = face.statements;
    this.submittedNamedStatements = face.statements;
  }

  /** Lets the submittable send its messages, and begins the query. */
  start() {
    const refusal = this.#submit();
    if (refusal !== undefined) {
      process.nextTick(() => this.#fail(refusal));
      return;
    }
    const options = { text: this.#text, values: this.#values, name: this.#name };
    const config = { ...options, types: AS_TEXT, rowMode: 'array' };
    const query = readQuery(config, undefined, undefined, OWN_DEFAULTS);
    this.#query = query;
    if (this.#isSimple) {
      this.#callSite = new CallSite();
      this.#messages.unshift(() => this.#serveSimple(query));
    } else {
      this.#cursor = new Cursor(query, this.#face.abort, (fields) => this.#describe(fields));
    }
    // The query may fail while no message is served.
    query.promise.catch((error) => {
      if (!this.#isServing) this.#fail(error);
    });
    this.#face.begin(query);
    this.#serve();
  }

  /** @returns {Error | undefined} */
  #submit() {
    const { text } = this.#submittable;
    if (typeof text === 'string' && classifyStatement(text).kind === 'copy') {
      return new StatementRefusedError(
        'pg-copy-streams speaks to the socket, which is not there: use client.copyFrom(text), a Writable, ' +
          'and client.copyTo(text), a Readable',
      );
    }
    const refusal = this.#submittable.submit(this);
    if (refusal) return refusal;
    if (this.#text !== undefined) return undefined;
    return new ParameterError('what has a submit() function must send a query in it');
  }

  // --- What the submittable sends ---------------------------------------------------

  /** @param {{ text: string, name?: string }} message */
  parse({ text, name }) {
    this.#text = text;
    if (!name) return;
    this.#name = name;
    this.#face.statements[name] = text;
  }

  /** @param {{ statement?: string, values?: unknown[] | null, valueMapper?: (value: unknown) => unknown }} message */
  bind({ statement, values, valueMapper }) {
    if (this.#text === undefined && statement) {
      this.#name = statement;
      this.#text = this.#face.statements[statement];
    }
    this.#values = valueMapper ? (values ?? []).map((value) => valueMapper(value)) : (values ?? []);
  }

  /** @param {string} text */
  query(text) {
    this.#text = text;
    // A single statement gives its rows as they come.
    this.#isSimple = splitStatements(text).length > 1;
    if (!this.#isSimple) this.execute();
    this.sync();
  }

  describe() {}
  flush() {}
  sendCopyFail() {}

  /** @param {{ rows?: number }} [message] none: all of them */
  execute({ rows = 0 } = {}) {
    this.#push(() => this.#serveExecute(rows));
  }

  /** @param {{ type: string }} message */
  close({ type }) {
    if (type === 'P') this.#push(() => this.#serveClose());
  }

  sync() {
    this.#push(() => this.#serveSync());
  }

  end() {
    this.#face.end();
  }

  // --- What it gets -----------------------------------------------------------------

  /** @param {() => Promise<void>} message */
  #push(message) {
    this.#messages.push(message);
    // During submit() nothing has begun yet.
    if (this.#query !== undefined || this.#hasFailed) this.#serve();
  }

  async #serve() {
    if (this.#isServing) return;
    this.#isServing = true;
    for (let next = this.#messages.shift(); next !== undefined; next = this.#messages.shift()) {
      try {
        await next();
      } catch (error) {
        this.#fail(error);
      }
    }
    this.#isServing = false;
  }

  /** @param {any} error */
  #fail(error) {
    if (this.#hasFailed || this.#isOver) return;
    this.#hasFailed = true;
    this.#callSite?.nameIn(error);
    callApart(() => this.#submittable.handleError?.(error, this));
    this.#tellOver();
  }

  /** Not every submittable tells its end by a callback: pg-cursor does not. */
  #tellOver() {
    const onOver = watched.get(this.#submittable);
    watched.delete(this.#submittable);
    onOver?.();
  }

  /** @param {readonly Field[]} fields */
  #describe(fields) {
    if (this.#isDescribed || this.#hasFailed) return;
    this.#isDescribed = true;
    callApart(() => {
      this.#submittable.handleRowDescription?.({ fields });
      this.emit('rowDescription', { fields });
    });
  }

  /** @param {readonly (string | null)[][]} rows */
  #pass(rows) {
    for (const fields of rows) callApart(() => this.#submittable.handleDataRow?.({ fields }));
  }

  /** @param {number} count 0: all rows */
  async #serveExecute(count) {
    const cursor = /** @type {Cursor} */ (this.#cursor);
    if (this.#hasFailed) return;
    const size = count || BATCH_SIZE;
    let rows = await cursor.read(size);
    this.#pass(rows);
    while (count === 0 && rows.length === size) {
      rows = await cursor.read(size);
      this.#pass(rows);
    }
    if (rows.length === size) {
      callApart(() => this.#submittable.handlePortalSuspended?.(this));
      return;
    }
    const query = /** @type {Query} */ (this.#query);
    const result = await query.promise;
    if (result === undefined || this.#isOver) return;
    if (!this.#isDescribed) callApart(() => this.emit('noData'));
    this.#complete(result);
  }

  /** @param {Result} result */
  #complete({ command, rowCount }) {
    const { tag } = /** @type {Query} */ (this.#query);
    callApart(() => {
      if (command === null) {
        this.#submittable.handleEmptyQuery?.(this);
        return;
      }
      const count = rowCount === null ? '' : ` ${rowCount}`;
      const text = command === 'INSERT' ? `INSERT 0${count}` : tag || `${command}${count}`;
      this.#submittable.handleCommandComplete?.({ text }, this);
    });
  }

  /** @param {Query} query */
  async #serveSimple(query) {
    const value = await query.promise;
    for (const result of Array.isArray(value) ? value : [value]) {
      if (result.fields.length > 0) {
        this.#isDescribed = false;
        this.#describe(result.fields);
      }
      this.#pass(result.rows);
      this.#complete(result);
    }
  }

  async #serveClose() {
    await this.#cursor?.close();
    // Behind an error pg-cursor sends no Sync, and waits for a ReadyForQuery that has come already.
    if (this.#isOver) callApart(() => this.emit('readyForQuery'));
  }

  async #serveSync() {
    await this.#cursor?.close();
    const isFirst = !this.#isOver && !this.#hasFailed;
    this.#isOver = true;
    callApart(() => {
      if (isFirst) this.#submittable.handleReadyForQuery?.(this);
      this.emit('readyForQuery');
    });
    this.#tellOver();
  }
}

/** @param {any} given to query() @returns {boolean} */
function isSubmittable(given) {
  return typeof given === 'object' && typeof given?.submit === 'function';
}

/**
 * @param {[submittable: any, values: any, third?: any]} given to query()
 * @param {Face} face
 * @returns {any} the submittable, as in `pg`
 */
function serveSubmittable([submittable, values, third], face) {
  const callback = typeof values === 'function' ? values : third;
  if (typeof callback === 'function') submittable.callback ??= callback;
  const { _result: result } = submittable;
  if (result && !result._types) result._types = textParsers(face.defaults);
  new SubmittableConnection(submittable, face).start();
  return submittable;
}

module.exports = { isSubmittable, serveSubmittable, watchSubmittable };
