'use strict';

// transaction() with the option retry, when the server's words about COMMIT prove nothing: what may have
// been committed is never run again. By a scripted server.

const assert = require('node:assert/strict');
const m = require('../support/messages');
const { outcomeOf } = require('../support/outcomes');
const { inTime, useScript } = require('../support/scripts');

const INSERT = 'insert into t values (1)';

describe('A transaction with retry, when the server raises a serialization failure at COMMIT', () => {
  const script = useScript();
  const tagged = (tag) => () => ({ columns: [], rows: [], tag });
  const conflict = (severity) =>
    m.errorMessage({ S: severity, V: severity, C: '40001', M: 'conflict' });

  /**
   * @param {string} at the statement that fails, once
   * @param {Buffer[]} said
   * @param {boolean} ends the connection then
   */
  async function run(at, said, ends) {
    script.server.statements = {
      BEGIN: tagged('BEGIN'),
      COMMIT: tagged('COMMIT'),
      ROLLBACK: tagged('ROLLBACK'),
    };
    let hasFailed = false;
    script.server.reply = (sane, { texts, session }) => {
      if (hasFailed || !texts.includes(at)) return sane;
      hasFailed = true;
      session.say(said);
      if (ends) session.end();
      return undefined;
    };
    let attempts = 0;
    const pool = script.newPool({ max: 1 });
    const outcome = await inTime(
      'the transaction',
      outcomeOf(
        pool.transaction(
          async (tx) => {
            ++attempts;
            await tx.query(INSERT, []);
          },
          { retry: { serialization: 3 } },
        ),
      ),
    );
    return { attempts, ...outcome };
  }

  const complete = [m.PARSE_COMPLETE, m.BIND_COMPLETE, m.NO_DATA];
  const doubtful = [
    ['and ends the session', [conflict('FATAL')], true, 'unknown'],
    ['and ends the session, by PANIC', [conflict('PANIC')], true, 'unknown'],
    ['as the end of the session, which goes on', [conflict('FATAL'), m.ready()], false, 'unknown'],
    // COMMIT is not on the list of what a rollback undoes.
    ['and is gone before its ReadyForQuery', [...complete, conflict('ERROR')], true, 'unknown'],
  ];
  for (const [what, said, ends, outcome] of doubtful) {
    it(`is not run again, and reports ${outcome}: ${what}`, async () => {
      const { attempts, error } = await run('COMMIT', said, ends);
      assert.equal(attempts, 1);
      assert.equal(error.outcome, outcome, error.stack);
    });
  }

  it('is run again if the session continues', async () => {
    const { attempts, error } = await run('COMMIT', [conflict('ERROR'), m.ready()], false);
    assert.equal(error, undefined);
    assert.equal(attempts, 2);
  });

  it('reports not-run if the session has ended before COMMIT', async () => {
    const { attempts, error } = await run(INSERT, [conflict('FATAL')], true);
    assert.equal(attempts, 1);
    assert.equal(error.outcome, 'not-run');
  });
});
