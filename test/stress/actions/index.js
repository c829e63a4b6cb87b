'use strict';

// The kinds of actions that clients choose from, and how often.

const { bySignal, byTime } = require('./cancels');
const { committing } = require('./committing');
const { copyFrom, copyRows, copyTo } = require('./copies');
const { listen, notify, notifyInTransaction } = require('./notifications');
const { sameAsPg } = require('./oracle');
const { subscribe } = require('./replication');
const { batch, burst, cheapBurst, one, procedure, refusals } = require('./queries');
const { stream } = require('./rows');
const { roles } = require('./roles');
const { openScript, script } = require('./scripts');
const { borrow, ownClient, sharedSession } = require('./sessions');
const { throwing } = require('./throwing');
const { transaction } = require('./transactions');
const { deadlines } = require('./deadlines');
const { queriesFromWithin, rejectingHooks, throwingEvents } = require('./hooks');
const { disguised, forgotten, releasedEarly, unawaited } = require('./leftovers');
const { migrate } = require('./migrations');
const { hiding, lockstep, namesakes } = require('./names');
const { pooler } = require('../pooler');

/** Several at once, of one client. */
async function together(action, pool) {
  const { random } = action;
  const runs = Array.from({ length: random.int(2, 5) }, () => {
    const part = action.part(random.fork());
    return part.random.weighted(possibleActions())(part, pool);
  });
  await Promise.all(runs);
}

/** @typedef {[run: (action: any, place: any) => Promise<void>, weight: number][]} Weighted */

/** What clients do all the time. @type {Weighted} */
const TRAFFIC = [
  [one, 10],
  [burst, 8],
  [cheapBurst, 8],
  [batch, 6],
  [transaction, 8],
  [script, 2],
  [openScript, 0.5],
  [procedure, 1],
  [refusals, 0.5],
  [bySignal, 3],
  [byTime, 2],
  [stream, 2],
  [copyFrom, 1.5],
  [copyRows, 1],
  [copyTo, 1],
  [listen, 2],
  [notify, 4],
  [notifyInTransaction, 1.5],
  [borrow, 8],
  [ownClient, 2],
  [sharedSession, 1],
  [together, 4],
];

/**
 * What else happens, beside the traffic: each round has one of these kinds for certain, in turn, and
 * some by chance.
 * @type {Record<string, Weighted>}
 */
const KINDS = {
  migrations: [
    [migrate, 4],
    [hiding, 2],
    [namesakes, 2],
    [lockstep, 1],
  ],
  roles: [[roles, 1]],
  oracle: [[sameAsPg, 1]],
  committing: [[committing, 1]],
  replication: [[subscribe, 1]],
  deadlines: [[deadlines, 1]],
  leftovers: [
    [disguised, 3],
    [unawaited, 2],
    [releasedEarly, 1],
    [forgotten, 0.5],
  ],
  throwing: [
    [throwing, 4],
    [throwingEvents, 1],
    [rejectingHooks, 2],
    [queriesFromWithin, 1],
  ],
};
/** What a pooler, or one that shares its sessions, cannot do. @type {Record<string, () => boolean>} */
const IMPOSSIBLE = {
  migrations: () => pooler.isThere,
  throwing: () => pooler.isThere,
  roles: () => pooler.isThere,
  oracle: () => pooler.isThere,
  committing: () => pooler.isThere,
  replication: () => pooler.isThere,
  deadlines: () => pooler.isThere,
  leftovers: () => pooler.isThere,
};

const KIND_NAMES = Object.keys(KINDS);

function possibleKinds() {
  return KIND_NAMES.filter((kind) => !IMPOSSIBLE[kind]?.());
}

function possibleActions() {
  return TRAFFIC.filter(([run]) => run !== listen || !pooler.sharesSessions);
}

/**
 * The kinds of a round: two in turn, so that few rounds have them all, and some by chance.
 * @param {number} number of the round
 * @param {import('../random').Random} random
 * @returns {string[]}
 */
function kindsFor(number, random) {
  const possible = possibleKinds();
  if (possible.length === 0) return [];
  const inTurn = [0, 1].map((index) => possible[(2 * number + index) % possible.length]);
  return [...new Set([...inTurn, ...possible.filter(() => random.chance(KIND_BESIDES))])];
}

/** What a round has more of, so that its kinds meet each other often. */
const THEMES = {
  everything: [together],
  groups: [cheapBurst, one, batch],
  exclusive: [borrow, transaction, bySignal, ownClient],
  streams: [stream, copyFrom, copyRows, copyTo, borrow],
  waiting: [together, bySignal, transaction, stream],
  notifications: [listen, notify, notifyInTransaction],
};
const OFTENER = 8;
/** How likely a round has one more kind, and which part of its actions one of the kinds is. */
const KIND_BESIDES = 0.15;
const KIND_SHARE = 0.06;

/**
 * @param {keyof typeof THEMES} theme
 * @param {readonly string[]} kinds
 * @returns {Weighted}
 */
function actionsFor(theme, kinds) {
  /** @type {Weighted} */
  const traffic = possibleActions().map(([run, weight]) => [
    run,
    THEMES[theme].includes(run) ? OFTENER * weight : weight,
  ]);
  const share = KIND_SHARE * sumOf(traffic);
  return kinds.reduce((all, kind) => all.concat(scaled(KINDS[kind], share)), traffic);
}

/** One kind alone. @param {string} kind @returns {Weighted} */
function actionsOf(kind) {
  return kind === 'traffic' ? possibleActions() : KINDS[kind];
}

/** @param {Weighted} list */
function sumOf(list) {
  return list.reduce((sum, [, weight]) => sum + weight, 0);
}

/** @param {Weighted} list @param {number} share of all of them @returns {Weighted} */
function scaled(list, share) {
  const all = sumOf(list);
  return list.map(([run, weight]) => [run, (weight * share) / all]);
}

module.exports = { KIND_NAMES, THEMES, actionsFor, actionsOf, kindsFor };
