'use strict';

// Whether a pool takes a query, batch, stream or COPY, and how it is to run: on a connection that others share, alone
// on one, or not at all, by the class of its text. Its deadline and its trace begin here. Owned by pool.js; what is
// admitted goes to dispatcher.js.

const { copyError, PoolError, StatementRefusedError } = require('../base');
const { Batch, beginTraced, OWN_DEFAULTS, Query, watch } = require('../query');

/** @typedef {import('../base').OptionError} OptionError */

class Admission {
  #settings;
  #registry;
  #dispatcher;
  #refusal;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {import('./dispatcher').Dispatcher} dispatcher
   * @param {OptionError | undefined} refusal why the pool cannot connect
   */
  constructor(settings, registry, dispatcher, refusal) {
    this.#settings = settings;
    this.#registry = registry;
    this.#dispatcher = dispatcher;
    this.#refusal = refusal;
  }

  /** @returns {Error | undefined} why nothing is taken any more, or ever */
  refuse() {
    if (this.#refusal !== undefined) return copyError(this.#refusal);
    if (!this.#dispatcher.isEnding) return undefined;
    return new PoolError(
      'Cannot use a pool after calling end on the pool',
      'ERR_PG_CONDUIT_POOL_ENDED',
    );
  }

  /** @param {Query | Batch} work */
  submit(work) {
    // A batch of nothing.
    if (work.isSettled) return;
    const { query_timeout: millis } = this.#settings;
    const refusal =
      this.refuse() ??
      work.refusal ??
      watch(work, millis, (error) => this.#dispatcher.abort(work, error));
    beginTraced(work, () => {
      if (refusal !== undefined) work.reject(refusal);
      else this.dispatch(work);
    });
  }

  /** @param {Query | Batch} work whose deadline and trace have begun */
  dispatch(work) {
    if (work instanceof Batch) this.#dispatchBatch(work);
    else this.#dispatch(work);
  }

  /**
   * Lets its promise wait for types of columns that are still to be fetched (the option `fetchTypes`).
   * @param {Query | Batch} work that was submitted
   */
  complete(work) {
    const { fetchedTypes } = this.#settings;
    if (fetchedTypes === undefined) return;
    work.promise = fetchedTypes.complete(work, (text) => {
      const query = new Query(text, [], {}, OWN_DEFAULTS);
      this.submit(query);
      return query.promise;
    });
  }

  /** @param {Query} query */
  #dispatch(query) {
    const info = query.identify(this.#registry);
    if (info.isSeveral && query.parameters.length === 0 && !query.isExtended) {
      query.endsTransaction = true;
      this.#dispatcher.runAlone(query);
      return;
    }
    switch (info.class.kind) {
      case 'plain':
        // A cancel request must not reach somebody else's query.
        if (query.runsSolo) this.#dispatcher.runAlone(query);
        else this.#dispatcher.runShared(query);
        return;
      case 'alone':
        this.#dispatcher.runAlone(query);
        return;
      default:
        query.reject(new StatementRefusedError(String(info.class.refusal)));
    }
  }

  /** @param {Batch} batch */
  #dispatchBatch(batch) {
    if (!batch.admit(this.#registry, true)) return;
    if (batch.runsAlone) this.#dispatcher.runAlone(batch);
    else this.#dispatcher.runShared(batch);
  }

  /** @param {Query} query that has a connection to itself though it needs no session: a stream, a COPY */
  submitAlone(query) {
    query.info = this.#registry.find(query.text);
    const { kind, refusal } = query.info.class;
    const isFine = kind === 'plain' || kind === 'alone' || query.isCopy;
    const reason =
      this.refuse() ??
      query.refusal ??
      (isFine ? undefined : new StatementRefusedError(String(refusal)));
    beginTraced(query, () => {
      if (reason !== undefined) query.reject(reason);
      else this.#dispatcher.runAlone(query);
    });
  }

  /** Of a stream that was destroyed. @type {(query: Query, reason: import('../base').QueryAbortedError) => void} */
  stop = (query, reason) => {
    if (!query.isSettled) this.#dispatcher.abort(query, reason);
  };
}

module.exports = { Admission };
