'use strict';

// One direction of a connection through a proxy. It passes bytes on as the fields of the proxy say:
// late, in small pieces, slowly, not at all, or up to a certain one. It stops reading when too much
// waits, as a real network does. Made by proxy.js.

const { once } = require('node:events');
const { setImmediate: nextTurn, setTimeout: delay } = require('node:timers/promises');

/** So much may wait for its time; then nothing more is read. */
const MAX_WAITING_BYTES = 1 << 18;
/** Of a throttled second. */
const STEPS = 50;

class Lane {
  #proxy;
  #from;
  #to;
  /** How many bytes may still pass. */
  #left;
  #onCut;
  /** @type {{ bytes: Buffer | undefined, dueAt: number }[]} without bytes: the end */
  #waiting = [];
  #waitingBytes = 0;
  #isRunning = false;
  #over = new AbortController();

  /**
   * @param {import('./proxy').Proxy} proxy
   * @param {import('node:net').Socket} from
   * @param {import('node:net').Socket} to
   * @param {number} left how many bytes may pass
   * @param {() => void} onCut is called when they have
   */
  constructor(proxy, from, to, left, onCut) {
    this.#proxy = proxy;
    this.#from = from;
    this.#to = to;
    this.#left = left;
    this.#onCut = onCut;
  }

  /** @param {Buffer} bytes */
  take(bytes) {
    for (let at = 0; at < bytes.length && !this.#isOver;) {
      const end = Math.min(at + this.#proxy.pieceBytes, bytes.length);
      this.#push(bytes.subarray(at, end));
      at = end;
    }
  }

  /** Nothing else comes; what waits still passes, then the end does. */
  finish() {
    if (!this.#isOver) this.#push(undefined);
  }

  /** Nothing passes any more; what comes is lost. */
  stop() {
    this.#over.abort();
    this.#waiting = [];
    this.#from.resume();
  }

  get #isOver() {
    return this.#over.signal.aborted;
  }

  /** @param {Buffer | undefined} bytes */
  #push(bytes) {
    const { delayMillis, jitterMillis, random } = this.#proxy;
    const dueAt = performance.now() + delayMillis + jitterMillis * random();
    this.#waiting.push({ bytes, dueAt: Math.max(dueAt, this.#waiting.at(-1)?.dueAt ?? 0) });
    this.#waitingBytes += bytes?.length ?? 0;
    if (this.#proxy.isHeld || this.#waitingBytes > MAX_WAITING_BYTES) this.#from.pause();
    if (!this.#isRunning) this.#run();
  }

  async #run() {
    this.#isRunning = true;
    try {
      while (this.#waiting.length > 0 && !this.#isOver) await this.#passNext();
    } catch (error) {
      // Whoever it passes them to has closed the connection.
      if (!this.#isOver && !this.#to.destroyed) throw error;
    }
    this.#isRunning = false;
  }

  async #passNext() {
    const { signal } = this.#over;
    const [{ bytes, dueAt }] = this.#waiting;
    const millis = dueAt - performance.now();
    if (millis > 0) await delay(millis, undefined, { signal });
    for (let at = 0; at < (bytes?.length ?? 0);) {
      if (this.#proxy.isHeld) await this.#proxy.whenReleased(signal);
      const { bytesPerSecond, pieceBytes } = this.#proxy;
      const step = Math.max(1, Math.floor(bytesPerSecond / STEPS));
      const piece = bytes.subarray(at, at + Math.min(step, this.#left));
      if (bytesPerSecond < Infinity) {
        await delay((1000 * piece.length) / bytesPerSecond, undefined, { signal });
      }
      at += piece.length;
      await this.#pass(piece, pieceBytes < Infinity);
      if (this.#isOver) return;
    }
    if (this.#isOver) return;
    this.#waiting.shift();
    this.#waitingBytes -= bytes?.length ?? 0;
    if (bytes === undefined) this.#to.end();
    if (this.#waitingBytes <= MAX_WAITING_BYTES && !this.#proxy.isHeld) this.#from.resume();
  }

  /** @param {Buffer} piece @param {boolean} isAlone to be read before the next one is written */
  async #pass(piece, isAlone) {
    const { signal } = this.#over;
    if (isAlone) await nextTurn(undefined, { signal });
    this.#left -= piece.length;
    if (this.#left === 0) {
      this.#to.write(piece, () => this.#onCut());
      await once(signal, 'abort');
    } else if (!this.#to.write(piece)) {
      await once(this.#to, 'drain', { signal });
    }
  }
}

module.exports = { Lane };
