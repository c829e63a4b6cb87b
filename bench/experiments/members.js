'use strict';

// Several processes or worker threads of one arm, each with connections of its own, which all get the same order at the
// same time. Used by the experiments many-processes and fleet, in the arm's process; member.js is one of them.

const { fork } = require('node:child_process');
const cluster = require('node:cluster');
const { once } = require('node:events');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { percentiles, startMeters } = require('../measure');
const { nameConnections, readBackends, untilOthersHaveGone } = require('./backends');

const SCRIPT = path.join(__dirname, 'member.js');

/**
 * @typedef {import('./member').Order} Order
 * @typedef {import('./member').Answer} Answer
 * @typedef {import('./member').Job} Job
 * @typedef {'processes' | 'cluster' | 'threads'} Kind those of a cluster share a port
 * @typedef {import('node:events').EventEmitter & { send?: any, postMessage?: any }} Member
 */

/** @type {Record<Kind, (job: string) => Member>} */
const START = {
  processes: (job) => fork(SCRIPT, [job], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  cluster(job) {
    cluster.setupPrimary({ exec: SCRIPT, args: [job] });
    return cluster.fork();
  },
  threads: (job) => new Worker(SCRIPT, { argv: [job], env: process.env }),
};

class Members {
  #all;
  #exits;
  #kind;
  #ended = false;

  /** @param {Member[]} all @param {Kind} kind */
  constructor(all, kind) {
    this.#all = all;
    this.#kind = kind;
    this.#exits = all.map(async (member) => {
      await once(member, 'exit');
      if (!this.#ended) throw new Error('one of the processes or threads has ended');
    });
    for (const exit of this.#exits) exit.catch(() => undefined); // whoever waits hears of it
  }

  /**
   * @param {number} count
   * @param {Job} job
   * @param {Kind} kind
   */
  static async start(count, job, kind) {
    const words = JSON.stringify(job);
    const members = new Members(
      Array.from({ length: count }, () => START[kind](words)),
      kind,
    );
    await members.#collect(() => {});
    return members;
  }

  /**
   * They take one order at a time.
   * @param {Order} order
   */
  ask(order) {
    return this.#collect((member) => this.#tell(member, order));
  }

  /**
   * What all do together.
   * @param {Order} order
   * @returns {Promise<import('../measure').Measurement>}
   */
  async measure(order) {
    const stop = startMeters();
    const answers = await this.ask(order);
    const { cpuMicros } = stop();
    const samples = answers.flatMap((answer) => answer.samples ?? []);
    return {
      operations: sum(answers, ({ operations }) => operations),
      seconds: Math.max(...answers.map(({ seconds }) => seconds)),
      // That of a process is that of all its threads.
      cpuMicros: this.#kind === 'threads' ? cpuMicros : sum(answers, (answer) => answer.cpuMicros),
      ...(samples.length > 0 && percentiles(samples)),
    };
  }

  async end() {
    this.#ended = true;
    for (const member of this.#all) this.#tell(member, { what: 'end' });
    await Promise.all(this.#exits);
  }

  /** @param {Member} member @param {Order} order */
  #tell(member, order) {
    if (this.#kind === 'threads') member.postMessage(order);
    else member.send(order);
  }

  /**
   * @param {(member: Member) => void} begin
   * @returns {Promise<Answer[]>} from each one
   */
  async #collect(begin) {
    const all = this.#all.map(async (member) => {
      const answered = once(member, 'message');
      begin(member);
      /** @type {Answer[]} */
      const [answer] = await answered;
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer;
    });
    return Promise.race([Promise.all(all), ...this.#exits]).then((answers) => answers ?? []);
  }
}

/** @param {Answer[]} answers @param {(answer: Answer) => number} read */
function sum(answers, read) {
  return answers.reduce((total, answer) => total + read(answer), 0);
}

/**
 * What members do, and what they are at the server meanwhile.
 * @param {{ count: number, kind: Kind, job: Job, server: import('.').Target, poolers?: number[] }} which `poolers`
 *   are processes whose memory counts too
 * @param {(members: Members) => Promise<import('../measure').Measurement>} measure
 */
async function withMembers({ count, kind, job, server, poolers }, measure) {
  nameConnections();
  await untilOthersHaveGone(server);
  const members = await Members.start(count, job, kind);
  const measured = await measure(members);
  const { connections, serverBytes } = await readBackends(server, poolers);
  await members.end();
  return { ...measured, connections, serverBytes };
}

module.exports = { Members, withMembers };
