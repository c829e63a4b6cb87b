'use strict';

// Emits what a connection reports to its owner as events of the client, in the shape of `pg`:
// 'error', 'end', 'notice', 'notification' and 'drain'. Owned by client.js.

const { callApart, messageLength, nameFields } = require('../base');

/**
 * @typedef {import('./client').Client} Client
 *
 * What is asked of a client: functions that all clients have in common, since one is made for each checkout of a lease.
 * @typedef {object} Asked
 * @property {(client: Client) => boolean} isIdle whether nothing is in flight
 * @property {(face: Client) => InstanceType<typeof import('../pg').PgConnection> | undefined} shownBy its `connection`, if it was
 *   ever asked for
 *
 * What the clients of one pool have in common; it is under POOL in their config.
 * @typedef {object} PoolSide
 * @property {import('../options').Settings} settings
 * @property {import('../statements').StatementRegistry} registry
 * @property {(work: import('../query').Query | import('../query').Batch) => boolean} [onUnsent]
 * @property {() => void} [onSettled]
 * @property {() => void} [onReadOnly]
 * @property {(error: Error) => void} [onLost]
 * @property {() => void} [onClosed]
 * @property {(events: ClientEvents) => any} [makeConnection] what a lease has in the place of a Connection
 */

/**
 * The length of a NotificationResponse: length field, process id, and a terminator behind each
 * text.
 * @param {{ channel: string, payload: string }} message
 * @returns {number} bytes, without the message type
 */
function notificationLength({ channel, payload }) {
  return 4 + 4 + Buffer.byteLength(channel) + 1 + Buffer.byteLength(payload) + 1;
}

/** The owner of a client's connection. */
class ClientEvents {
  /** Whose events they are: while a lease is pinned to the connection, those of the lease. @type {Client} */
  face;
  #client;
  #pool;
  #asked;
  #drainPending = false;

  /**
   * @param {Client} client
   * @param {PoolSide | undefined} pool is told first
   * @param {Asked} asked
   */
  constructor(client, pool, asked) {
    this.face = client;
    this.#client = client;
    this.#pool = pool;
    this.#asked = asked;
  }

  /**
   * Emits outside of the delivery that the event comes from, which a listener that throws must not
   * end; and before the promises that are settled in it.
   * @param {string} event
   * @param {any} [argument]
   */
  #emitSoon(event, argument) {
    const { face } = this;
    const shown = this.#asked.shownBy(face);
    process.nextTick(() => {
      if (shown !== undefined) callApart(() => shown.tell(event, argument));
      // Without a listener an error would end the process; the queries have been rejected already.
      if (event !== 'error' || face.listenerCount('error') > 0) face.emit(event, argument);
    });
  }

  get #isIdle() {
    return this.#asked.isIdle(this.#client);
  }

  /** The lease that was pinned to the connection has ended. */
  dropFace() {
    this.face = this.#client;
  }

  /** @param {import('../query').Query | import('../query').Batch} work */
  onUnsent(work) {
    return this.#pool?.onUnsent?.(work) ?? false;
  }

  onSettled() {
    this.#pool?.onSettled?.();
    // Whoever has sent this may have released the connection by then, and somebody else may have it.
    const { face } = this;
    const shown = this.#asked.shownBy(face);
    if (shown?.isWatched) process.nextTick(() => shown.tellReady());
    if (this.#drainPending || !this.#isIdle || face.listenerCount('drain') === 0) return;
    this.#drainPending = true;
    setImmediate(() => {
      this.#drainPending = false;
      if (this.#isIdle) face.emit('drain');
    });
  }

  onReadOnly() {
    this.#pool?.onReadOnly?.();
  }

  /** @param {Error} error */
  onLost(error) {
    this.#pool?.onLost?.(error);
    this.#emitSoon('error', error);
  }

  onClosed() {
    this.#pool?.onClosed?.();
    this.#emitSoon('end');
  }

  /** @param {Readonly<Record<string, string>>} fields */
  onNotice(fields) {
    const length = messageLength(fields);
    this.#emitSoon('notice', { name: 'notice', length, message: fields.M, ...nameFields(fields) });
  }

  /** @param {{ processId: number, channel: string, payload: string }} message */
  onNotification(message) {
    const length = notificationLength(message);
    this.#emitSoon('notification', { name: 'notification', length, ...message });
  }
}

module.exports = { ClientEvents };
