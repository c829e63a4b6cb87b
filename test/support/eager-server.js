'use strict';

// A server that commits each statement of a pipeline at once, unless it is between BEGIN and COMMIT, as the workers of an
// engine that distributes do with writes of one shard. In front of a real server it ends each Execute with a Sync of its
// own, and keeps the answer to that Sync to itself. Behind an error all is skipped up to the driver's Sync, as ever. A Query
// is committed before its command tag is sent, so that its error stands in the place of that.

const { Relay } = require('./relay');
const { errorMessage } = require('./proxy');

const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
const QUERY = 'Q'.charCodeAt(0);
const IDLE = 'I';

class Session {
  /** @type {Buffer[]} */
  #queue = [];
  #isStarted = false;
  #status = IDLE;
  #isSkipping = false;
  #hasFailed = false;
  #text = '';
  #isSimple = false;
  /** Whose ReadyForQuery is awaited. @type {'' | 'own' | 'driver'} */
  #awaits = 'driver';

  constructor(relay, driver, server) {
    this.relay = relay;
    this.driver = driver;
    this.server = server;
    for (const socket of [driver, server]) socket.setNoDelay(true);
    const fromDriver = splitter(() => this.#isStarted);
    driver.on('data', (bytes) => {
      const messages = fromDriver(bytes);
      if (this.#isStarted) relay.flushes.push(messages.map(describe));
      for (const each of messages) {
        if (!this.#isStarted) {
          this.#isStarted = true;
          server.write(each);
        } else {
          this.#queue.push(each);
        }
      }
      this.#forward();
    });
    const fromServer = splitter(() => true);
    server.on('data', (bytes) => {
      for (const each of fromServer(bytes)) this.#answer(each);
    });
    server.on('end', () => driver.end());
    server.on('close', () => driver.destroy());
  }

  #forward() {
    while (this.#awaits === '' && this.#queue.length > 0) {
      const next = this.#queue.shift();
      const kind = String.fromCharCode(next[0]);
      if (this.#isSkipping && kind !== 'S' && kind !== 'X') continue;
      if (kind === 'P' || kind === 'Q') this.#text = textOf(next);
      this.#isSimple = kind === 'Q';
      this.server.write(next);
      if (kind === 'S' || kind === 'Q') this.#awaits = 'driver';
      if (kind === 'E' && this.#status === IDLE) {
        this.server.write(SYNC);
        this.#awaits = 'own';
      }
    }
  }

  get #codeBehind() {
    return this.relay.failBehind?.(this.#text);
  }

  #answer(bytes) {
    const kind = String.fromCharCode(bytes[0]);
    if (kind === 'Z') {
      this.#status = String.fromCharCode(bytes[5]);
      const wasOwn = this.#awaits === 'own';
      this.#awaits = '';
      if (wasOwn) {
        const code = this.#hasFailed ? undefined : this.#codeBehind;
        if (code !== undefined) this.driver.write(failure(code));
        this.#isSkipping = this.#hasFailed || code !== undefined;
      } else {
        this.driver.write(bytes);
        this.#isSkipping = false;
      }
      this.#hasFailed = false;
      this.#forward();
      return;
    }
    if (kind === 'E') this.#hasFailed = true;
    const code = kind === 'C' && this.#isSimple && this.#status === IDLE && this.#codeBehind;
    this.driver.write(code ? failure(code) : bytes);
  }
}

class EagerServer extends Relay {
  /** What the driver has sent: the kinds of messages, and the texts of Parse and Query, one flush a list. @type {string[][]} */
  flushes = [];
  /** @type {((text: string) => string | undefined) | undefined} gives the SQLSTATE of an error behind the statement's commit */
  failBehind = undefined;

  /** @override @param {import('node:net').Socket} driver */
  receive(driver) {
    const session = new Session(this, driver, this.connect());
    driver.on('end', () => session.server.end());
    driver.on('close', () => session.server.destroy());
  }
}

/** @param {() => boolean} hasType whether messages begin with one: the first one of a driver does not */
function splitter(hasType) {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const messages = [];
    for (;;) {
      const head = hasType() || messages.length > 0 ? 1 : 0;
      if (rest.length < head + 4) return messages;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return messages;
      messages.push(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}

/** @param {string} code SQLSTATE */
function failure(code) {
  return errorMessage({ S: 'ERROR', V: 'ERROR', C: code, M: 'a server is gone' });
}

/** @param {Buffer} message a Parse, whose text is behind a name, or a Query */
function textOf(message) {
  const begin = message[0] === QUERY ? 5 : message.indexOf(0, 5) + 1;
  return message.toString('utf8', begin, message.indexOf(0, begin));
}

/** @param {Buffer} bytes of a message */
function describe(bytes) {
  const kind = String.fromCharCode(bytes[0]);
  return kind === 'P' || kind === 'Q' ? textOf(bytes) : kind;
}

module.exports = { EagerServer };
