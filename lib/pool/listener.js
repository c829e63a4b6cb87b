'use strict';

// Who listens to what, for the callers of pool.listen(): sends LISTEN and UNLISTEN for channels as subscribers come and
// go, on one connection for all of them (listen-connection.js), and calls the handlers. After that connection was lost,
// subscribers are told that they may have missed notifications. Owned by pool.js.

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
const { isWorthWaiting, waitedError } = require('../connection');
const { checkChannel, readListenOptions } = require('./listen-arguments');
const { ListenConnection } = require('./listen-connection');

/**
 * @typedef {import('../client').Client} Client
 * @typedef {(payload: string, source: { channel: string, processId: number }) => void} Handler
 * @typedef {(gap: { channel: string, error: Error }) => void} OnGap
 *
 * A name, and whether the connection listens to it.
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
 * @property {Error | undefined} lostBy why it may have missed notifications since it last listened
 */

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
  #connection;
  /** Codes of the errors that were emitted since LISTEN last worked. @type {Set<string | undefined>} */
  #toldCodes = new Set();
  /** Promises of listen() and unlisten() that are not settled. */
  #awaited = 0;
  /** @type {{ channel: string, payload: string, processId: number }[]} */
  #inbox = [];
  /** @type {{ subscriber: Subscriber, error: Error }[]} */
  #gaps = [];
  #isDispatching = false;
  #settings;
  #onError;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {(error: Error, client: Client) => void} onError the connection was lost, or cannot
   *   be made again; runs in the middle of a delivery
   */
  constructor(settings, registry, onError) {
    this.#settings = settings;
    this.#onError = onError;
    this.#connection = new ListenConnection(settings, registry, {
      onReady: () => this.#updateAll(),
      onDown: (error, client) => this.#onDown(error, client),
      onNotification: (message) => {
        this.#inbox.push(message);
        this.#dispatchSoon();
      },
    });
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
    const { onGap } = readListenOptions(options);
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
    const closed = this.#connection.abort();
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
    await closed;
  }

  // --- Channels -----------------------------------------------------------------

  /**
   * Brings a channel to what is wanted of it now. Whatever changes a channel calls this.
   * @param {Channel} channel
   */
  #update(channel) {
    if (channel.isBusy) return;
    const isWanted = channel.subscribers.size > 0;
    if (channel.isOn === isWanted) this.#settle(channel);
    else if (this.#connection.isReady) this.#send(channel, isWanted);
    else this.#connection.connect();
  }

  #updateAll() {
    for (const channel of [...this.#channels.values()]) this.#update(channel);
  }

  /**
   * @param {Channel} channel
   * @param {boolean} isWanted
   */
  async #send(channel, isWanted) {
    const client = /** @type {Client} */ (this.#connection.client);
    const command = isWanted ? 'listen' : 'unlisten';
    channel.isBusy = true;
    try {
      await this.#connection.query(`${command} ${escapeIdentifier(channel.name)}`);
    } catch (error) {
      this.#onRefused(client, channel, isWanted, /** @type {Error} */ (error));
      return;
    }
    // Another connection does not listen to it yet.
    if (client !== this.#connection.client) return;
    channel.isBusy = false;
    channel.isOn = isWanted;
    if (isWanted) {
      this.#connection.succeeded();
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
    if (client !== this.#connection.client) return;
    channel.isBusy = false;
    if (isWanted) this.#failAll(channel.subscribers, error);
    if (isWanted && error instanceof DatabaseError && channel.subscribers.size === 0) {
      this.#update(channel);
      return;
    }
    // Somebody who listened before cannot any more, or it is not known what the server did.
    this.#connection.drop(client, error);
  }

  /** @param {Channel} channel that is as wanted */
  #settle(channel) {
    const { whenSettled } = channel;
    channel.whenSettled = [];
    for (const resolve of whenSettled) resolve();
    this.#await(-whenSettled.length);
    if (!channel.isOn) {
      this.#channels.delete(channel.name);
      if (this.#channels.size === 0) this.#connection.disconnect();
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

  /** @param {Subscriber} subscriber that is removed, if it waits @param {Error} error */
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
      reason: this.#connection.reasonWithin(millis),
      message: 'timeout exceeded when trying to listen',
      silent: 'the server did not answer',
      refused: 'no connection to listen on could be made',
    });
  }

  // --- The loss of the connection -------------------------------------------------

  /** @param {Error} error @param {Client} client */
  #onDown(error, client) {
    const channels = [...this.#channels.values()];
    const subscribers = channels.flatMap((channel) => [...channel.subscribers]);
    const interrupted = subscribers.filter(({ state }) => state === 'listening');
    for (const subscriber of interrupted) subscriber.lostBy ??= error;
    if (interrupted.length > 0) this.#tell(error, client);
    // As with queries: nobody waits for a server that was not there, unless they are to.
    const isHopeful = interrupted.length > 0 || isWorthWaiting(error, this.#settings);
    if (!isHopeful) this.#failAll(subscribers, error);
    for (const channel of channels) {
      channel.isOn = false;
      channel.isBusy = false;
      this.#update(channel);
    }
  }

  /**
   * Once for each outage and code, not at each attempt.
   * @param {any} error
   * @param {Client} client
   */
  #tell(error, client) {
    if (this.#toldCodes.has(error.code)) return;
    this.#toldCodes.add(error.code);
    this.#onError(error, client);
  }

  /** @param {number} more promises that somebody awaits */
  #await(more) {
    this.#awaited += more;
    this.#connection.setAwaited(this.#awaited > 0);
  }

  // --- Notifications --------------------------------------------------------------

  /** After the promises that the same delivery settles: no handler is called before its listen() has resolved. */
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
      // A handler may add and remove subscribers.
      for (const subscriber of [...(this.#channels.get(channel)?.subscribers ?? [])]) {
        if (subscriber.state !== 'listening') continue;
        const { handler } = subscriber;
        callApart(() => handler(payload, { channel, processId }));
      }
    }
  }
}

function endedError() {
  return new PoolError('the pool was ended before LISTEN succeeded', 'ERR_PG_CONDUIT_POOL_ENDED');
}

module.exports = { Listener };
