'use strict';

// LISTEN for a pool: one connection beside the others for all channels, opened
// with the first of them and closed with the last. When it is lost it is made
// anew, and whoever listens learns that notifications may have been missed.
// Used by pool.js alone.

const {
  callApart,
  CallSite,
  copyError,
  DatabaseError,
  Deferred,
  escapeIdentifier,
  ParameterError,
  PoolError,
  TimeLimit,
} = require('../base');
const { Client, connectionOf, POOL } = require('../client');
const { isTransient, ownMillis, waitedError } = require('../connection');
const { Backoff } = require('./backoff');
const { checkListening } = require('./listen-check');

/**
 * @typedef {(payload: string, source: { channel: string, processId: number }) => void} Handler
 * @typedef {(gap: { channel: string, error: Error }) => void} OnGap
 *
 * A name, and what the connection does about it.
 * @typedef {object} Channel
 * @property {string} name
 * @property {Set<Subscriber>} subscribers it is wanted while there are any
 * @property {boolean} isOn whether the current connection listens to it
 * @property {boolean} isBusy its LISTEN or UNLISTEN is in flight: one at a time
 * @property {(() => void)[]} whenSettled calls of unlisten() that wait
 *
 * One call of listen().
 * @typedef {object} Subscriber
 * @property {Channel} channel
 * @property {Handler} handler
 * @property {OnGap | undefined} onGap
 * @property {'waiting' | 'listening' | 'ended'} state waiting: its promise is not settled
 * @property {Deferred<Subscription>} answer
 * @property {TimeLimit | undefined} limit
 * @property {Error | undefined} lostBy why it has been deaf since it last listened
 */

/** NAMEDATALEN - 1: in LISTEN the server would cut a longer name, and hear something else. */
const MAX_CHANNEL_BYTES = 63;

/** What listen() gives. `unlisten` may be taken out of it. */
class Subscription {
  /** @param {string} channel @param {() => Promise<void>} unlisten */
  constructor(channel, unlisten) {
    this.channel = channel;
    this.unlisten = unlisten;
  }

  [Symbol.asyncDispose]() {
    return this.unlisten();
  }
}

class Listener {
  /** @type {Map<string, Channel>} */
  #channels = new Map();
  /** Connected, or being so. @type {Client | undefined} */
  #client = undefined;
  #isReady = false;
  #backoff = new Backoff();
  /** What the pool was told of since LISTEN last worked. @type {Set<string | undefined>} */
  #toldCodes = new Set();
  /** Promises of listen() and unlisten() that are not settled. */
  #awaited = 0;
  /** @type {{ channel: string, payload: string, processId: number }[]} */
  #inbox = [];
  /** @type {{ subscriber: Subscriber, error: Error }[]} */
  #gaps = [];
  #isDispatching = false;
  #settings;
  #registry;
  #onError;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {(error: Error, client: Client) => void} onError the connection was lost, or cannot
   *   be made again; runs in the middle of a delivery
   */
  constructor(settings, registry, onError) {
    this.#settings = settings;
    this.#registry = registry;
    this.#onError = onError;
  }

  /**
   * @param {string} name of the channel
   * @param {Handler} handler
   * @param {{ onGap?: OnGap }} [options]
   * @returns {Promise<Subscription>} when the server listens
   * @throws {ParameterError}
   */
  listen(name, handler, options) {
    checkChannel(name);
    if (typeof handler !== 'function') {
      throw new ParameterError('the second argument of listen() must be a function');
    }
    const { onGap } = readOptions(options);
    const channel = this.#channel(name);
    /** @type {Subscriber} */
    const subscriber = {
      channel,
      handler,
      onGap,
      state: 'waiting',
      answer: new Deferred(new CallSite()),
      limit: undefined,
      lostBy: undefined,
    };
    channel.subscribers.add(subscriber);
    this.#await(1);
    const { connectionTimeoutMillis } = this.#settings;
    if (connectionTimeoutMillis > 0) {
      subscriber.limit = new TimeLimit(connectionTimeoutMillis, () => {
        this.#fail(subscriber, this.#timeoutError());
        this.#update(channel);
      });
    }
    this.#update(channel);
    return subscriber.answer.promise;
  }

  get isListening() {
    return this.#channels.size > 0;
  }

  /** @param {string} name @returns {Channel} */
  #channel(name) {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = { name, subscribers: new Set(), isOn: false, isBusy: false, whenSettled: [] };
      this.#channels.set(name, channel);
    }
    return channel;
  }

  /** @param {Subscriber} subscriber @returns {Promise<void>} */
  #unlisten(subscriber) {
    const { channel } = subscriber;
    subscriber.state = 'ended';
    channel.subscribers.delete(subscriber);
    if (channel.subscribers.size > 0) return Promise.resolve();
    this.#await(1);
    return new Promise((resolve) => {
      channel.whenSettled.push(resolve);
      this.#update(channel);
    });
  }

  /**
   * Closes the connection now, and ends everything.
   * @returns {Promise<void>}
   */
  async end() {
    const client = this.#client;
    this.#client = undefined;
    this.#isReady = false;
    for (const channel of [...this.#channels.values()]) {
      for (const subscriber of channel.subscribers) {
        this.#fail(subscriber, endedError());
        subscriber.state = 'ended';
      }
      channel.subscribers.clear();
      channel.isOn = false;
      channel.isBusy = false;
      this.#update(channel);
    }
    if (client === undefined) return;
    const closed = client.end();
    // A server that answers no more must not be waited for.
    connectionOf(client).destroy();
    await closed;
  }

  // --- Channels -----------------------------------------------------------------

  /**
   * Brings a channel to what is wanted of it now; all changes end in here.
   * @param {Channel} channel
   */
  #update(channel) {
    if (channel.isBusy) return;
    const isWanted = channel.subscribers.size > 0;
    if (channel.isOn === isWanted) this.#settle(channel);
    else if (this.#isReady) this.#send(channel, isWanted);
    else this.#connect();
  }

  /**
   * @param {Channel} channel
   * @param {boolean} isWanted
   */
  async #send(channel, isWanted) {
    const client = /** @type {Client} */ (this.#client);
    const command = isWanted ? 'listen' : 'unlisten';
    channel.isBusy = true;
    try {
      await client.query({
        text: `${command} ${escapeIdentifier(channel.name)}`,
        prepare: false,
        timeoutMillis: ownMillis(this.#settings.query_timeout),
      });
    } catch (error) {
      this.#onRefused(client, channel, isWanted, /** @type {Error} */ (error));
      return;
    }
    // On another connection nothing of this is true.
    if (client !== this.#client) return;
    channel.isBusy = false;
    channel.isOn = isWanted;
    if (isWanted) {
      this.#backoff.succeeded();
      this.#toldCodes.clear();
    }
    this.#update(channel);
  }

  /**
   * @param {Client} client
   * @param {Channel} channel
   * @param {boolean} isWanted
   * @param {Error} error
   */
  #onRefused(client, channel, isWanted, error) {
    if (client !== this.#client) return;
    channel.isBusy = false;
    if (isWanted) this.#failAll(channel.subscribers, error);
    if (isWanted && error instanceof DatabaseError && channel.subscribers.size === 0) {
      this.#update(channel);
      return;
    }
    // Somebody who listened before cannot any more, or nobody knows what the server did.
    connectionOf(client).destroy();
    this.#onDown(client, error);
  }

  /** @param {Channel} channel that is as it is wanted */
  #settle(channel) {
    const { whenSettled } = channel;
    channel.whenSettled = [];
    for (const resolve of whenSettled) resolve();
    this.#await(-whenSettled.length);
    if (!channel.isOn) {
      this.#channels.delete(channel.name);
      if (this.#channels.size === 0) this.#disconnect();
      return;
    }
    for (const subscriber of channel.subscribers) {
      if (subscriber.state === 'waiting') this.#resolve(subscriber);
      if (subscriber.lostBy === undefined) continue;
      this.#gaps.push({ subscriber, error: subscriber.lostBy });
      subscriber.lostBy = undefined;
      this.#dispatchSoon();
    }
  }

  /** @param {Subscriber} subscriber */
  #resolve(subscriber) {
    /** @type {Promise<void> | undefined} */
    let ended;
    subscriber.state = 'listening';
    subscriber.limit?.cancel();
    this.#await(-1);
    subscriber.answer.resolve(
      new Subscription(subscriber.channel.name, () => (ended ??= this.#unlisten(subscriber))),
    );
  }

  /** @param {Subscriber} subscriber that is out then, if it waits @param {Error} error */
  #fail(subscriber, error) {
    if (subscriber.state !== 'waiting') return;
    subscriber.state = 'ended';
    subscriber.channel.subscribers.delete(subscriber);
    subscriber.limit?.cancel();
    this.#await(-1);
    subscriber.answer.reject(error);
  }

  /** @param {Iterable<Subscriber>} subscribers @param {Error} error of those that wait */
  #failAll(subscribers, error) {
    for (const subscriber of subscribers) this.#fail(subscriber, copyError(error));
  }

  #timeoutError() {
    const millis = this.#settings.connectionTimeoutMillis;
    return waitedError({
      millis,
      reason: this.#backoff.reasonWithin(millis),
      message: 'timeout exceeded when trying to listen',
      silent: 'the server did not answer',
      refused: 'no connection to listen on could be made',
    });
  }

  // --- The connection -------------------------------------------------------------

  /** @param {(error: Error) => void} onLost @returns {Client} that is not connected */
  #newClient(onLost) {
    const side = { settings: this.#settings, registry: this.#registry, onLost };
    return new Client({ [POOL]: { ...side, onSettled() {}, onClosed() {} } });
  }

  #connect() {
    if (this.#client !== undefined) return;
    if (!this.#backoff.isOver) {
      this.#backoff.whenOver(() => this.#connect());
      this.#updateLoopRef();
      return;
    }
    const client = this.#newClient((error) => this.#onDown(client, error));
    client.on('notification', (message) => {
      this.#inbox.push(message);
      this.#dispatchSoon();
    });
    this.#client = client;
    this.#updateLoopRef();
    this.#open(client).then(
      () => this.#onConnected(client),
      (error) => {
        connectionOf(client).destroy();
        this.#onDown(client, error);
      },
    );
  }

  /** @param {Client} client */
  async #open(client) {
    await client.connect();
    const millis = ownMillis(this.#settings.query_timeout);
    await checkListening(client, () => this.#newClient(() => {}), millis);
  }

  /** @param {Client} client */
  #onConnected(client) {
    if (client !== this.#client) return;
    this.#isReady = true;
    for (const channel of [...this.#channels.values()]) this.#update(channel);
  }

  /**
   * There is no connection, or none any more.
   * @param {Client} client
   * @param {Error} error
   */
  #onDown(client, error) {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#isReady = false;
    this.#backoff.failed(error);
    const channels = [...this.#channels.values()];
    const subscribers = channels.flatMap((channel) => [...channel.subscribers]);
    const deaf = subscribers.filter(({ state }) => state === 'listening');
    for (const subscriber of deaf) subscriber.lostBy ??= error;
    if (deaf.length > 0) this.#tell(error, client);
    // As with queries: nobody waits for a server that was not there, unless a deadline says how long.
    const isHopeful =
      deaf.length > 0 || (isTransient(error) && this.#settings.connectionTimeoutMillis > 0);
    if (!isHopeful) this.#failAll(subscribers, error);
    for (const channel of channels) {
      channel.isOn = false;
      channel.isBusy = false;
      this.#update(channel);
    }
  }

  /**
   * An outage is not told at each attempt.
   * @param {any} error
   * @param {Client} client
   */
  #tell(error, client) {
    if (this.#toldCodes.has(error.code)) return;
    this.#toldCodes.add(error.code);
    this.#onError(error, client);
  }

  /** Nothing is listened to any more. */
  #disconnect() {
    this.#backoff.cancel();
    const client = this.#client;
    this.#client = undefined;
    this.#isReady = false;
    client?.end();
  }

  /** @param {number} more promises that somebody awaits */
  #await(more) {
    this.#awaited += more;
    this.#updateLoopRef();
  }

  #updateLoopRef() {
    if (!this.#settings.allowExitOnIdle) return;
    const isAwaited = this.#awaited > 0;
    this.#backoff.setLoopRef(isAwaited);
    if (this.#client !== undefined) connectionOf(this.#client).setLoopRef(isAwaited);
  }

  // --- Notifications --------------------------------------------------------------

  /** After the promises that the same delivery settles: nobody hears anything before listen() is done. */
  #dispatchSoon() {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    setImmediate(() => {
      this.#isDispatching = false;
      this.#dispatch();
    });
  }

  #dispatch() {
    const gaps = this.#gaps;
    const inbox = this.#inbox;
    this.#gaps = [];
    this.#inbox = [];
    for (const { subscriber, error } of gaps) {
      const { onGap, channel, state } = subscriber;
      if (state !== 'listening' || onGap === undefined) continue;
      callApart(() => onGap({ channel: channel.name, error }));
    }
    for (const { channel, payload, processId } of inbox) {
      // Handlers may come and go meanwhile.
      for (const subscriber of [...(this.#channels.get(channel)?.subscribers ?? [])]) {
        if (subscriber.state !== 'listening') continue;
        const { handler } = subscriber;
        callApart(() => handler(payload, { channel, processId }));
      }
    }
  }
}

/** @param {unknown} name @throws {ParameterError} */
function checkChannel(name) {
  const refusal = findFault(name);
  if (refusal !== undefined) throw new ParameterError(`the name of a channel must ${refusal}`);
}

/** @param {unknown} name @returns {string | undefined} */
function findFault(name) {
  if (typeof name !== 'string') return `be a string, not ${name === null ? 'null' : typeof name}`;
  if (name === '') return 'not be empty';
  if (name.includes('\0')) return 'not have a NUL character';
  const bytes = Buffer.from(name);
  if (bytes.toString() !== name) return 'be well-formed: it has half of a surrogate pair';
  if (bytes.length <= MAX_CHANNEL_BYTES) return undefined;
  return `have ${MAX_CHANNEL_BYTES} bytes of UTF-8 at most, not ${bytes.length}`;
}

/** @param {unknown} payload @throws {ParameterError} */
function checkPayload(payload) {
  if (typeof payload === 'string') return;
  const given = payload === null ? 'null' : typeof payload;
  throw new ParameterError(
    `the payload must be a string, not ${given}: JSON.stringify() makes one`,
  );
}

/** @param {any} options @returns {{ onGap?: OnGap }} @throws {ParameterError} */
function readOptions(options = {}) {
  if (typeof options !== 'object' || options === null) {
    throw new ParameterError('the third argument of listen() must be an object: { onGap }');
  }
  const { onGap, ...others } = options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new ParameterError(`listen() has no option "${unknown}"`);
  if (onGap !== undefined && typeof onGap !== 'function') {
    throw new ParameterError('option "onGap" of listen() must be a function');
  }
  return { onGap };
}

function endedError() {
  return new PoolError(
    'the pool was ended before the server listened',
    'ERR_PG_CONDUIT_POOL_ENDED',
  );
}

module.exports = { Listener, checkChannel, checkPayload };
