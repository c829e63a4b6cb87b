'use strict';

// Dialogues damaged at random: bytes flipped, lost and added, messages lost, doubled and moved, before
// the connection ends. Each query is settled, no row reaches another caller, nothing that has run is
// called not run or run again, and the pool is well again. By a scripted server.
// FAST_CHECK_RUNS=100 tries a hundred times as many.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { ConduitError } = require('../..');
const { until } = require('../support/outside');
const { TIMES, holds } = require('../support/property');
const { ECHO } = require('../support/scripted-server');
const { allInTime, inTime, typeOf, useScript } = require('../support/scripts');

const RUNS = 400;
/** Less than an answer: what is missing as a whole is not missed before the next one. */
const MAX_CUT = 20;
const INSERT = 'insert into t values ($1)';
/** How long a server goes on after the damage. */
const LINGER_MILLIS = 5;

/** A place in what is said, as a part of its length. */
const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const at = (part, list) => Math.floor(part * list.length);

/** One damage: a kind, two places and bytes. */
const damage = fc.record({
  kind: fc.constantFrom(
    ...['flip', 'cut out', 'insert', 'set length', 'lose', 'double', 'move', 'unknown'],
  ),
  from: place,
  to: place,
  bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }),
});

/** @param {Buffer[]} messages @param {any} how @returns {Buffer[]} */
function apply(messages, { kind, from, to, bytes }) {
  const list = [...messages];
  const index = at(from, list);
  if (kind === 'lose') list.splice(index, 1);
  else if (kind === 'double') list.splice(index, 0, list[index]);
  else if (kind === 'move') list.splice(at(to, list), 0, ...list.splice(index, 1));
  else if (kind === 'unknown') list.splice(index, 0, Buffer.from([bytes[0], 0, 0, 0, 4]));
  else if (kind === 'set length') {
    const changed = Buffer.from(list[index]);
    changed.writeInt32BE(Math.trunc(changed.readInt32BE(1) + (to - 0.5) * 16), 1);
    list[index] = changed;
  } else {
    const whole = Buffer.concat(list);
    const start = at(from, whole);
    const end = kind === 'cut out' ? start + 1 + Math.floor(to * MAX_CUT) : start;
    if (kind === 'flip') whole[start] ^= bytes[0] || 1;
    else {
      const added = kind === 'insert' ? Buffer.from(bytes) : Buffer.alloc(0);
      return [Buffer.concat([whole.subarray(0, start), added, whole.subarray(end)])];
    }
    return [whole];
  }
  return list;
}

describe('A server whose messages are damaged at random', () => {
  const script = useScript();

  /** How often each INSERT has run, by its number. @type {Map<number, number>} */
  const runs = new Map();
  let numbers = 0;

  beforeEach(() => {
    script.server.statements[INSERT] = ([number], isBinary, type) => {
      if (type !== 'D') runs.set(Number(number), (runs.get(Number(number)) ?? 0) + 1);
      return { columns: [], rows: [], tag: 'INSERT 0 1' };
    };
  });

  // Twice, since one damage can make another number of a number.
  const token = (number) => `the caller of number ${number} alone, of ${number}`;

  /** What is sent together: kind, number, promise. */
  function send(one, kinds) {
    return kinds.map((kind) => {
      const number = ++numbers;
      const read = { text: ECHO, values: [number, token(number)] };
      const write = { text: INSERT, values: [number] };
      if (kind === 'read') return { kind, number, promise: one.query(read) };
      if (kind === 'write') return { kind, number, promise: one.query(write) };
      return { kind, number, promise: one.batch([write, read]) };
    });
  }

  /** @param {PromiseSettledResult<any>} outcome */
  function check({ kind, number }, outcome) {
    const count = runs.get(number) ?? 0;
    assert.ok(count <= 1, `${number} ran ${count} times`);
    if (outcome.status === 'rejected') {
      const error = outcome.reason;
      assert.ok(error instanceof ConduitError, String(error?.stack));
      // That is what the server itself says.
      const isSaid = error.code?.length === 5;
      if (error.outcome === 'not-run' && kind !== 'read' && !isSaid) {
        assert.equal(count, 0, `${number} has run: ${error.message}`);
      }
      return;
    }
    if (kind !== 'read') assert.equal(count, 1, `${number} has not run`);
    if (kind === 'write') return;
    const { rows } = kind === 'read' ? outcome.value : outcome.value[1];
    for (const row of rows) {
      // The damage may be in the value itself, but it does not make another caller's of it.
      for (const value of Object.values(row)) {
        const other = /^the caller of number (\d+) alone, of \1$/.exec(String(value));
        if (other !== null) assert.equal(Number(other[1]), number, 'a row of another caller');
      }
    }
  }

  const dialogue = fc.record({
    kinds: fc.array(fc.constantFrom('read', 'read', 'write', 'batch'), {
      minLength: 1,
      maxLength: 8,
    }),
    turn: fc.nat(6),
    how: damage,
    given: fc.constantFrom(
      { syncGroup: 'off' },
      { syncGroup: 'all' },
      { syncGroup: 'all', max: 2 },
      { prepare: false },
    ),
    // With many of them columns are known.
    warmups: fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, fc.constant(300)),
  });

  it('never makes a pool hang or report a wrong outcome', async function () {
    this.timeout(this.timeout() * Math.max(1, TIMES));
    await holds(
      fc.asyncProperty(dialogue, async ({ kinds, turn, how, given, warmups }) => {
        const { server } = script;
        const pool = script.newPool(given);
        for (let use = 0; use < warmups; ++use) {
          await allInTime(send(pool, ['read', 'write']).map(({ promise }) => promise));
        }
        let turns = 0;
        server.reply = (sane, { texts, session }) => {
          if (texts.length === 0 || turns++ < turn) return sane;
          server.reply = (more) => more;
          const damaged = apply(sane, how);
          // One answer more than was asked for is nobody's, but a whole one cannot be told from it.
          const isWhole = damaged.filter((message) => typeOf(message) === 'Z').length > 1;
          session.say(isWhole ? sane : damaged);
          setTimeout(() => session.end(), LINGER_MILLIS);
          return undefined;
        };
        const queries = send(pool, kinds);
        const outcomes = await allInTime(queries.map(({ promise }) => promise));
        queries.forEach((query, index) => check(query, outcomes[index]));
        server.recover();
        const isWell = async () => {
          const [query] = send(pool, ['read']);
          const [outcome] = await allInTime([query.promise]);
          check(query, outcome);
          return outcome.status === 'fulfilled';
        };
        await until('the pool is well again', isWell);
        await inTime('the end of the pool', pool.end());
      }),
      RUNS,
    );
  });
});
