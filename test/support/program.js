'use strict';

// A program in a process of its own that says where it listens, and what it printed. Used by tests of
// examples and of the documentation.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');

/** @type {Program[]} */
const started = [];

class Program {
  output = '';
  errors = '';

  /**
   * @param {string[]} args of node
   * @param {import('node:child_process').SpawnOptions} [options] `env` is added to ours
   */
  constructor(args, { env, ...options } = {}) {
    this.child = spawn(process.execPath, args, {
      ...options,
      env: { ...process.env, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout.on('data', (chunk) => (this.output += chunk));
    this.child.stderr.on('data', (chunk) => (this.errors += chunk));
    this.closed = once(this.child, 'close');
    started.push(this);
  }

  /** @param {RegExp} pattern of its output @returns {Promise<RegExpMatchArray>} */
  async printed(pattern) {
    for (;;) {
      const match = this.output.match(pattern);
      if (match) return match;
      assert.equal(this.child.exitCode, null, `it has ended: ${this.output}${this.errors}`);
      await delay(10);
    }
  }

  /** It ends by itself, without a complaint. @returns {Promise<string>} what it has printed */
  async toEnd() {
    const [exitCode] = await this.closed;
    assert.equal(exitCode, 0, this.errors);
    assert.equal(this.errors, '');
    return this.output;
  }

  /** As the system ends a service: it is to close what it has, and to end by itself. */
  async stop() {
    this.child.kill('SIGTERM');
    return this.toEnd();
  }
}

/** Call it in afterEach. */
function killAll() {
  for (const { child } of started.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }
}

module.exports = { Program, killAll };
