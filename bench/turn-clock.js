'use strict';

// The time in which a process may work, if it takes turns with those of other drivers (turns.js); else all of it. Used by
// measure.js; child.js says whether it takes turns.

let takesTurns = false;
let isTurn = true;
/** From the beginning of a turn until nothing is in flight behind its end. */
let isCounting = false;
/** Milliseconds of the turns before this one. */
let before = 0;
let since = 0;
/** Callers that have something in flight. */
let working = 0;
/** @type {(() => void)[]} callers that wait for the next turn */
const waiting = [];

/** From now on it works when it is told so. */
function takeTurns() {
  takesTurns = true;
  isTurn = false;
  // Nobody is left to say whose turn it is.
  process.on('disconnect', () => process.exit());
  process.on('message', (/** @type {{ isTurn: boolean }} */ message) => {
    isTurn = message.isTurn;
    if (!isTurn) {
      endIfIdle();
      return;
    }
    isCounting = true;
    since = performance.now();
    for (const resolve of waiting.splice(0)) resolve();
  });
}

function endIfIdle() {
  if (isTurn || working > 0 || !isCounting) return;
  isCounting = false;
  before += performance.now() - since;
  process.send?.({ hasPaused: true });
}

/** @returns {number} ms, which stand still while it is another one's turn */
function now() {
  if (!takesTurns) return performance.now();
  return isCounting ? before + performance.now() - since : before;
}

/** Whether a caller may begin something. */
function mayBegin() {
  return isTurn;
}

/** Of a caller that has finished what it had, and waits. */
async function nextTurn() {
  leave();
  await new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
    waiting.push(resolve);
  });
  ++working;
}

/** A caller begins. */
async function enter() {
  ++working;
  if (!isTurn) await nextTurn();
}

/** It has nothing more to do. */
function leave() {
  --working;
  endIfIdle();
}

/**
 * Something that is not interrupted: the turn lasts until it is done.
 * @template T
 * @param {() => Promise<T>} act
 */
async function inTurn(act) {
  await enter();
  try {
    return await act();
  } finally {
    leave();
  }
}

module.exports = { enter, inTurn, leave, mayBegin, nextTurn, now, takeTurns };
