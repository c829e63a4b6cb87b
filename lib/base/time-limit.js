'use strict';

// When a wait for the server is over. Node's timers fire before anything is read, all those that have
// run out while the event loop was blocked; but what has arrived meanwhile is no longer waited for. So
// a limit that fires first lets the loop read. Used by whoever waits for a server.

/** What a limit is late by is given to the loop for catching up, but not more. */
const MAX_GRACE_MILLIS = 1000;
/** Delays that setTimeout takes. */
const MAX_MILLIS = 2 ** 31 - 1;

class TimeLimit {
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {NodeJS.Immediate | undefined} */
  #turn = undefined;
  #isRef = true;

  /**
   * @param {number} millis
   * @param {() => void} onOver is called once, unless cancel() is called before
   */
  constructor(millis, onOver) {
    const dueAt = performance.now() + Math.min(millis, MAX_MILLIS);
    // The loop reads between the timers and this.
    const afterReading = () => {
      this.#turn = setImmediate(onOver);
    };
    this.#timer = setTimeout(
      () => {
        const lateMillis = performance.now() - dueAt;
        // What needs several turns, a large answer or a handshake, shall have them.
        const graceMillis = Math.min(lateMillis, MAX_GRACE_MILLIS);
        if (graceMillis < 1) afterReading();
        else this.#timer = setTimeout(afterReading, graceMillis);
        if (!this.#isRef) this.#timer?.unref();
      },
      Math.min(millis, MAX_MILLIS),
    );
  }

  /**
   * It does not keep the process alive. The immediate does, since the loop would sleep on one that does not.
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
