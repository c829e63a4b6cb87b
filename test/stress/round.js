'use strict';

// One round: pools and clients with random options work side by side in random weather; then everything
// must come to rest, and the tables and what was heard must be what the promises have told.

const fs = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { countSockets } = require('../../lib/connection/stand-in');
const { THEMES, actionsFor, actionsOf, kindsFor } = require('./actions');
const { checkSession } = require('./actions/sessions');
const { Action } = require('./action');
const { Ledger } = require('./ledger');
const { Notices } = require('./notices');
const { ClientPlace, PoolPlace } = require('./places');
const { planted } = require('./planted');
const { pooler } = require('./pooler');
const { Random } = require('./random');
const { PREFIX } = require('./schema');
const { Storm, StormyRelay } = require('./storm');

/** After which a round's parts choose. */
const [OPTIONS, WEATHER, WORKERS, CUTS, KINDS] = [1, 2, 3, 4, 5];
const REST_MILLIS = 15000;

class Round {
  ledger = new Ledger();
  notices = new Notices();
  /** @type {StormyRelay[]} */
  relays = [];
  /** @type {PoolPlace[]} */
  pools = [];
  /** Those whose end is under way. @type {Set<PoolPlace>} */
  ending = new Set();
  /** @type {Promise<void>[]} */
  #endings = [];
  #poolCount = 0;
  #seed;

  /**
   * @param {number} seed of the run
   * @param {number} number of the round
   * @param {import('./journal').Journal} journal
   * @param {import('./schema').Outside} outside
   * @param {string} [only] one kind of action
   */
  constructor(seed, number, journal, outside, only) {
    this.#seed = [seed, number];
    this.number = number;
    this.journal = journal;
    this.outside = outside;
    this.applicationName = `${PREFIX}_${process.pid}_${number}`;
    this.random = new Random(...this.#seed, OPTIONS);
    this.isStormy = this.random.chance(0.65);
    this.theme = this.random.pick(Object.keys(THEMES));
    this.kinds = only === undefined ? kindsFor(number, new Random(...this.#seed, KINDS)) : [only];
    this.actions = only === undefined ? actionsFor(this.theme, this.kinds) : actionsOf(only);
    this.workerCount = this.random.small(1, this.theme === 'waiting' ? 4 : 24);
    this.actionCount = this.random.int(4, 30);
  }

  describe() {
    const weather = this.isStormy ? 'stormy' : 'calm';
    const { number, theme, kinds, workerCount, actionCount } = this;
    return `round ${number}: ${[theme, ...kinds].join(' + ')}, ${weather}, ${workerCount} workers, ${actionCount} actions each`;
  }

  async run() {
    const descriptors = countDescriptors();
    for (let index = 0; index < 2; ++index) {
      const relay = await StormyRelay.open();
      relay.random = new Random(...this.#seed, CUTS, index);
      relay.tears = index === 1;
      this.relays.push(relay);
    }
    for (let left = this.random.int(1, 3); left > 0; --left) this.#openPool(this.random.fork());
    const storm = new Storm(this, new Random(...this.#seed, WEATHER));
    storm.start();
    const workers = Array.from({ length: this.workerCount }, (_, worker) => this.#work(worker));
    await Promise.all(workers);
    await storm.stop();
    await Promise.all(this.#endings);
    await this.#rest();
    await storm.calm();
    await this.#end();
    await this.#compare();
    await this.#untilTrue('all descriptors are closed', () => countDescriptors() <= descriptors);
  }

  // --- Clients and pools ----------------------------------------------------------

  /** @param {number} worker */
  async #work(worker) {
    // Behind a fault nothing new begins: it is told with what led there.
    for (let index = 0; index < this.actionCount && this.journal.faultCount === 0; ++index) {
      const random = new Random(...this.#seed, WORKERS, worker, index);
      // However small the round is, each of its kinds comes up.
      const kind = worker === 0 ? this.kinds[index] : undefined;
      const run = random.weighted(kind === undefined ? this.actions : actionsOf(kind));
      const pool = random.pick(this.pools);
      await this.#act(`${this.number}/${worker}/${index}`, run, pool, random);
    }
  }

  /**
   * @param {string} name
   * @param {(action: Action, pool: PoolPlace) => Promise<void>} run
   * @param {PoolPlace} pool
   * @param {Random} random
   */
  async #act(name, run, pool, random) {
    const action = new Action(this, random, this.journal.begin(name, run.name));
    this.journal.count('actions', run.name);
    action.log(pool.describe());
    try {
      await run(action, pool);
    } catch (error) {
      action.fault(`it has thrown ${error?.stack ?? error}`);
    }
    this.journal.end(action.entry);
    if (random.chance(0.3)) await action.pause();
  }

  /** Directly, or by one of the relays. @param {Random} random */
  pickRelay(random) {
    return random.chance(0.5) ? random.pick(this.relays) : undefined;
  }

  /** @param {Random} random @param {number} [index] */
  #openPool(random, index = this.pools.length) {
    this.pools[index] = new PoolPlace(this, `pool ${++this.#poolCount}`, random);
  }

  /** Ends a pool that is in use; whoever comes now gets another one. @param {Random} random */
  replacePool(random) {
    const index = random.int(0, this.pools.length - 1);
    const old = this.pools[index];
    this.#openPool(random.fork(), index);
    this.journal.noteWeather(`${old.name} is ended`);
    this.journal.count('weather', 'pool ended');
    this.#endings.push(this.#endPool(old));
  }

  /** @param {PoolPlace} place */
  async #endPool(place) {
    const { name, on } = place;
    const entry = this.journal.begin(name, 'end()');
    entry.log(place.describe());
    this.ending.add(place);
    await on.end();
    this.ending.delete(place);
    this.journal.end(entry);
    const { totalCount, waitingCount, queries, syncs, statementCache } = on.stats();
    this.journal.count('sent', 'queries', queries);
    this.journal.count('sent', 'Syncs', syncs);
    this.journal.count('sent', 'evictions', statementCache.evictions);
    if (totalCount !== 0 || waitingCount !== 0) {
      entry.fault(`${totalCount} connections and ${waitingCount} waiting after the end`);
    }
  }

  // --- At the end -----------------------------------------------------------------

  /**
   * @param {string} what
   * @param {() => any} condition
   */
  async #untilTrue(what, condition) {
    const deadline = performance.now() + REST_MILLIS;
    for (;;) {
      const value = await condition();
      if (value === true) return;
      if (performance.now() > deadline) {
        this.journal.fault(`${this.describe()}: not ${what}: ${JSON.stringify(value)}`);
        return;
      }
      await delay(10);
    }
  }

  /** Nobody wants anything any more: pools know that, and so does the server. */
  async #rest() {
    for (const place of this.pools) {
      await this.#untilTrue(`at rest, ${place.describe()}`, () => isAtRest(place.on.stats()));
    }
    await this.#untilTrue('all sessions idle', async () => {
      const busy = (await this.outside.sessions()).filter(({ state }) => state !== 'idle');
      return busy.length === 0 || busy;
    });
    for (const [index, place] of this.pools.entries()) {
      const random = new Random(...this.#seed, OPTIONS, index);
      await this.#act(`${this.number}/last`, checkEverySession, place, random);
    }
  }

  async #end() {
    await Promise.all(this.pools.map((pool) => this.#endPool(pool)));
    await Promise.all(this.relays.map((relay) => relay.close()));
    // Those of a pooler stay for others.
    if (pooler.isThere) return;
    await this.#untilTrue('all sessions gone', async () => {
      const left = await this.outside.sessions();
      return left.length === 0 || left;
    });
  }

  async #compare() {
    for (const fault of this.notices.close()) this.journal.fault(fault);
    for (const { message, entry } of planted.close()) this.journal.fault(message, entry);
    const { units } = this.ledger;
    for (const { told } of units) this.journal.count('told', told);
    const counts = await this.outside.countEffects();
    for (const { message, unit } of this.ledger.close(counts)) {
      this.journal.fault(message, unit?.source);
    }
    await this.outside.clear();
  }
}

/** All connections of a pool at once. @param {Action} action @param {PoolPlace} place */
async function checkEverySession(action, place) {
  const { options, codes } = place;
  const count = Math.min(options.max, 1 + place.on.totalCount);
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, () => place.on.connect()),
  );
  for (const { value: client, reason } of outcomes) {
    if (client === undefined) {
      action.settle('connect', place, reason);
      continue;
    }
    const name = `client of ${place.name}`;
    const lent = new ClientPlace(action.round, name, client, { options, codes, pool: place });
    await checkSession(action, lent, place, 0);
    client.release();
  }
}

/** @param {any} stats of a pool */
function isAtRest({ waitingCount, connections }) {
  const busy = connections.filter(
    ({ inFlight, pending, expectedMillis, state }) =>
      inFlight !== 0 || pending !== 0 || expectedMillis !== 0 || state !== 'shared',
  );
  return (waitingCount === 0 && busy.length === 0) || { waitingCount, busy };
}

function countDescriptors() {
  if (process.platform !== 'linux') return 0;
  return fs.readdirSync('/proc/self/fd').length - countSockets();
}

module.exports = { Round };
