'use strict';

// Limits a wait for the server. When the event loop was blocked, all timers that have expired fire
// before anything is read, although an answer may have arrived meanwhile. So a limit that fires
// first lets the loop read. Used by all that waits for a server.

/** A limit that fires late gives the loop as much time to catch up, but not more than this. */
const MAX_GRACE_MILLIS = 1000;
/** The longest delay that setTimeout takes. */
const MAX_MILLIS = 2 ** 31 - 1;

class TimeLimit {
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {NodeJS.Immediate | undefined} */
  #turn = undefined;
  #isRef = true;

  /**
   * @param {number} millis
   * @param {() => void} onOver called once, unless cancel() is called before
   */
  constructor(millis, onOver) {
    const dueAt = performance.now() + Math.min(millis, MAX_MILLIS);
    // The event loop reads between timers and immediates.
    const afterReading = () => {
      this.#turn = setImmediate(onOver);
    };
    this.#timer = setTimeout(
      () => {
        const lateMillis = performance.now() - dueAt;
        // What needs several turns, such as a large answer or a handshake, gets them.
        const graceMillis = Math.min(lateMillis, MAX_GRACE_MILLIS);
        if (graceMillis < 1) afterReading();
        else this.#timer = setTimeout(afterReading, graceMillis);
        if (!this.#isRef) this.#timer?.unref();
      },
      Math.min(millis, MAX_MILLIS),
    );
  }

  /**
   * Does not keep the process alive. The immediate still does: the loop would sleep in spite of an
   * unreferenced one.
   */
  unref() {
    this.#isRef = false;
    this.#timer?.unref();
    return this;
  }

  cancel() {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }
}

module.exports = { TimeLimit };
