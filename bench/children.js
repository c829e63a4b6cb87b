'use strict';

// Runs one driver in a process of its own and watches it: a case that fails or hangs costs that case
// and not the run. Called by run.js and experiments/run.js.

const { fork } = require('node:child_process');
const path = require('node:path');
const { halve } = require('./measure');
const { PROGRAMS } = require('./programs');

/**
 * @typedef {import('./child').Job} Job
 * @typedef {import('./child').Message} Message
 * @typedef {import('./child').Loaded} Loaded
 * @typedef {import('./measure').Measurement} Measurement
 * @typedef {import('./workloads').Case} Case
 */

/** What a case may take beside the time that it is meant to take. */
const PATIENCE_MILLIS = 4000;
/** The longest case takes so many times the measured time. */
const LONGEST = 12;
const SCRIPT = path.join(__dirname, 'child.js');

/**
 * Other than the bench's own.
 * @typedef {object} How
 * @property {string} [script] what is forked
 * @property {Record<string, string>} [env] beside that of this process
 * @property {number} [limitMillis] of a case
 * @property {number} [patienceMillis] for what a case takes beside the time that it is meant to take
 * @property {import('./turns').Turns} [turns] with the processes of other drivers
 */

/**
 * @param {Job} job
 * @param {AbortSignal} signal
 * @param {(message: Message) => void} onMessage
 * @param {How} [how]
 * @returns {Promise<void>} settles when the process has ended
 */
function runChild(job, signal, onMessage, how = {}) {
  const { script = SCRIPT, env = {}, patienceMillis = PATIENCE_MILLIS, turns } = how;
  // By the clock, which goes on in the turns of others.
  const { limitMillis = patienceMillis + limitOf(job.timing) } = how;
  const limit = limitMillis * (turns?.count ?? 1);
  const { password } = job.target.config;
  return new Promise((resolve, reject) => {
    const own = { ...withoutPassword(job), takesTurns: turns !== undefined };
    const child = fork(script, [JSON.stringify(own)], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // All drivers and libpq read it there, and nobody sees it among the arguments.
      env: { ...process.env, ...env, ...(password && { PGPASSWORD: password }) },
    });
    turns?.enter(child);
    const answered = new Set();
    let failed = false;
    let stderr = '';
    let timer = setTimeout(abort, limit);
    /** @type {string | undefined} */
    let reason;

    function abort() {
      reason = `no answer in ${limit / 1000} s`;
      child.kill('SIGKILL');
    }
    const stop = () => child.kill('SIGKILL');
    signal.addEventListener('abort', stop);

    child.stderr?.on('data', (data) => {
      stderr = (stderr + data).slice(-2000);
    });
    child.on('message', (/** @type {Message} */ message) => {
      if (message.hasPaused) return;
      clearTimeout(timer);
      timer = setTimeout(abort, limit);
      if (message.case) answered.add(message.case);
      if (message.error) failed = true;
      onMessage(message);
    });
    child.on('error', reject);
    child.on('close', (code, killedBy) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      const missing = job.cases.find((name) => !answered.has(name));
      if (missing && !failed && !signal.aborted) {
        const words = stderr.trim().split('\n').pop();
        onMessage({ case: missing, error: reason ?? `ended by ${killedBy ?? code}: ${words}` });
      }
      resolve();
    });
  });
}

/**
 * @param {Job['timing']} timing
 * @param {number} times as long, by the clock, on which a program goes
 */
function lengthen({ firstWarmupMillis, warmupMillis, measureMillis }, times) {
  return {
    firstWarmupMillis: times * firstWarmupMillis,
    warmupMillis: times * warmupMillis,
    measureMillis: times * measureMillis,
  };
}

/** @param {Job['timing']} timing */
function limitOf({ firstWarmupMillis, measureMillis }) {
  return LONGEST * measureMillis + 3 * firstWarmupMillis;
}

/** @param {Job} job */
function withoutPassword(job) {
  const { connectionString, config, tls } = job.target;
  return { ...job, target: { connectionString, config: { ...config, password: undefined }, tls } };
}

/**
 * All cases of a job, in a new process after each failure. A memory case has its process to itself: what
 * an earlier case left behind would be used again, and not be seen to grow.
 * @param {Job & { limits: Case[] }} job `limits` are the same cases as objects
 * @param {AbortSignal} signal
 * @param {(message: Message) => void} onMessage
 * @param {How} [how]
 */
async function runJob({ limits, ...job }, signal, onMessage, how = {}) {
  const program = PROGRAMS[job.driver];
  if (program) {
    for (const one of limits) {
      if (signal.aborted) return;
      const timing = one.isHalved ? halve(job.timing) : job.timing;
      const times = how.turns?.count ?? 1;
      const own = { ...job, timing: lengthen({ ...job.timing, ...timing }, times) };
      onMessage(await program.run(one, own, signal, how.turns));
    }
    return;
  }
  const alone = limits.filter(({ memoryOnly }) => memoryOnly).map(({ name }) => name);
  let { cases } = job;
  while (cases.length > 0 && !signal.aborted) {
    /** @type {string[]} */
    const answered = [];
    const [first] = cases;
    const next = alone.includes(first) ? [first] : cases.filter((name) => !alone.includes(name));
    const tell = (/** @type {Message} */ message) => {
      if (message.case) answered.push(message.case);
      onMessage(message);
    };
    await runChild({ ...job, cases: next }, signal, tell, how);
    if (answered.length === 0) return; // it could not even be loaded
    cases = cases.filter((name) => !answered.includes(name));
  }
}

/**
 * @param {string} driver
 * @param {import('./tables').Target} target
 * @returns {Promise<Loaded | { error: string }>}
 */
async function probe(driver, target) {
  const program = PROGRAMS[driver];
  if (program) return program.probe(target);
  /** @type {Loaded | { error: string }} */
  let answer = { error: 'it could not be loaded' };
  const timing = { firstWarmupMillis: 0, warmupMillis: 0, measureMillis: 0 };
  const job = { driver, target, workload: 'none', cases: [], timing };
  await runChild(job, new AbortController().signal, (message) => {
    if (message.loaded) answer = message.loaded;
    else if (message.error) answer = { error: message.error };
  });
  return answer;
}

module.exports = { probe, runJob };
