'use strict';

// One call of subscribe(), from its first connection to its end: has the messages of the server told one after the
// other (teller.js), and goes on with the next connection when one was lost. Made by subscriptions.js.

const { Backoff, ConnectionError, TimeLimit } = require('../base');
const { explain, mayPass, StreamEnd, unconfirmedError } = require('./errors');
const { formatLsn } = require('./lsn');
const { Progress } = require('./progress');
const { Session } = require('./session');
const { Teller } = require('./teller');

/**
 * @typedef {import('./options').SubscribeOptions} SubscribeOptions
 * @typedef {import('./stream').ReplicationStream} ReplicationStream
 *
 * The pool that it belongs to.
 * @typedef {object} Owner
 * @property {import('../options').Settings} settings
 * @property {import('../statements').StatementRegistry} registry
 * @property {(error: Error, client: import('../client').Client) => void} onError a connection was lost, or cannot be
 *   made again
 */

const LSN_AT = 1;
const KEEPALIVE = 'k'.charCodeAt(0);
const WANTS_REPLY_AT = 17;

/** How long a subscription that is closed tries to connect again. */
const FINISH_MILLIS = 5000;

class Run {
  #owner;
  #options;
  #progress = new Progress();
  /** Of the current connection. @type {Teller} */
  #teller;
  #isStreaming;
  /** @type {Session | undefined} */
  #session = undefined;
  /** @type {ReplicationStream | undefined} */
  #stream = undefined;
  /** @type {string | undefined} */
  #systemId = undefined;
  /** @type {'not' | 'soon' | 'now'} soon: behind the transaction that is being told */
  #closing = 'not';
  /** @type {TimeLimit | undefined} */
  #limit = undefined;
  #isLate = false;
  /** The rest of the transaction that was being told did not come in time. */
  #isCutShort = false;
  #backoff = new Backoff();
  /** @type {(() => void) | undefined} ends a pause between two attempts */
  #endPause = undefined;
  /** Codes of the errors that were told since there was a connection. @type {Set<unknown>} */
  #toldCodes = new Set();
  /** Resolves when nothing of it is left, whatever for. @type {Promise<void>} */
  done = Promise.resolve();

  /** @param {Owner} owner @param {SubscribeOptions} options */
  constructor(owner, options) {
    this.#owner = owner;
    this.#options = options;
    // Messages that are streamed name the transaction, and not the part of it that may be rolled back.
    this.#isStreaming = options.streaming && !options.messages;
    this.#teller = new Teller(owner.settings, options, this.#progress);
  }

  get position() {
    return formatLsn(this.#progress.position);
  }

  // --- Connections --------------------------------------------------------------

  /** Makes the first connection. @throws {Error} why it cannot be */
  async open() {
    const { from } = this.#options;
    this.#stream = await this.#connect({ isFirst: true, position: from, systemId: undefined });
  }

  /** @param {import('./slot').Known} known @returns {Promise<ReplicationStream>} */
  async #connect(known) {
    const { settings, registry } = this.#owner;
    const session = new Session(settings, registry, this.#options);
    this.#session = session;
    const progress = this.#progress;
    let mustDrop = false;
    try {
      await session.connect();
      const { position, gap, isMade } = await session.prepare(known);
      mustDrop = isMade && !this.#options.isTemporary;
      if (gap !== undefined) await this.#options.onGap?.(gap);
      if (gap !== undefined || known.isFirst) progress.moveTo(position);
      else progress.restart();
      this.#systemId = session.systemId;
      this.#teller = new Teller(settings, this.#options, progress);
      return await session.start(position, () => progress.position, this.#isStreaming);
    } catch (error) {
      if (mustDrop) await this.#dropMadeSlot(session);
      session.destroy();
      throw explain(error);
    }
  }

  /**
   * The next one that finds the slot would take it for one whose gap was told.
   * @param {Session} session that has made it, and may be lost
   */
  async #dropMadeSlot(session) {
    const { settings, registry } = this.#owner;
    if (await dropUnusedSlot(session)) return;
    const other = new Session(settings, registry, this.#options);
    await dropUnusedSlot(other, () => other.connect());
    other.destroy();
  }

  /** Reads until it is closed. @throws {Error} why it cannot go on */
  async read() {
    try {
      await this.#readAll();
    } finally {
      this.#limit?.cancel();
    }
  }

  async #readAll() {
    while (this.#stream !== undefined) {
      const stream = this.#stream;
      try {
        await this.#readFrom(stream);
        await stream.finish();
        break;
      } catch (error) {
        stream.destroy();
        if (!(error instanceof StreamEnd)) throw error;
        // The server can keep more of a transaction than this process: it is to send only what is committed.
        if (error.isWanted) this.#isStreaming = false;
        this.#stream = undefined;
        this.#stream = await this.#reconnect(error);
      }
    }
    if (this.#isCutShort) {
      const cause = new ConnectionError('the rest of a transaction was not sent again');
      throw unconfirmedError(this.#options.slot, cause);
    }
  }

  /** @param {StreamEnd} end why there is no connection any more @returns {Promise<ReplicationStream | undefined>} */
  async #reconnect(end) {
    let error = end.reason;
    while (this.#isWanted) {
      if (!end.isWanted || error !== end.reason) this.#tell(error);
      if (!mayPass(error)) throw explain(error);
      this.#backoff.failed(error);
      await this.#pause();
      if (!this.#isWanted) break;
      try {
        const { position } = this.#progress;
        const stream = await this.#connect({ isFirst: false, position, systemId: this.#systemId });
        this.#backoff.succeeded();
        this.#toldCodes.clear();
        return stream;
      } catch (failure) {
        error = /** @type {Error} */ (failure);
      }
    }
    if (!this.#options.isTemporary) throw unconfirmedError(this.#options.slot, error);
    return undefined;
  }

  /**
   * Whether it needs a connection. If it is closed: to confirm what was told, and to finish the transaction that is
   * being told.
   */
  get #isWanted() {
    if (this.#closing === 'not') return true;
    return !this.#options.isTemporary && !this.#isLate;
  }

  /** Once for each outage and code. @param {any} error */
  #tell(error) {
    if (this.#toldCodes.has(error.code)) return;
    this.#toldCodes.add(error.code);
    const { client } = /** @type {Session} */ (this.#session);
    this.#owner.onError(error, client);
  }

  /** @returns {Promise<void>} */
  #pause() {
    return new Promise((resolve) => {
      this.#endPause = () => {
        this.#backoff.cancel();
        resolve();
      };
      this.#backoff.whenOver(resolve);
    });
  }

  /** @param {boolean} isNow even in the middle of a transaction */
  close(isNow) {
    this.#limit ??= new TimeLimit(FINISH_MILLIS, () => {
      this.#isLate = true;
      if (this.#stream === undefined) this.abort();
      else this.#cutShort(this.#stream);
    });
    if (this.#closing !== 'now') this.#closing = isNow ? 'now' : 'soon';
    if (isNow) this.#teller.stop();
    if (this.#stream !== undefined) this.#stream.wake();
    else if (!this.#isWanted) this.abort();
  }

  /** Does not wait for a transaction that was cut off and does not come again. @param {ReplicationStream} stream */
  #cutShort(stream) {
    const { isInTransaction, isPartial } = this.#progress;
    if (this.#closing === 'now' || isInTransaction || !isPartial) return;
    this.#isCutShort = true;
    this.#closing = 'now';
    stream.wake();
  }

  /** Gives up the connection that is being made. */
  abort() {
    this.#endPause?.();
    this.#session?.destroy();
  }

  /** When it is closed. */
  async dropSlot() {
    const { settings, registry } = this.#owner;
    const session = new Session(settings, registry, this.#options);
    try {
      await session.connect();
      await session.dropSlot();
    } finally {
      session.destroy();
    }
  }

  // --- Messages -----------------------------------------------------------------

  get #mustStop() {
    if (this.#closing === 'not') return false;
    const { isInTransaction, isPartial } = this.#progress;
    return this.#closing === 'now' || !(isInTransaction || isPartial);
  }

  /** @param {ReplicationStream} stream @throws {StreamEnd | Error} */
  async #readFrom(stream) {
    while (!this.#mustStop) {
      const message = stream.take();
      if (message === undefined) {
        await stream.whenReadable();
        continue;
      }
      const pending = this.#receive(message, stream);
      if (pending !== undefined) await pending;
      stream.confirm();
    }
  }

  /** @param {Buffer} message @param {ReplicationStream} stream @returns {PromiseLike<void> | undefined} */
  #receive(message, stream) {
    if (message[0] !== KEEPALIVE) return this.#teller.receive(message);
    this.#progress.passed(message.readBigUInt64BE(LSN_AT));
    if (message[WANTS_REPLY_AT] === 1) stream.report();
    return undefined;
  }
}

/**
 * @param {Session} session
 * @param {() => unknown} [connect]
 * @returns {Promise<boolean>} false: the slot is in use, or there is no server
 */
async function dropUnusedSlot(session, connect) {
  const limit = new TimeLimit(FINISH_MILLIS, () => session.destroy());
  try {
    await connect?.();
    await session.dropUnusedSlot();
    return true;
  } catch {
    return false;
  } finally {
    limit.cancel();
  }
}

module.exports = { Run };
