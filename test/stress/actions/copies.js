'use strict';

// COPY in and out: whole, destroyed in the middle, with bad rows.

const { once } = require('node:events');
const { finished } = require('node:stream/promises');
const { outcomeOf } = require('../../support/outcomes');

class Broken extends Error {}

const COPY = 'copy effects (id, part) from stdin';

async function copyFrom(action, place) {
  const { random } = action;
  const id = action.ledger.newId();
  const count = random.small(0, 20000);
  const unit = action.openUnit(count > 0 ? [[id, count]] : []);
  const ending = random.weighted([
    ['whole', 5],
    ['destroyed', 2],
    ['bad row', 1],
  ]);
  const badAt = ending === 'whole' ? Infinity : random.int(0, count);
  const stream = place.on.copyFrom(COPY);
  const over = finished(stream);
  over.catch(() => {});
  for (let part = 1; part <= count && part <= badAt && !stream.destroyed;) {
    let text = '';
    const until = Math.min(count, badAt, part + random.small(0, 3000));
    for (; part <= until; ++part) text += `${id}\t${part}\n`;
    if (!stream.write(text) && !stream.destroyed) {
      await Promise.race([once(stream, 'drain'), over]).catch(() => {});
    }
    if (random.chance(0.1)) await action.pause();
  }
  if (ending === 'destroyed') {
    stream.destroy(new Broken('destroyed on purpose'));
  } else {
    if (ending === 'bad row' && !stream.destroyed) stream.write('no number\tat all\n');
    if (!stream.destroyed) stream.end();
  }
  const { error } = await outcomeOf(over);
  if (error instanceof Broken) {
    action.round.journal.count('copyFrom', 'destroyed');
    unit.told = 'absent';
    return;
  }
  action.settle('copyFrom', place, error, { unit, codes: ending === 'bad row' ? ['22P02'] : [] });
  if (error === undefined) {
    if (ending !== 'whole') action.fault(`a copyFrom that was ${ending} has finished`);
    if (stream.rowCount !== count) action.fault(`copyFrom: ${stream.rowCount} of ${count} rows`);
  }
}

async function copyRows(action, place) {
  const { random } = action;
  const id = action.ledger.newId();
  const count = random.small(0, 5000);
  const unit = action.openUnit(count > 0 ? [[id, count]] : []);
  const failAt = random.chance(0.2) ? random.int(1, count + 1) : 0;
  const isAsync = random.chance(0.3);
  function* rows() {
    for (let part = 1; part <= count; ++part) {
      if (part === failAt) throw new Broken('thrown by the rows');
      yield [id, part];
    }
  }
  async function* slowRows() {
    for (const row of rows()) {
      if (random.chance(0.002)) await action.pause();
      yield row;
    }
  }
  const { value: result, error } = await outcomeOf(
    place.on.copyRows('effects', ['id', 'part'], isAsync ? slowRows() : rows()),
  );
  if (error instanceof Broken) {
    action.round.journal.count('copyRows', 'thrown');
    unit.told = 'absent';
    return;
  }
  action.settle('copyRows', place, error, { unit });
  if (error === undefined && result.rowCount !== count) {
    action.fault(`copyRows: ${result.rowCount} of ${count} rows`);
  }
}

async function copyTo(action, place) {
  const { random } = action;
  const id = action.ledger.newId();
  const count = random.small(0, 20000);
  const breakAt = random.chance(0.3) ? random.int(0, 50000) : Infinity;
  const text = `copy (select ${id}, g from generate_series(1, ${count}) g) to stdout`;
  const stream = place.on.copyTo(text);
  let bytes = 0;
  let rest = '';
  let seen = 0;
  let error;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line !== `${id}\t${++seen}`) action.fault(`line ${seen} of copyTo ${id} is ${line}`);
      }
      if (bytes >= breakAt) break;
      if (random.chance(0.05)) await action.pause();
    }
  } catch (caught) {
    error = caught;
  }
  action.settle('copyTo', place, error, { aborts: true });
  if (error === undefined && bytes < breakAt && seen !== count) {
    action.fault(`copyTo: ${seen} of ${count} lines`);
  }
}

module.exports = { copyFrom, copyRows, copyTo };
