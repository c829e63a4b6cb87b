'use strict';

// Rows as they come: streams and cursors, read to the end, broken off, or destroyed.

const { setTimeout: delay } = require('node:timers/promises');

class Broken extends Error {}

/** Rows that say whose they are and where they stand; or an insert that returns such rows. */
function source(action) {
  const { random } = action;
  const id = action.ledger.newId();
  const count = random.small(0, 4000);
  const isInsert = count > 0 && random.chance(0.3);
  const series = `generate_series(1, ${count}) g`;
  const failAt = !isInsert && random.chance(0.15) ? random.int(1, Math.max(count, 1)) : 0;
  const text = isInsert
    ? `insert into effects select $1, g from ${series} returning id, part as g`
    : `select $1::int as id, g, repeat('y', g % 50) as fill, 1 / (g - ${failAt}) as q from ${series}`;
  let seen = 0;
  return {
    text,
    values: [id],
    count,
    rows: isInsert ? [[id, count]] : [],
    mayFail: failAt > 0 && failAt <= count,
    /** @param {any} row @returns {string | undefined} */
    take(row) {
      ++seen;
      if (row.id === id && row.g === seen) return undefined;
      return `row ${seen} of ${id} is ${JSON.stringify(row)}`;
    },
    get seen() {
      return seen;
    },
  };
}

/** @param {import('../action').Action} action */
function finish(action, place, what, from, unit, error, isWhole) {
  // By its signal, Node's own stream is destroyed with an error of Node's.
  const isAborted = error?.name === 'AbortError' && error.cause?.name === 'AbortError';
  if (isAborted || error instanceof Broken || (error === undefined && !isWhole)) {
    action.round.journal.count(what, 'broken off');
    unit.told = 'either';
    return;
  }
  const codes = from.mayFail ? ['22012'] : [];
  action.settle(what, place, error, { unit, codes, aborts: !isWhole });
  if (error === undefined && from.mayFail) action.fault(`a ${what} should have failed`);
  if (error === undefined && from.seen !== from.count) {
    action.fault(`a ${what} had ${from.seen} of ${from.count} rows`);
  }
}

async function stream(action, place) {
  const { random } = action;
  const from = source(action);
  const unit = action.openUnit(from.rows);
  const breakAt = random.chance(0.35) ? random.int(0, from.count) : Infinity;
  const destroys = random.chance(0.3);
  const controller = random.chance(0.1) ? new AbortController() : undefined;
  const rows = place.on.stream(
    { text: from.text, values: from.values, ...(controller && { signal: controller.signal }) },
    undefined,
    random.chance(0.5) ? { batchSize: random.pick([1, 2, 50, 1000]) } : undefined,
  );
  if (controller !== undefined) delay(random.small(0, 40)).then(() => controller.abort());
  let error;
  let isWhole = true;
  try {
    if (breakAt === 0 && destroys) {
      isWhole = false;
      rows.destroy(new Broken());
    }
    for await (const row of rows) {
      const wrong = from.take(row);
      if (wrong !== undefined) action.fault(wrong);
      if (from.seen >= breakAt) {
        isWhole = false;
        if (destroys) rows.destroy(new Broken());
        else break;
      }
      if (random.chance(0.002)) await action.pause();
    }
  } catch (caught) {
    error = caught;
  }
  finish(action, place, 'stream', from, unit, error, isWhole);
}

/** On a client. */
async function cursor(action, place) {
  const { random } = action;
  const from = source(action);
  const unit = action.openUnit(from.rows);
  const breakAt = random.chance(0.35) ? random.int(0, from.count) : Infinity;
  const reading = place.on.cursor(from.text, from.values);
  let error;
  let isWhole = false;
  try {
    while (from.seen < breakAt) {
      const count = random.small(1, 700);
      const rows = await reading.read(count);
      for (const row of rows) {
        const wrong = from.take(row);
        if (wrong !== undefined) action.fault(wrong);
      }
      if (rows.length > count) action.fault(`${rows.length} rows for read(${count})`);
      isWhole = rows.length < count;
      if (isWhole) break;
      await action.pause();
    }
  } catch (caught) {
    error = caught;
  }
  await reading.close();
  // What comes after the last row, at the commit, close() does not tell.
  finish(action, place, 'cursor', from, unit, error, isWhole && from.rows.length === 0);
}

module.exports = { cursor, stream };
