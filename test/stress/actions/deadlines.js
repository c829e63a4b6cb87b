'use strict';

// Connections that fall silent at the driver's own statements: BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE
// and DISCARD ALL, with query_timeout set. Every promise settles in time, and the pool goes on.

const { setTimeout: delay } = require('node:timers/promises');
const { outcomeOf } = require('../../support/outcomes');
const { Relay } = require('../../support/relay');
const { SCHEMA, calmOptions, withPool } = require('../calm');

/** Statements of the driver's own, as they stand among the bytes that it sends. */
const OWN = ['BEGIN', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'RELEASE', 'ROLLBACK TO', 'DISCARD ALL'];

/** The time limit, and what may be added to it until a connection is given up (docs/reliability.md). */
const TIMEOUT_MILLIS = 300;
const GIVE_UP_MILLIS = 6000;

/** Passes everything on, until a connection sends a certain text: then nothing more of that connection. */
class SilentRelay extends Relay {
  /** @type {string | undefined} */
  text = undefined;
  /** Whether the server still gets it. */
  passesText = false;
  silenced = 0;

  /** @param {import('node:net').Socket} driver */
  receive(driver) {
    const server = this.connect();
    let isSilent = false;
    driver.setNoDelay(true);
    driver.on('data', (bytes) => {
      if (isSilent) return;
      if (this.text !== undefined && bytes.latin1Slice().toUpperCase().includes(this.text)) {
        isSilent = true;
        ++this.silenced;
        this.text = undefined;
        if (this.passesText) server.write(bytes);
        return;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (!isSilent) driver.write(bytes);
    });
    driver.on('close', () => server.destroy());
    server.on('close', () => {
      if (!isSilent) driver.destroy();
    });
    driver.on('end', () => driver.end());
    server.on('end', () => {
      if (!isSilent) server.end();
    });
  }
}

/** What makes the driver send one of its own. */
const USES = [
  [transactionOf('commit'), 4],
  [transactionOf('rollback'), 2],
  [transactionOf('savepoint'), 2],
  [transactionOf('savepoint undone'), 1],
  [borrowing, 3],
];

class Undone extends Error {}

function transactionOf(kind) {
  return async (action, place) => {
    const id = action.ledger.newId();
    const unit = action.openUnit([[id, 1]]);
    const undone = new Undone('undone on purpose');
    const insert = (tx) => tx.query('insert into effects values ($1)', [id]);
    const { error } = await outcomeOf(
      place.on.transaction(async (tx) => {
        if (kind.startsWith('savepoint')) {
          await tx
            .transaction(async (inner) => {
              await insert(inner);
              if (kind === 'savepoint undone') throw undone;
            })
            .catch((caught) => {
              if (caught !== undone) throw caught;
            });
        } else await insert(tx);
        if (kind === 'rollback') throw undone;
      }),
    );
    action.log(
      `${kind}: ${error === undefined ? 'fulfilled' : `${error.message} ${error.outcome}`}`,
    );
    const isAbsent = kind === 'rollback' || kind === 'savepoint undone';
    if (isAbsent) unit.told = 'absent';
    else if (error === undefined) unit.told = 'committed';
    else unit.told = error.outcome === 'not-run' ? 'absent' : 'either';
    if (error !== undefined && error !== undone) checkError(action, error);
  };
}

/** A session that is changed, so that it is reset. */
async function borrowing(action, place) {
  const { value: client, error } = await outcomeOf(place.on.connect());
  if (client === undefined) {
    checkError(action, error);
    return;
  }
  const { error: failed } = await outcomeOf(client.query("set stress.mark = 'deadline'"));
  if (failed !== undefined) checkError(action, failed);
  client.release();
}

const TOLD = [
  /TIMEOUT/,
  /ERR_PG_CONDUIT_(CONNECTION|TRANSACTION)/,
  /^E[A-Z]+$/,
  /^57014$/,
  /^57P01$/,
];

/** @param {import('../action').Action} action @param {any} error */
function checkError(action, error) {
  action.round.journal.count('deadline', `${error.code} ${error.outcome}`);
  const isKnown = TOLD.some((pattern) => pattern.test(String(error.code)));
  if (!isKnown) action.fault(`what has fallen silent ended in ${error.code} ${error.message}`);
}

async function deadlines(action) {
  const { random } = action;
  const relay = await SilentRelay.open();
  const max = random.pick([1, 1, 2]);
  const options = { ...calmOptions(random), max, query_timeout: TIMEOUT_MILLIS };
  const hasReset = random.chance(0.2);
  if (hasReset) options.resetQuery = 'reset all; select 1 as reset_by_hand';
  await withPool(
    action,
    'pool of silence',
    options,
    async (place) => {
      // On a busy machine even this may be late.
      await outcomeOf(place.on.query('select 1'));
      for (let left = random.int(1, 3); left > 0; --left) {
        relay.passesText = random.chance(0.5);
        const use = random.weighted(USES);
        const isReset = use === borrowing;
        const text = isReset ? (hasReset ? 'RESET_BY_HAND' : 'DISCARD ALL') : random.pick(OWN);
        relay.text = text;
        action.log(`silence at ${text}, ${relay.passesText ? 'passed on' : 'kept'}`);
        const before = relay.silenced;
        const uses = Array.from({ length: max }, () => use(action, place));
        const allowed = TIMEOUT_MILLIS + GIVE_UP_MILLIS;
        const used = Promise.all(uses);
        if ((await action.inTime(`uses with silence at ${text}`, used, allowed)) === undefined) {
          break;
        }
        await delay(random.small(0, 20));
        const goesOn = Array.from({ length: max }, () => proveLife(place));
        const alive = Promise.all(goesOn);
        const what = `a pool behind silence at ${text}`;
        if ((await action.inTime(what, alive, allowed)) === undefined) break;
        relay.text = undefined;
        if (relay.silenced > before) action.round.journal.count('deadline', `silent at ${text}`);
      }
      // What is still silent is not what end() waits for.
      if (action.entry.hasFault) await relay.close();
    },
    { relay },
  );
  await relay.close();
}

/** Until a query comes back: those that meet the silence are given up. */
async function proveLife(place) {
  for (;;) {
    const { error } = await outcomeOf(
      place.on.query(`select 1 as alive from ${SCHEMA}.counters limit 1`),
    );
    if (error === undefined) return;
    await delay(20);
  }
}

module.exports = { deadlines };
