'use strict';

// How the processes of the bench take turns. Run by mocha.

const assert = require('node:assert/strict');
const { execFile, fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { promisify } = require('node:util');
const { runMeasured } = require('../../bench/c/measured');
const { CAN_STOP, Turns } = require('../../bench/turns');
const { cannotRun } = require('../support/cannot-run');

const MEMBER = path.join(__dirname, '..', 'support', 'fixtures', 'takes-turns.js');
/** Counts its own time, as one that knows nothing of turns, and works for half a second. */
const PROGRAM = `
const beganAt = Date.now();
while (Date.now() < beganAt + 500);
console.log(JSON.stringify({ operations: 1, cpuMicros: 1, beganAt, seconds: (Date.now() - beganAt) / 1000 }));`;

describe('Processes of the bench that take turns', function () {
  this.timeout(60_000);

  /** @type {import('node:child_process').ChildProcess[]} */
  let children = [];
  /** @type {Turns} */
  let turns;

  beforeEach(function () {
    if (!CAN_STOP) cannotRun(this, 'its system cannot stop a process');
    children = [];
    turns = new Turns(2);
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await turns?.end();
  });

  async function runMember() {
    const child = fork(MEMBER);
    children.push(child);
    turns.enter(child);
    for (;;) {
      const [message] = await once(child, 'message');
      if (message.times) return message;
    }
  }

  async function runProgram() {
    const running = promisify(execFile)(process.execPath, ['-e', PROGRAM]);
    children.push(running.child);
    turns.enterProgram(running.child);
    const told = JSON.parse((await running).stdout);
    return { told, corrected: turns.correct(running.child, told) };
  }

  it('never have something in flight at the same time', async () => {
    const [first, second] = await Promise.all([runMember(), runMember()]);
    assert.ok(first.times.length > 0);
    for (const [from, to] of first.times) {
      const other = second.times.find((/** @type {number[]} */ [a, b]) => a < to && from < b);
      assert.equal(other, undefined, `${from} to ${to}`);
    }
  });

  it('measure by a clock that stands still in the turns of others', async () => {
    const [first, second] = await Promise.all([runMember(), runMember()]);
    for (const { times, seconds } of [first, second]) {
      const byTheClock = (times.at(-1)[1] - times[0][0]) / 1000;
      assert.ok(seconds < byTheClock, `${seconds} of ${byTheClock}`);
    }
  });

  it('are stopped if they know nothing of turns, and their seconds are those in which they ran', async () => {
    const [{ told, corrected }] = await Promise.all([runProgram(), runProgram()]);
    assert.ok(corrected.seconds < told.seconds, `${corrected.seconds} of ${told.seconds}`);
    assert.ok(corrected.seconds > 0);
  });

  it('end when the run is ended, also those that are stopped just then', async () => {
    const controller = new AbortController();
    const enterProgram = turns.enterProgram.bind(turns);
    turns.enterProgram = (child) => {
      children.push(child);
      enterProgram(child);
    };
    const running = ['first', 'second'].map((name) =>
      runMeasured({ name }, process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
        signal: controller.signal,
        turns,
      }),
    );
    const ended = Promise.all(children.map((child) => once(child, 'close')));
    await delay(50);
    await turns.end(); // nobody is told to go on any more
    controller.abort();
    for (const { error } of await Promise.all(running)) assert.ok(error);
    await ended;
  });

  it('give their turns to the others when they end, whatever ends them', async () => {
    const running = runMember();
    const other = fork(MEMBER);
    children.push(other);
    turns.enter(other);
    await delay(50);
    other.kill('SIGKILL');
    assert.ok((await running).times.length > 0);
  });
});
