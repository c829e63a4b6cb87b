'use strict';

// How many connections of a pool cheap queries wake, and what it gains or costs: a simulation of a server with
// many cores, which the tests' machine does not have.

const assert = require('node:assert/strict');
const { mock } = require('node:test');
const { ConnectionLoad } = require('../../lib/connection/load');
const { Balancer } = require('../../lib/pool/balancer');

/** What the client's one thread takes, in ms: for a query, and for each backend that it has to wake. */
const CLIENT_MILLIS = 0.004;
const WAKE_MILLIS = 0.02;

/**
 * A closed loop on a server where each connection has a core of its own, of which there are `cores`.
 * @param {object} given
 * @param {number} given.callers
 * @param {number} given.costMillis of a query, on average
 * @param {(i: number) => number} [given.cost] of the query with this number
 * @param {number} given.spreadMillis
 * @param {number} [given.cores]
 * @param {boolean} [given.mayQueue] whether no query waits
 * @param {string} [given.effect] what they do to tables
 * @returns {{ perSecond: number, used: number, p99: number }} `used`: connections that were in use on average; `p99`:
 *   of the times in ms after which those were answered that cost no more than the average
 */
function simulate({
  callers,
  costMillis,
  cost = () => costMillis,
  spreadMillis,
  cores = 16,
  mayQueue = false,
  effect = 'read',
}) {
  let now = 0;
  mock.method(performance, 'now', () => now);
  const members = Array.from({ length: cores }, () => ({
    state: 'shared',
    isSpent: false,
    connection: { load: new ConnectionLoad(), maxInFlight: 1024 },
    freeAt: 0,
  }));
  const connections = {
    shared: members,
    members: new Set(members),
    connectingCount: 0,
    mayGrow: false,
  };
  const balancer = new Balancer(
    /** @type {any} */ ({ maxInFlight: 1024, spreadMillis }),
    /** @type {any} */ (connections),
    /** @type {any} */ ({ shared: cores }),
  );
  /** Answers on their way, in the order of their times. @type {{ at: number, member: any, query: any }[]} */
  const answers = [];
  /** @type {any[]} */
  const waiting = [];
  let count = 0;
  const serve = () => {
    while (waiting.length > 0 && send(waiting[0])) waiting.shift();
  };
  const ask = () => {
    const info = { averageMillis: costMillis, effect };
    waiting.push({ info, actual: cost(count++), since: now });
    serve();
  };
  const send = (/** @type {any} */ query) => {
    const member = /** @type {any} */ (balancer.choose(query, 0, mayQueue));
    if (member === undefined) return false;
    now += CLIENT_MILLIS + (member.connection.load.inFlight === 0 ? WAKE_MILLIS : 0);
    member.connection.load.add(query);
    member.freeAt = Math.max(member.freeAt, now) + query.actual;
    const answer = { at: member.freeAt, member, query };
    let place = answers.length;
    while (place > 0 && answers[place - 1].at > answer.at) --place;
    answers.splice(place, 0, answer);
    return true;
  };
  let inUse = 0;
  /** @type {number[]} */
  const took = [];
  const total = 4 * callers + 400;
  for (let i = 0; i < callers; ++i) ask();
  for (let i = 0; i < total; ++i) {
    const { at, member, query } = /** @type {any} */ (answers.shift());
    now = Math.max(now, at);
    member.connection.load.remove(query);
    member.connection.load.headSince = now;
    if (query.actual <= costMillis) took.push(now - query.since);
    serve();
    ask();
    inUse += members.filter(({ connection }) => connection.load.inFlight > 0).length;
  }
  mock.restoreAll();
  took.sort((a, b) => a - b);
  const p99 = took[Math.floor(took.length * 0.99)];
  return { perSecond: (total / now) * 1000, used: inUse / total, p99 };
}

describe('Cheap queries of a pool', function () {
  this.timeout(30_000);

  afterEach(() => mock.restoreAll());

  describe('on a server with 16 cores, by simulation', () => {
    for (const costMillis of [0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 2]) {
      for (const callers of [1, 2, 3, 4, 8, 16, 64, 256]) {
        it(`are answered as fast as by idle connections first: ${callers} of ${costMillis} ms`, () => {
          const before = simulate({ callers, costMillis, spreadMillis: 0 });
          const now = simulate({ callers, costMillis, spreadMillis: 0.2 });
          const ratio = now.perSecond / before.perSecond;
          assert.ok(ratio > 0.95, `${ratio.toFixed(2)} of ${before.perSecond.toFixed(0)}/s`);
        });
      }
    }

    it('wake one or two backends if they cost 5 us', () => {
      const { used } = simulate({ callers: 32, costMillis: 0.005, spreadMillis: 0.2 });
      assert.ok(used < 2, String(used));
    });

    it('wake one or two backends if they cost 5 us, however many callers there are', () => {
      const { used } = simulate({ callers: 256, costMillis: 0.005, spreadMillis: 0.2 });
      assert.ok(used <= 2, String(used));
    });

    it('keep the client busy from several backends if they cost 20 us', () => {
      const { used } = simulate({ callers: 256, costMillis: 0.02, spreadMillis: 0.2 });
      assert.ok(used > 3, String(used));
    });

    it('share a connection from two on', () => {
      const { used } = simulate({ callers: 2, costMillis: 0.005, spreadMillis: 0.2 });
      assert.ok(used < 1.5, String(used));
    });

    it('have a connection each if they are writes, which may wait for locks', () => {
      const { used } = simulate({
        callers: 8,
        costMillis: 0.005,
        spreadMillis: 0.2,
        effect: 'write',
      });
      assert.ok(used > 4, String(used));
    });

    it('spread over all of them if they cost 2 ms', () => {
      const { used } = simulate({ callers: 64, costMillis: 2, spreadMillis: 0.2 });
      assert.ok(used > 15, String(used));
    });

    describe('join a connection in use', () => {
      const work = /** @type {any} */ ({ info: { averageMillis: 0.01 } });
      const newMember = (/** @type {number} */ inFlight, locking = 0) => {
        const expectedMillis = 0.01 * inFlight;
        const load = { inFlight, expectedMillis, locking, unknown: 0, isBlocked: () => false };
        return { state: 'shared', isSpent: false, connection: { load, maxInFlight: 1024 } };
      };
      const choose = (/** @type {any[]} */ shared, /** @type {any[]} */ lent = []) => {
        const settings = /** @type {any} */ ({ maxInFlight: 1024, spreadMillis: 0.2 });
        const members = new Set([...shared, ...lent]);
        const pool = /** @type {any} */ ({ shared, members, connectingCount: 0, mayGrow: false });
        const limits = /** @type {any} */ ({ shared: shared.length });
        return new Balancer(settings, pool, limits).choose(work, 0);
      };

      it('but not while somebody has one alone, who may hold the lock that the others wait for', () => {
        const [busy, idle] = [newMember(3), newMember(0)];
        assert.equal(choose([busy, idle]), busy);
        assert.equal(choose([busy, idle], [{}]), idle);
      });

      it('but not behind what may wait for a lock', () => {
        const [busy, idle, reading] = [newMember(3, 1), newMember(0), newMember(4)];
        assert.equal(choose([busy, idle]), idle);
        assert.equal(choose([busy, reading]), reading);
        assert.equal(choose([busy, idle, reading]), reading);
        assert.equal(choose([busy]), busy);
      });
    });

    for (const callers of [32, 64, 512]) {
      it(`do not wait behind one that takes ten times as long as usual while others are answered: ${callers}`, () => {
        // As on a server that asks others: each answer takes a while, and one in twenty has to wait.
        const given = {
          callers,
          costMillis: 2,
          cost: (/** @type {number} */ i) => (i % 20 === 7 ? 21 : 1),
          spreadMillis: 0.2,
          cores: 8,
        };
        const before = simulate({ ...given, mayQueue: true });
        const now = simulate(given);
        assert.ok(
          now.p99 < 0.8 * before.p99,
          `${now.p99.toFixed(0)} of ${before.p99.toFixed(0)} ms`,
        );
        assert.ok(now.perSecond > 0.95 * before.perSecond);
      });
    }

    it('spread over all of them with spreadMillis: 0', () => {
      const { used } = simulate({ callers: 64, costMillis: 0.05, spreadMillis: 0 });
      assert.ok(used > 4, String(used));
    });
  });
});
