'use strict';

// Callers' own code that throws while the driver delivers: listeners, callbacks, tracing channels. The
// exception must come out once, the thrower loses nothing, and the others, who write all the time,
// notice nothing.

const assert = require('node:assert/strict');

const { tracingChannel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const { setTimeout: delay } = require('node:timers/promises');
const { finished } = require('node:stream/promises');
const { Query } = require('../../..');
const { outcomeOf } = require('../../support/outcomes');
const { calmOptions, withPool } = require('../calm');
const { planted } = require('../planted');

/** How long a stream that is not ours may stand still behind a throw. */
const FOREIGN_MILLIS = 300;

/** An exception that is planted in one place, and thrown at some of its calls. */
class Mine {
  #calls = 0;
  #at;
  #error;

  /** @param {import('../action').Action} action @param {string} place @param {number} calls at most */
  constructor(action, place, calls) {
    const { random } = action;
    action.round.journal.count('planted', place);
    this.#error = planted.plant(place, action.entry);
    this.#at = new Set([1, calls, random.int(1, calls)].filter(() => random.chance(0.6)));
    action.log(`${place} throws at ${[...this.#at].join(', ')} of ${calls}`);
  }

  /** @param {() => void} [before] it is thrown */
  step(before) {
    if (!this.#at.has(++this.#calls)) return;
    before?.();
    ++this.#error.thrown;
    throw this.#error;
  }
}

/**
 * Runs `use` while others write on the same pool, tick after tick.
 * @param {import('../action').Action} action
 * @param {import('../places').Place} place
 * @param {() => Promise<void>} use
 */
async function amongOthers(action, place, use) {
  const { random } = action;
  let isOver = false;
  const write = async (part) => {
    do {
      const width = part.random.int(1, 6);
      const runs = Array.from({ length: width }, () =>
        part.run(place, part.newStatement(part.random.chance(0.9) ? 'writes' : 'reads')),
      );
      await action.inTime('what others write', Promise.all(runs));
    } while (!isOver);
  };
  const writing = Array.from({ length: random.int(1, 3) }, () => write(action.part(random.fork())));
  try {
    await use();
  } finally {
    isOver = true;
    await Promise.all(writing);
  }
}

/** Node's own flow of a stream stands still where a listener throws in it. @param {import('node:stream').Readable} stream */
function keepFlowing(stream) {
  setImmediate(() => {
    stream.pause();
    stream.resume();
  });
}

/** @param {import('../action').Action} action @param {string} what @param {number[]} seen @param {number} count */
function checkWhole(action, what, seen, count) {
  action.check(what, () => {
    const expected = Array.from({ length: count }, (_, index) => index + 1);
    assert.equal(String(seen).slice(0, 2000), String(expected).slice(0, 2000));
    assert.equal(seen.length, count);
  });
}

/** The rows of a stream, and a listener that throws. */
async function inStream(action, place) {
  const { random } = action;
  const count = random.pick([1, 10, 300, 3000]);
  const mine = new Mine(action, 'a listener of stream data', count);
  const rows = place.on.stream('select g from generate_series(1, $1::int) g', [count], {
    batchSize: random.pick([1, 5, 256, 4096]),
  });
  const seen = [];
  rows.on('data', ({ g }) => {
    seen.push(g);
    mine.step(() => keepFlowing(rows));
  });
  const atEnd = new Mine(action, 'a listener of a stream end', 1);
  const ended = new Promise((resolve) => {
    rows.on('error', (error) => resolve(error));
    rows.on('end', () => {
      resolve(undefined);
      atEnd.step();
    });
  });
  const error = await action.inTime('a stream whose listener throws', ended);
  if (error !== undefined) action.fault(`a stream whose listener throws failed: ${error.message}`);
  checkWhole(action, 'a stream whose listener throws', seen, count);
  rows.destroy();
}

async function inCopyTo(action, place) {
  const { random } = action;
  const count = random.pick([1, 10, 3000, 30000]);
  const mine = new Mine(action, 'a listener of COPY data', random.pick([1, 2, 5]));
  const stream = place.on.copyTo(`copy (select g from generate_series(1, ${count}) g) to stdout`);
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
    mine.step(() => keepFlowing(stream));
  });
  const over = new Promise((resolve) => {
    stream.on('error', resolve);
    stream.on('end', () => resolve(undefined));
  });
  const error = await action.inTime('a COPY whose listener throws', over);
  if (error !== undefined) action.fault(`a COPY whose listener throws failed: ${error.message}`);
  checkWhole(action, 'a COPY', text.split('\n').slice(0, -1).map(Number), count);
  stream.destroy();
}

async function inCopyFrom(action, place) {
  const { random } = action;
  const id = action.ledger.newId();
  const chunks = random.int(2, 12);
  const count = random.int(1, 3000);
  const unit = action.openUnit([[id, chunks * count]]);
  const mine = new Mine(action, 'a callback of write()', chunks - 1);
  const stream = place.on.copyFrom('copy effects (id, part) from stdin');
  const over = finished(stream);
  over.catch(() => {});
  for (let chunk = 1; chunk <= chunks; ++chunk) {
    const text = `${id}\t${chunk}\n`.repeat(count);
    // Behind the throw of the last one Node would never tell of the end.
    stream.write(text, chunk < chunks ? () => mine.step() : undefined);
    if (random.chance(0.4)) await action.pause();
  }
  stream.end();
  const { error } = await outcomeOf(action.inTime('a COPY whose callback throws', over));
  action.settle('copyFrom with throws', place, error, { unit });
}

async function inCallbacks(action, place) {
  const count = action.random.int(1, 12);
  const mine = new Mine(action, 'a callback of query()', count);
  const calls = Array.from({ length: count }, () => {
    const statement = action.newStatement('writes');
    const unit = action.openUnit(statement.rows);
    return new Promise((resolve) => {
      let times = 0;
      place.on.query(statement.query, (error, result) => {
        if (++times > 1) action.fault('a callback that has thrown was called again');
        action.judge(statement, place, error ?? undefined, result, { unit });
        resolve(undefined);
        mine.step();
      });
    });
  });
  await action.inTime('callbacks that throw', Promise.all(calls));
}

/** Borrows a client for it. */
const onClient = (run) =>
  async function (action, place) {
    const { value: client, error } = await outcomeOf(place.on.connect());
    action.settle('connect', place, error);
    if (client === undefined) return;
    await run(action, place, client);
    client.release(action.random.chance(0.3));
  };

const inNotices = onClient(async (action, place, client) => {
  const count = action.random.int(1, 8);
  const mine = new Mine(action, 'a listener of notices', count);
  let heard = 0;
  client.on('notice', () => {
    ++heard;
    mine.step();
  });
  const calls = Array.from({ length: count }, async () => {
    const id = action.ledger.newId();
    const unit = action.openUnit([[id, 1]]);
    const { error } = await outcomeOf(client.query('select noisy($1)', [id]));
    action.settle('noisy', place, error, { unit });
  });
  await action.inTime('queries with notices', Promise.all(calls));
  if (heard !== count) action.fault(`${heard} of ${count} notices were heard`);
  client.removeAllListeners('notice');
});

const inNotifications = onClient(async (action, place, client) => {
  const count = action.random.int(1, 8);
  const channel = `throwing_${action.ledger.newId()}`;
  const mine = new Mine(action, 'a listener of notifications', count);
  const heard = [];
  const all = new Promise((resolve) => {
    client.on('notification', ({ payload }) => {
      heard.push(Number(payload));
      if (heard.length === count) resolve(undefined);
      mine.step();
    });
  });
  await client.query(`listen ${channel}`);
  for (let number = 1; number <= count; ++number) {
    client.query('select pg_notify($1, $2)', [channel, String(number)]).catch(() => {});
  }
  await action.inTime('notifications', all);
  checkWhole(action, 'notifications', heard, count);
  client.removeAllListeners('notification');
});

async function inSubscription(action, place) {
  const count = action.random.int(1, 8);
  const channel = `throwing ${action.ledger.newId()}`;
  const mine = new Mine(action, 'a handler of listen()', count);
  const heard = [];
  const called = new Promise((resolve) => {
    place.on
      .listen(channel, (payload) => {
        heard.push(Number(payload));
        if (heard.length === count) resolve(undefined);
        mine.step();
      })
      .then(async (subscription) => {
        for (let number = 1; number <= count; ++number) {
          await place.on.notify(channel, String(number));
        }
        return subscription;
      })
      .then((subscription) => called.then(() => subscription.unlisten()))
      .catch((error) => action.settle('listen', place, error));
  });
  await action.inTime('a subscription', called);
  checkWhole(action, 'a subscription', heard, count);
}

/** Rows by events, as `pg` has them: what behind the throw still comes is not promised, but an end is. */
const inQueryEvents = onClient(async (action, place, client) => {
  const { random } = action;
  const count = random.int(1, 20);
  const mine = new Mine(action, 'a listener of rows', count);
  const query = new Query('select g from generate_series(1, $1::int) g', [count]);
  query.on('row', () => mine.step());
  const over = new Promise((resolve) => {
    query.on('end', () => resolve(undefined));
    query.on('error', resolve);
  });
  client.query(query);
  await action.inTime('a Query whose listener throws', over);
  const { error } = await outcomeOf(
    action.inTime('what comes behind it', client.query('select 1 as one')),
  );
  action.settle('behind a throw', place, error);
});

const inCursor = onClient(async (action, place, client) => {
  const { random } = action;
  const count = random.int(1, 40);
  const size = random.int(1, 15);
  const mine = new Mine(action, 'a callback of pg-cursor', Math.ceil(count / size));
  const cursor = client.query(new Cursor('select g from generate_series(1, $1::int) g', [count]));
  const seen = [];
  const over = new Promise((resolve) => {
    const read = () =>
      cursor.read(size, (error, rows) => {
        if (error) resolve(error);
        else {
          seen.push(...rows.map(({ g }) => g));
          if (rows.length < size) resolve(undefined);
          else setImmediate(read);
        }
        mine.step();
      });
    read();
  });
  const error = await action.inTime('a cursor whose callback throws', over);
  action.settle('pg-cursor', place, error);
  if (error === undefined) checkWhole(action, 'a cursor', seen, count);
  cursor.close(() => {});
});

const inQueryStream = onClient(async (action, place, client) => {
  const { random } = action;
  const count = random.int(1, 400);
  const mine = new Mine(action, 'a listener of pg-query-stream', count);
  const stream = client.query(
    new QueryStream('select g from generate_series(1, $1::int) g', [count]),
  );
  stream.on('data', () => mine.step(() => keepFlowing(stream)));
  stream.on('error', () => {});
  // Its own loop over the rows is broken by a throw.
  await Promise.race([once(stream, 'end'), delay(FOREIGN_MILLIS)]);
  stream.destroy();
  const { error } = await outcomeOf(
    action.inTime('what comes behind it', client.query('select 1 as one')),
  );
  action.settle('behind a throw', place, error);
});

const channels = tracingChannel('pg-conduit:query');

async function inTracing(action, place) {
  const { random } = action;
  const event = random.pick(['start', 'end', 'asyncStart', 'asyncEnd', 'error']);
  const count = random.int(1, 10);
  const mark = `-- traced ${action.ledger.newId()}`;
  const mine = new Mine(action, `a subscriber of ${event}`, count);
  const subscriber = (/** @type {any} */ { text }) => {
    if (text.endsWith(mark)) mine.step();
  };
  channels[event].subscribe(subscriber);
  try {
    const runs = Array.from({ length: count }, () => {
      const statement = action.newStatement('all');
      statement.query.text += ` ${mark}`;
      if (statement.query.name) delete statement.query.name;
      return action.run(place, statement);
    });
    await action.inTime('traced queries', Promise.all(runs));
  } finally {
    channels[event].unsubscribe(subscriber);
  }
}

const WHERE = [
  [inStream, 4],
  [inCopyTo, 2],
  [inCopyFrom, 2],
  [inCallbacks, 3],
  [inNotices, 2],
  [inNotifications, 1],
  [inSubscription, 1],
  [inQueryEvents, 1],
  [inCursor, 1],
  [inQueryStream, 1],
  [inTracing, 2],
];

/** Some places, one after the other or at once. */
async function throwing(action) {
  const { random } = action;
  const options = { ...calmOptions(random), maxWaiting: Infinity };
  await withPool(action, 'pool of throwers', options, async (place) => {
    await amongOthers(action, place, async () => {
      const runs = Array.from({ length: random.int(1, 4) }, () => random.weighted(WHERE));
      if (random.chance(0.5)) {
        await Promise.all(runs.map((run) => run(action.part(random.fork()), place)));
      } else {
        for (const run of runs) await run(action, place);
      }
    });
  });
}

module.exports = { Mine, amongOthers, throwing };
