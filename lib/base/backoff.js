'use strict';

// When the next attempt to connect may start, after others have failed: later
// each time, up to a limit, with jitter so that many processes do not come
// back at once. Used by pool/connections.js, pool/listener.js and replication/subscription.js.

const FIRST_MILLIS = 50;
const MAX_MILLIS = 1000;

class Backoff {
  #failures = 0;
  #nextAt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  /** @type {Error | undefined} */
  #lastError = undefined;
  #failedAt = 0;

  /** Whether the last attempt failed. */
  get isActive() {
    return this.#failures > 0;
  }

  /** Whether an attempt may start now. */
  get isOver() {
    return performance.now() >= this.#nextAt;
  }

  succeeded() {
    this.#failures = 0;
    this.#nextAt = 0;
    this.#lastError = undefined;
  }

  /**
   * @param {Error} error
   * @param {boolean} [mayGrow] whether somebody waits patiently: who is told of each failure is to be told of the next
   *   one soon
   */
  failed(error, mayGrow = true) {
    const millis = mayGrow
      ? Math.min(FIRST_MILLIS * 2 ** this.#failures, MAX_MILLIS)
      : FIRST_MILLIS;
    ++this.#failures;
    this.#lastError = error;
    this.#failedAt = performance.now();
    this.#nextAt = this.#failedAt + millis * (0.5 + 0.5 * Math.random());
  }

  /**
   * Why the attempts of a wait that is over failed. A failure from before that wait counts only if the
   * pause after it reached into the wait.
   * @param {number} millis how long the wait was
   * @returns {Error | undefined}
   */
  reasonWithin(millis) {
    const isOld = performance.now() - this.#failedAt > millis + MAX_MILLIS;
    return isOld ? undefined : this.#lastError;
  }

  /** @param {() => void} callback runs once, when an attempt may start */
  whenOver(callback) {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        callback();
      },
      Math.max(1, this.#nextAt - performance.now()),
    );
  }

  /** @param {boolean} ref whether what waits keeps the process alive, which is the default */
  setLoopRef(ref) {
    if (ref) this.#timer?.ref();
    else this.#timer?.unref();
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

module.exports = { Backoff };
