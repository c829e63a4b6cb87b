'use strict';

// The checker of the model test (test/stress/) itself: false histories must be found out, and true ones
// must not. The test is `npm run test:stress`.

const assert = require('node:assert/strict');
const {
  ConnectionError,
  DatabaseError,
  PoolError,
  QueryAbortedError,
  ResultError,
  TransactionError,
} = require('../..');
const { KIND_NAMES, actionsOf, kindsFor } = require('../stress/actions');
const { Journal } = require('../stress/journal');
const { Ledger } = require('../stress/ledger');
const { Notices } = require('../stress/notices');
const { Planted } = require('../stress/planted');
const { Random } = require('../stress/random');
const { allowedErrors, isStale } = require('../stress/staleness');
const { objection, toldByError } = require('../stress/verdicts');

describe('The model test', () => {
  describe('compares the reported outcomes with the rows in the tables', () => {
    /** One unit of two ids, with so many rows each. */
    function compare(told, first, second, more = []) {
      const ledger = new Ledger();
      const unit = ledger.open('a batch');
      unit.rows.set(ledger.newId(), 1).set(ledger.newId(), 3);
      unit.told = told;
      const counts = [[1, first], [2, second], ...more].filter(([, count]) => count > 0);
      return ledger.close(new Map(counts)).map(({ message }) => message);
    }

    for (const [told, first, second] of [
      ['committed', 1, 3],
      ['absent', 0, 0],
      ['either', 1, 3],
      ['either', 0, 0],
    ]) {
      it(`${told}, ${first} and ${second} of 1 and 3 rows, is accepted`, () => {
        assert.deepEqual(compare(told, first, second), []);
      });
    }

    for (const [told, first, second] of [
      ['committed', 0, 0],
      ['committed', 0, 3],
      ['committed', 2, 3],
      ['committed', 1, 2],
      ['absent', 1, 3],
      ['absent', 0, 3],
      ['either', 1, 0],
      ['either', 0, 3],
      ['either', 2, 6],
      ['pending', 1, 3],
      ['pending', 0, 0],
    ]) {
      it(`${told}, ${first} and ${second} of 1 and 3 rows, is a fault`, () => {
        assert.equal(compare(told, first, second).length, 1);
      });
    }

    it('rows that no statement has written are a fault', () => {
      assert.deepEqual(compare('committed', 1, 3, [[7, 1]]), ['nobody has written the id 7']);
    });
  });

  describe('compares received notifications with those sent', () => {
    /** Sends one after the other; `told` of each. */
    function newHistory(...tolds) {
      const notices = new Notices();
      const ledger = new Ledger();
      const subscriber = notices.subscribe('somebody', 'news');
      subscriber.listensAt = notices.now();
      const ids = tolds.map((told) => {
        const id = ledger.newId();
        const unit = ledger.open('notify');
        const note = notices.send('news', id, unit);
        unit.told = told;
        note.settledAt = notices.now();
        return String(id);
      });
      return { notices, subscriber, ids };
    }

    /** @param {{ notices: Notices, subscriber: any }} history @param {...string} payloads */
    function hear({ notices, subscriber }, ...payloads) {
      for (const payload of payloads) subscriber.hear(payload);
      subscriber.completeAt = notices.now();
    }

    it('each once and in order is accepted, and so are doubtful ones', () => {
      const history = newHistory('committed', 'either', 'absent', 'either', 'committed');
      const [first, second, , , last] = history.ids;
      hear(history, first, second, last);
      assert.deepEqual(history.notices.close(), []);
    });

    it('a doubtful one may come later than it was sent', () => {
      const history = newHistory('either', 'committed');
      hear(history, ...history.ids.toReversed());
      assert.deepEqual(history.notices.close(), []);
    });

    for (const [what, choose] of [
      ['one that is missing', ([first]) => [first]],
      ['one that came twice', ([first, second]) => [first, second, second]],
      ['the wrong order', ([first, second]) => [second, first]],
      ['one that was rolled back', ([first, second, third]) => [first, second, third]],
      ['one that nobody has sent', ([first, second]) => [first, second, '99']],
    ]) {
      it(`${what} is a fault`, () => {
        const history = newHistory('committed', 'committed', 'absent');
        hear(history, ...choose(history.ids));
        assert.equal(history.notices.close().length, 1);
      });
    }

    it('one after the end is a fault', () => {
      const history = newHistory('committed');
      history.subscriber.endsAt = history.notices.now();
      hear(history, history.ids[0]);
      assert.equal(history.notices.close().length, 1);
    });

    it('a gap excuses what may have been sent in it', () => {
      const { notices, subscriber } = newHistory('committed', 'committed');
      subscriber.gaps.push(notices.now());
      subscriber.completeAt = notices.now();
      assert.deepEqual(notices.close(), []);
    });

    it('a gap does not excuse a missing one before one that was received', () => {
      const { notices, subscriber, ids } = newHistory('committed', 'committed', 'committed');
      subscriber.hear(ids[1]);
      subscriber.gaps.push(notices.now());
      subscriber.completeAt = notices.now();
      assert.equal(notices.close().length, 1);
    });
  });

  describe('objects to an error', () => {
    const place = {
      options: { query_timeout: 0, statement_timeout: false, maxWaiting: Infinity },
      codes: new Set(),
      mayBeLost: false,
      isEnding: false,
    };
    const fromServer = (code) => new DatabaseError({ S: 'ERROR', V: 'ERROR', C: code, M: 'no' });

    for (const [what, error] of [
      ['that is not ours', new Error('what?')],
      ['of another statement', fromServer('22012')],
      ['of a cancel that nobody has asked for', fromServer('57014')],
      ['of a loss, where nothing is cut', new ConnectionError('lost', { code: 'ECONNRESET' })],
      [
        'of a time limit that there is not',
        new QueryAbortedError('late', 'ERR_PG_CONDUIT_QUERY_TIMEOUT'),
      ],
      ['of a pool that is not ended', new PoolError('ended', 'ERR_PG_CONDUIT_POOL_ENDED')],
      [
        'of a transaction in which nothing failed',
        new TransactionError('no', 'ERR_PG_CONDUIT_TRANSACTION_ABORTED'),
      ],
    ]) {
      it(`${what}`, () => {
        assert.equal(typeof objection(error, place), 'string');
      });
    }

    it('but not to an expected one', () => {
      assert.equal(objection(fromServer('22012'), place, { codes: ['22012'] }), undefined);
      assert.equal(objection(fromServer('57014'), place, { aborts: true }), undefined);
      const lost = new ConnectionError('lost', { code: 'ECONNRESET', outcome: 'unknown' });
      assert.equal(objection(lost, { ...place, mayBeLost: true }), undefined);
    });

    it('and trusts each for what it says about the rows', () => {
      assert.equal(toldByError(undefined), 'committed');
      assert.equal(toldByError(fromServer('22012')), 'absent');
      assert.equal(toldByError(new ConnectionError('lost', { outcome: 'unknown' })), 'either');
      assert.equal(toldByError(new ResultError('unreadable')), 'committed');
    });
  });

  describe('counts the exceptions that it has thrown on purpose', () => {
    /** One that was thrown, and came out, so many times. */
    function compare(thrown, uncaught) {
      const planted = new Planted();
      const error = planted.plant('a listener', new Journal().begin('0/0/0', 'throwing'));
      error.thrown = thrown;
      for (let left = uncaught; left > 0; --left) assert.equal(planted.take(error), true);
      return planted.close().map(({ message }) => message);
    }

    for (const [thrown, uncaught] of [
      [0, 0],
      [1, 1],
      [3, 3],
    ]) {
      it(`thrown ${thrown} times, and ${uncaught} times uncaught, is accepted`, () => {
        assert.deepEqual(compare(thrown, uncaught), []);
      });
    }

    for (const [thrown, uncaught] of [
      [1, 0],
      [1, 2],
      [0, 1],
      [3, 2],
    ]) {
      it(`thrown ${thrown} times, and ${uncaught} times uncaught, is a fault`, () => {
        assert.deepEqual(compare(thrown, uncaught), [
          `what a listener has thrown ${thrown} times came out ${uncaught} times`,
        ]);
      });
    }

    it('another exception is not counted as one of them', () => {
      assert.equal(new Planted().take(new Error('planted in a listener')), false);
    });
  });

  describe('knows which errors callers may get after a migration', () => {
    const told = (code, isForeign, isInTransaction) =>
      allowedErrors({ code }, { isForeign, isInTransaction });

    it('none if the change came through the pool', () => {
      assert.equal(told('0A000', false, false), 0);
      assert.equal(told('0A000', false, true), 0);
      assert.equal(told('42883', false, false), 0);
    });

    it('none if another session made it and the error was raised at Bind', () => {
      assert.equal(told('22003', true, false), 0);
      assert.equal(told('0A000', true, false), 0);
    });

    it('one error inside a transaction, or of a kind that a running statement may raise', () => {
      assert.equal(told('0A000', true, true), 1);
      assert.equal(told('42883', true, false), 1);
    });

    it('and no error with another cause', () => {
      assert.equal(isStale({ code: '42804' }), true);
      assert.equal(isStale({ code: '23505' }), false);
      assert.equal(isStale(new Error('what?')), false);
    });
  });

  it('has each kind of action in some round for every seed', () => {
    const enough = Math.ceil(KIND_NAMES.length / 2);
    const rounds = Array.from({ length: enough }, (_, number) =>
      kindsFor(number, new Random(number)).slice(0, 2),
    );
    assert.deepEqual(new Set(rounds.flat()), new Set(KIND_NAMES));
    for (const kind of KIND_NAMES) assert.ok(actionsOf(kind).length > 0);
  });

  it('makes the same choices from the same seed', () => {
    const choices = (...parts) => {
      const random = new Random(...parts);
      return Array.from({ length: 50 }, () => random.int(0, 1e6));
    };
    assert.deepEqual(choices(1, 2, 3), choices(1, 2, 3));
    for (const other of [
      [1, 2, 4],
      [1, 3, 2],
      [2, 2, 3],
      [1, 2],
    ]) {
      assert.notDeepEqual(choices(...other), choices(1, 2, 3));
    }
  });
});
