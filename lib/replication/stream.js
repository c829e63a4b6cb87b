'use strict';

// The messages of one connection behind START_REPLICATION: keeps those that were not taken yet, stops the server while
// there are too many, tells it what is confirmed, and notices when it is silent. Made by session.js, read by
// subscription.js.

const { ConnectionError, Deferred } = require('../base');
const { connectionOf } = require('../client');
const { StreamEnd } = require('./errors');

/** The server is stopped when so much waits to be taken, and goes on when half of it is left. */
const MAX_WAITING_BYTES = 1 << 20;
/** What a message costs beside its bytes. */
const MESSAGE_COST = 100;
/** Places of messages that were taken are given up when there are more, and as many as half of all. */
const MIN_DROPPED = 1000;
/** Between two reports; and while changes come one after the other. */
const MAX_REPORT_MILLIS = 10_000;
const BUSY_REPORT_MILLIS = 1000;
/** Taken for wal_sender_timeout where that is 0: none. */
const DEFAULT_TIMEOUT_MILLIS = 60_000;
const FINISH_MILLIS = 5000;

const KEEPALIVE = 'k'.charCodeAt(0);
const WAL_END_AT = 1;
const REPLY_AT = 17;

/** Standby status update: kind, three positions, a time, and whether an answer is wanted. */
const STATUS_BYTES = 34;
const EPOCH_MICROS = 946_684_800_000_000n;
const MICROS = 1000n;

class ReplicationStream {
  #client;
  #connection;
  #confirmed;
  #timeoutMillis;
  /** @type {(Buffer | undefined)[]} */
  #waiting = [];
  /** Where the first one is that was not taken. */
  #next = 0;
  #waitingBytes = 0;
  #isPaused = false;
  #isFinishing = false;
  /** @type {StreamEnd | undefined} */
  #end = undefined;
  /** @type {(() => void) | undefined} */
  #wake = undefined;
  /** Whether the server has taken the end of it. @type {Promise<boolean>} */
  #query = Promise.resolve(false);
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  #received = 0n;
  #reported = 0n;
  #reportedAt = performance.now();
  #heardAt = performance.now();
  #askedAt = 0;

  /**
   * @param {import('../client').Client} client that is connected
   * @param {() => bigint} confirmed
   * @param {number} timeoutMillis wal_sender_timeout
   */
  constructor(client, confirmed, timeoutMillis) {
    this.#client = client;
    this.#connection = connectionOf(client);
    this.#confirmed = confirmed;
    this.#timeoutMillis = timeoutMillis || DEFAULT_TIMEOUT_MILLIS;
  }

  /** @param {string} command START_REPLICATION @returns {Promise<void>} when it has begun */
  start(command) {
    /** @type {Deferred<void>} */
    const begun = new Deferred();
    const { replication } = this.#connection;
    /** @type {any} */ (replication).reader = {
      onStart: () => {
        this.#watch();
        begun.resolve();
      },
      onMessage: (/** @type {Buffer} */ message) => this.#onMessage(message),
    };
    this.#query = /** @type {Promise<unknown>} */ (this.#client.query(command)).then(
      () => {
        const ended = new ConnectionError('the server has ended the replication');
        this.#onEnd(ended);
        begun.reject(ended);
        return true;
      },
      (error) => {
        this.#onEnd(error);
        begun.reject(error);
        return false;
      },
    );
    return begun.promise;
  }

  #watch() {
    const millis = Math.min(MAX_REPORT_MILLIS, this.#timeoutMillis / 3);
    this.#timer = setInterval(() => this.#look(), millis).unref();
  }

  /** Reports, so that the server does not take this side for dead; and asks if nothing was heard for long. */
  #look() {
    const now = performance.now();
    const isSilent = !this.#isPaused && now - this.#heardAt > this.#timeoutMillis / 2;
    if (!isSilent) {
      this.report();
    } else if (this.#askedAt <= this.#heardAt) {
      this.#askedAt = now;
      this.report(true);
    } else if (now - this.#askedAt > this.#timeoutMillis / 2) {
      this.#onEnd(
        new ConnectionError('Connection terminated unexpectedly', {
          code: 'ETIMEDOUT',
          detail: `the server has sent nothing for ${Math.round(now - this.#heardAt)} ms`,
        }),
      );
      this.destroy();
    }
  }

  /** @param {Buffer} message */
  #onMessage(message) {
    this.#heardAt = performance.now();
    if (this.#isFinishing) return;
    this.#waiting.push(message);
    this.#waitingBytes += message.length + MESSAGE_COST;
    if (message[0] === KEEPALIVE && message[REPLY_AT] === 1 && this.#wake === undefined) {
      // Whoever reads the messages is busy, and comes to this one later.
      this.report();
    }
    if (!this.#isPaused && this.#waitingBytes > MAX_WAITING_BYTES) this.#setPaused(true);
    this.#wake?.();
  }

  /** @param {boolean} isPaused */
  #setPaused(isPaused) {
    this.#isPaused = isPaused;
    this.#heardAt = performance.now();
    this.#connection.setReading(!isPaused);
  }

  /** @param {Error} error */
  #onEnd(error) {
    clearInterval(this.#timer);
    this.#end ??= new StreamEnd(error);
    this.#wake?.();
  }

  /** @returns {Buffer | undefined} the next message, if one is there */
  take() {
    if (this.#next === this.#waiting.length) return undefined;
    const message = /** @type {Buffer} */ (this.#waiting[this.#next]);
    // Where the reader never comes to the end, what was taken must go as well.
    this.#waiting[this.#next++] = undefined;
    this.#received = message.readBigUInt64BE(WAL_END_AT);
    this.#waitingBytes -= message.length + MESSAGE_COST;
    const { length } = this.#waiting;
    if (this.#next === length || (this.#next > MIN_DROPPED && this.#next > length / 2)) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    if (this.#isPaused && this.#waitingBytes < MAX_WAITING_BYTES / 2) this.#setPaused(false);
    return message;
  }

  get hasMore() {
    return this.#next < this.#waiting.length;
  }

  /** @returns {Promise<void>} when there may be a message, or wake() was called @throws {StreamEnd} */
  async whenReadable() {
    if (this.#end !== undefined) throw this.#end;
    await new Promise((resolve) => {
      this.#wake = () => resolve(undefined);
    });
    this.#wake = undefined;
  }

  wake() {
    this.#wake?.();
  }

  /** Reports the position, if it has changed: at once, or while changes come without a break, now and then. */
  confirm() {
    if (this.#confirmed() === this.#reported) return;
    if (this.hasMore && performance.now() - this.#reportedAt < BUSY_REPORT_MILLIS) return;
    this.report();
  }

  /** @param {boolean} [asksForReply] */
  report(asksForReply = false) {
    if (this.#end !== undefined) return;
    const position = this.#confirmed();
    this.#reported = position;
    this.#reportedAt = performance.now();
    const status = Buffer.alloc(STATUS_BYTES);
    status.write('r');
    status.writeBigUInt64BE(this.#received > position ? this.#received : position, 1);
    status.writeBigUInt64BE(position, 9);
    status.writeBigUInt64BE(position, 17);
    status.writeBigInt64BE(BigInt(Date.now()) * MICROS - EPOCH_MICROS, 25);
    status[33] = asksForReply ? 1 : 0;
    this.#connection.putCopyData(status);
  }

  /** Reports for the last time, and closes the connection once the server has taken it. @throws {StreamEnd} it has not */
  async finish() {
    this.report();
    clearInterval(this.#timer);
    // What still comes is dropped.
    this.#isFinishing = true;
    this.#connection.setReading(true);
    if (this.#end !== undefined) throw this.#end;
    this.#connection.endCopy();
    const timer = setTimeout(() => this.destroy(), FINISH_MILLIS);
    const isTaken = await this.#query;
    clearTimeout(timer);
    if (!isTaken) throw /** @type {StreamEnd} */ (/** @type {unknown} */ (this.#end));
    await this.#client.end();
  }

  destroy() {
    clearInterval(this.#timer);
    this.#connection.destroy();
  }
}

module.exports = { ReplicationStream };
