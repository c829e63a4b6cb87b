'use strict';

// The statement of a lease that floats: it is in flight somewhere among the queries of the pool. Never two at a time,
// since they might overtake each other. Owned by lease-connection.js.

const { DatabaseError, QUERY_CANCELED } = require('../base');
const { binding } = require('../native');

/** @typedef {import('../query').Query} Query */

class Float {
  /** @type {Query | undefined} */
  query = undefined;
  /** Resolves when the server is done with the write that was given up. @type {Promise<void> | undefined} */
  #givenUp = undefined;

  /** @param {Query} query @param {() => void} onDone nothing that the client sends can overtake it any more */
  begin(query, onDone) {
    this.query = query;
    const done = () => {
      this.query = undefined;
      this.#givenUp = undefined;
      onDone();
    };
    query.onceSettled(() => {
      if (this.#givenUp === undefined) done();
      else this.#givenUp.then(done);
    });
  }

  /**
   * What the server says beside its answer is for who listens to the lease, and not for neighbours.
   * @param {Query} query
   * @param {import('../client').ClientEvents} events of the lease's client
   */
  hear(query, events) {
    if (!binding.placesNotices) return;
    // Also of one who begins to listen before the answer is there.
    query.noticeTaker = events;
    // In a group it would not be known of which member it speaks.
    if (events.face.listenerCount('notice') > 0) query.syncGroup = 'off';
  }

  /** Its caller waits no longer. A write that was sent may still be done: what the client sends next must not overtake it. */
  giveUp() {
    const { query } = this;
    if (query === undefined || query.isSettled) return;
    const { info, connection } = query;
    if (!info.isWrite || connection === undefined) return;
    // Behind it in the pipeline; a connection that its pool has left takes nothing more.
    const done = connection.state === 'ready' ? connection.ask('') : connection.whenQuiet();
    this.#givenUp = done.then(ignore, ignore);
  }
}

function ignore() {}

/** What the server would say: its signal would hit neighbours. */
function canceledError() {
  return new DatabaseError({
    S: 'ERROR',
    V: 'ERROR',
    C: QUERY_CANCELED,
    M: 'canceling statement due to user request',
  });
}

module.exports = { canceledError, Float };
