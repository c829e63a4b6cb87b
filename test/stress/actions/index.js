'use strict';

// The kinds of actions that clients choose from, and how often.

const { bySignal, byTime } = require('./cancels');
const { copyFrom, copyRows, copyTo } = require('./copies');
const { listen, notify, notifyInTransaction } = require('./notifications');
const { batch, burst, cheapBurst, one, procedure, refusals } = require('./queries');
const { stream } = require('./rows');
const { openScript, script } = require('./scripts');
const { borrow, ownClient, sharedSession } = require('./sessions');
const { transaction } = require('./transactions');
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

/** @type {[run: (action: any, place: any) => Promise<void>, weight: number][]} */
const ACTIONS = [
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

function possibleActions() {
  return ACTIONS.filter(([run]) => run !== listen || !pooler.sharesSessions);
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

/** @param {keyof typeof THEMES} theme @returns {typeof ACTIONS} */
function actionsFor(theme) {
  return possibleActions().map(([run, weight]) => [
    run,
    THEMES[theme].includes(run) ? OFTENER * weight : weight,
  ]);
}

module.exports = { THEMES, actionsFor };
