'use strict';

// Processes that are all there and of which one works at a time, each for a moment: so what the machine does to one of them,
// it does to all, where whole minutes are faster or slower than others. Used by rounds.js; children.js and c/measured.js bring
// the processes. A process of JavaScript finishes what it has in flight, and waits (turn-clock.js): one that is stopped would see
// answers that take very long, from which a driver may learn. A program of another language is stopped by a signal.

const { setTimeout: delay } = require('node:timers/promises');

/** Long beside what it takes to finish what is in flight, and short beside the machine's moods. */
const TURN_MILLIS = 200;

/** Windows cannot stop a process. */
const CAN_STOP = process.platform !== 'win32';

/**
 * @typedef {import('node:child_process').ChildProcess} ChildProcess
 * @typedef {{ resume: () => void, pause: () => Promise<void> | void }} Member
 */

class Turns {
  /** @type {Member[]} that have not ended */
  #members = [];
  /** @type {Map<number | undefined, [from: number, to: number][]>} of programs, by pid: in ms since 1970 */
  #times = new Map();
  #isOver = false;
  #running;
  /** Nobody is left stopped, whatever ends this process. */
  #release = () => this.#members.forEach(({ resume }) => resume());

  /** @param {number} count how many processes there are at most: what takes a second of them takes so many by the clock */
  constructor(count) {
    this.count = count;
    process.on('exit', this.#release);
    this.#running = this.#run();
  }

  /** @param {ChildProcess} child with the clock of turn-clock.js, which waits until it is told to go on */
  enter(child) {
    this.#enter(child, {
      resume: () => send(child, true),
      pause: () =>
        new Promise((resolve) => {
          const onMessage = (/** @type {import('./child').Message} */ message) => {
            if (message.hasPaused) done();
          };
          const done = () => {
            child.off('message', onMessage);
            child.off('exit', done);
            resolve();
          };
          child.on('message', onMessage);
          child.on('exit', done);
          if (child.exitCode !== null || child.signalCode !== null) done();
          else send(child, false);
        }),
    });
  }

  /** @param {ChildProcess} child that knows nothing of turns */
  enterProgram(child) {
    const { pid } = child;
    if (pid === undefined) return; // it could not be started, of which others hear
    /** @type {[number, number][]} */
    const times = [];
    this.#times.set(pid, times);
    signal(pid, 'SIGSTOP');
    this.#enter(child, {
      resume() {
        times.push([now(), Infinity]);
        signal(pid, 'SIGCONT');
      },
      pause() {
        signal(pid, 'SIGSTOP');
        const last = times.at(-1);
        if (last) last[1] = now();
      },
    });
  }

  /**
   * What a program says of itself is by the clock, which goes on while it is stopped.
   * @param {ChildProcess} child
   * @param {import('./measure').Measurement} measurement
   * @returns {import('./measure').Measurement} with the seconds in which it ran
   */
  correct(child, measurement) {
    const { beganAt = NaN, seconds } = measurement;
    const endedAt = beganAt + 1000 * seconds;
    let millis = 0;
    for (const [from, to] of this.#times.get(child.pid) ?? []) {
      millis += Math.max(0, Math.min(to, endedAt) - Math.max(from, beganAt));
    }
    return { ...measurement, seconds: millis / 1000 };
  }

  /** When all processes have ended. */
  async end() {
    this.#isOver = true;
    await this.#running;
    process.off('exit', this.#release);
  }

  /** @param {ChildProcess} child @param {Member} member */
  #enter(child, member) {
    this.#members.push(member);
    child.once('exit', () => {
      this.#members = this.#members.filter((one) => one !== member);
    });
  }

  async #run() {
    /** @type {Member | undefined} whose turn it is */
    let current;
    for (let turn = 0; !this.#isOver; ++turn) {
      const next = this.#members[turn % this.#members.length];
      if (next !== current) {
        // The number of one that has ended may belong to somebody else by now.
        if (current && this.#members.includes(current)) await current.pause();
        next?.resume();
        current = next;
      }
      await delay(next ? TURN_MILLIS : 1);
    }
  }
}

/** @param {ChildProcess} child @param {boolean} isTurn */
function send(child, isTurn) {
  if (child.connected) child.send({ isTurn }, () => {}); // one that ends just now hears nothing more
}

/** @param {number} pid @param {'SIGCONT' | 'SIGSTOP'} name */
function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

function now() {
  return performance.timeOrigin + performance.now();
}

module.exports = { CAN_STOP, Turns };
