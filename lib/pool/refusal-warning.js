'use strict';

// Says that a pool cannot have the connections that it may have, while others wait for those that are there,
// without a limit. Owned by dispatcher.js.

/** Shorter waits are no trouble. */
const PATIENCE_MILLIS = 1000;

class RefusalWarning {
  /** Once for each time that the server begins to refuse. */
  #isTold = false;

  /** A connection was made. */
  over() {
    this.#isTold = false;
  }

  /**
   * @param {any} reason why a connection could not be made
   * @param {import('../options').Settings} settings
   * @param {import('./waiting-room').WaitingRoom} waiting
   * @param {import('./connections').PoolConnections} connections
   */
  tell(reason, { connectionTimeoutMillis, max }, { oldestSince, length }, { connectedCount }) {
    if (this.#isTold || connectionTimeoutMillis > 0) return;
    if (performance.now() - oldestSince < PATIENCE_MILLIS) return;
    this.#isTold = true;
    const { message, code, hint } = reason;
    const why = code === undefined || message.includes(code) ? message : `${message} (${code})`;
    const limit =
      'Without connectionTimeoutMillis they wait for as long as others keep their connections.';
    process.emitWarning(
      `a pool can make no further connection: ${why}. It has ${connectedCount} of at most ${max}, and ` +
        `callers wait for one: ${length}`,
      {
        type: 'PoolRefusedWarning',
        code: 'PG_CONDUIT_POOL_REFUSED',
        detail: hint === undefined ? limit : `${limit}\nHint: ${hint}`,
      },
    );
  }
}

module.exports = { RefusalWarning };
