'use strict';

// One process or worker thread of several that an arm has: callers with one session of its driver. Started by members.js
// with its job as JSON, then told by messages what its callers do.

const { setTimeout: delay } = require('node:timers/promises');
const { isMainThread, parentPort } = require('node:worker_threads');
const { getDriver } = require('../drivers');
const { sendBody } = require('../http/answering-server');
const { Server } = require('../http/server');
const { newRandom, startMeters } = require('../measure');
const { selectPoint } = require('../workloads/point-select');

/**
 * @typedef {object} Job
 * @property {string} driver
 * @property {import('.').Target} target
 * @property {Partial<import('../drivers').ConnectChoices> & { max: number }} choices
 * @property {number} [callers]
 * @property {number} [slowMillis] what a slow statement takes at the server
 *
 * `work`: for a time each caller makes one query after the other, after thinking for so long on average, and so many of
 * them slow. `burst`: each makes one query, at once. `serve`: an HTTP server is started. `begin`: until `stop` the CPU is
 * counted.
 * @typedef {{ what: 'work', millis: number, thinkMillis: number, slowPart: number }} Work
 * @typedef {Work | { what: 'burst' | 'serve' | 'begin' | 'stop' | 'end' }} Order
 *
 * @typedef {object} Answer
 * @property {number} operations
 * @property {number} seconds
 * @property {number} cpuMicros of the process, all threads
 * @property {number[]} [samples] milliseconds of each query that is not slow
 * @property {string} [url]
 * @property {string} [error]
 */

const SLEEP = 'select pg_sleep($1)::text';
/** @type {Answer} */
const NOTHING = { operations: 0, seconds: 0, cpuMicros: 0 };
const random = newRandom(17);

/** @param {Answer} answer */
function send(answer) {
  if (isMainThread) process.send?.(answer);
  else parentPort?.postMessage(answer);
}

/** The routes of W5, and one whose statement is slow. */
class MemberServer extends Server {
  #sleep;

  /**
   * @param {import('../drivers').Session} session
   * @param {() => Promise<unknown>} sleep
   */
  constructor(session, sleep) {
    super(session);
    this.#sleep = sleep;
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async answer(request, response) {
    if (request.url !== '/slow') {
      await super.answer(request, response);
      return;
    }
    await this.#sleep();
    sendBody(response, '{}', 'application/json');
  }
}

class Member {
  #session;
  #job;
  /** @type {MemberServer | undefined} */
  #server;
  #stop = startMeters();

  /** @param {import('../drivers').Session} session @param {Job} job */
  constructor(session, job) {
    this.#session = session;
    this.#job = job;
  }

  /** @param {Order} order @returns {Promise<Answer>} */
  async obey(order) {
    switch (order.what) {
      case 'serve':
        this.#server = new MemberServer(this.#session, () => this.#sleep());
        await this.#server.start();
        return { ...NOTHING, url: this.#server.url };
      case 'begin':
        this.#stop = startMeters();
        return NOTHING;
      case 'stop':
        if (this.#server?.error) throw this.#server.error;
        return { operations: 0, ...this.#stop() };
      case 'work':
        return this.#measure((callers, read) =>
          work(callers, order, (isSlow) => (isSlow ? this.#sleep() : read())),
        );
      case 'burst':
        return this.#measure(async (callers, read) => {
          await Promise.all(Array.from({ length: callers }, read));
          return callers;
        });
      default:
        throw new Error(`Nobody has taught it to ${order.what}`);
    }
  }

  #sleep() {
    return this.#session.query(SLEEP, [Number(this.#job.slowMillis) / 1000]);
  }

  /**
   * @param {(callers: number, read: () => Promise<void>) => Promise<number>} use
   * @returns {Promise<Answer>}
   */
  async #measure(use) {
    /** @type {number[]} */
    const samples = [];
    const read = async () => {
      const start = performance.now();
      await selectPoint(this.#session, random);
      samples.push(performance.now() - start);
    };
    const stop = startMeters();
    const operations = await use(Number(this.#job.callers), read);
    return { operations, ...stop(), samples };
  }
}

/**
 * @param {number} callers
 * @param {Work} order
 * @param {(isSlow: boolean) => Promise<unknown>} query
 */
async function work(callers, { millis, thinkMillis, slowPart }, query) {
  let operations = 0;
  let isOver = false;
  const over = delay(millis).then(() => (isOver = true));
  const call = async () => {
    while (!isOver) {
      if (thinkMillis > 0) await Promise.race([delay(2 * random() * thinkMillis), over]);
      if (isOver) return;
      await query(random() < slowPart);
      operations++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return operations;
}

/** @param {Job} job */
async function main(job) {
  const driver = getDriver(job.driver);
  driver.load();
  const session = await driver.connect({ ...job.target, ...job.choices });
  const member = new Member(session, job);
  const listen = async (/** @type {Order} */ order) => {
    if (order.what !== 'end') {
      await member.obey(order).then(send, fail);
      return;
    }
    await session.end();
    // A thread ends by itself, a process has a channel and perhaps a server.
    if (isMainThread) process.exit();
    parentPort?.close();
  };
  if (isMainThread) process.on('message', listen);
  else parentPort?.on('message', listen);
  send(NOTHING);
}

/** @param {unknown} error */
function fail(error) {
  send({ ...NOTHING, error: error instanceof Error ? error.message : String(error) });
}

if (isMainThread) process.on('disconnect', () => process.exit());
main(JSON.parse(process.argv[2])).catch(fail);
