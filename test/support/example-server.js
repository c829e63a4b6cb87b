'use strict';

// What `npm start` runs, examples/http-server/start.js, as a process of its own on a database server of its
// own. Used by tests of it and of its live page, and by `npm run screenshot`.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

const START = path.join(__dirname, '..', '..', 'examples', 'http-server', 'start.js');

class ExampleServer {
  output = '';
  errors = '';

  /**
   * @param {string} folder where the database's folder goes, so that what is left of it can be seen; anybody
   *   must be allowed to read it
   * @param {string[]} args
   */
  constructor(folder, ...args) {
    // Without a value a variable is not passed on.
    const env = { ...process.env, TMPDIR: folder, PG_CONDUIT_DATABASE_URL: undefined };
    this.child = spawn(process.execPath, [START, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout.on('data', (chunk) => (this.output += chunk));
    this.child.stderr.on('data', (chunk) => (this.errors += chunk));
    this.closed = once(this.child, 'close');
  }

  /** @param {RegExp} pattern @returns {Promise<RegExpMatchArray>} once the output has it */
  async prints(pattern) {
    for (;;) {
      const match = this.output.match(pattern);
      if (match) return match;
      if (this.child.exitCode !== null) {
        throw new Error(`it ended early: ${this.output}${this.errors}`);
      }
      await delay(20);
    }
  }

  /** @returns {Promise<string>} once it listens */
  async url() {
    const [, url] = await this.prints(/^Live page (\S+)\/$/m);
    return url;
  }

  /** @returns {Promise<any>} what the live page is told first */
  async greeting() {
    const leave = new AbortController();
    const events = `${await this.url()}/live/events`;
    const { body } = await fetch(events, { signal: leave.signal });
    let text = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const [, data] = text.match(/^event: hello\ndata: (.*)\n\n/m) ?? [];
      if (data) {
        leave.abort();
        return JSON.parse(data);
      }
    }
    throw new Error(`no greeting: ${text}`);
  }

  /** Whoever has begun a load, it has ended. */
  async idle() {
    for (;;) {
      const { running } = (await this.greeting()).load;
      if (!running) return;
      await delay(running.leftMillis + 100);
    }
  }

  /** @param {NodeJS.Signals} [signal] @returns {Promise<number | null>} its exit code */
  async end(signal = 'SIGTERM') {
    this.child.kill(signal);
    const [code] = await this.closed;
    return code;
  }

  /** For whatever a test has left. */
  kill() {
    if (this.child.exitCode === null) this.child.kill('SIGKILL');
  }
}

module.exports = { ExampleServer, START };
