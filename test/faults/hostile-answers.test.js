'use strict';

// Answers that are wrong: messages that nobody knows, in the wrong order, too many or too few, with
// lengths that lie. Whatever comes, each query ends in its own rows or in an error that says that it
// may have run; no other query gets them; and the pool is well again. By a scripted server.

const assert = require('node:assert/strict');
const { binding } = require('../../lib/native');
const m = require('../support/messages');
const { errorOf } = require('../support/outcomes');
const { seen, until } = require('../support/outside');
const {
  allInTime,
  assertOwn,
  at,
  before,
  behind,
  describeEcho,
  echo,
  inTime,
  instead,
  once,
  typeOf,
  useScript,
  without,
} = require('../support/scripts');

const UNKNOWN = m.message('?');
const COLUMNS = [
  { name: 'i', oid: m.OID.int4 },
  { name: 't', oid: m.OID.text },
];
const OTHER_ROWS = m.rowDescription(COLUMNS);
const OTHER_ROW = m.dataRow(['99', 'another']);
const COMPLETE = m.commandComplete('SELECT 1');
const FAILURE = m.errorMessage({ S: 'ERROR', V: 'ERROR', C: '22012', M: 'said so' });
const NULL = m.int32(-1);
const row = (...parts) => m.message('D', Buffer.concat(parts));

const OWN = 'own';
const UNREADABLE = 'unreadable';
const LOST = 'lost unknown';

/** What is said: how it changes the first of three answers, what becomes of it, and of the others. */
const WRONG = [
  ['something unknown before ParseComplete', before('1', UNKNOWN), LOST, LOST],
  ['something unknown before BindComplete', before('2', UNKNOWN), LOST, LOST],
  ['something unknown before RowDescription', before('T', UNKNOWN), LOST, LOST],
  ['something unknown before DataRow', before('D', UNKNOWN), UNREADABLE, OWN],
  ['something unknown before CommandComplete', before('C', UNKNOWN), LOST, LOST],
  ['something unknown before ReadyForQuery', before('Z', UNKNOWN), UNREADABLE, OWN],
  ['no ParseComplete', without('1'), OWN, OWN],
  ['no BindComplete', without('2'), OWN, OWN],
  ['BindComplete twice', behind('2', m.BIND_COMPLETE), OWN, OWN],
  ['no RowDescription', without('T'), UNREADABLE, OWN],
  ['RowDescription twice', behind('T', OTHER_ROWS), LOST, LOST],
  ['NoData, and rows', instead('T', m.NO_DATA), UNREADABLE, OWN],
  ['NoData among the rows', before('D', m.NO_DATA), OWN, OWN],
  ['no CommandComplete', without('C'), LOST, LOST],
  ['CommandComplete twice', behind('C', COMPLETE), LOST, LOST],
  ['rows of two answers', behind('C', [OTHER_ROWS, OTHER_ROW, COMPLETE]), LOST, LOST],
  ['EmptyQueryResponse at the end of rows', instead('C', m.EMPTY_QUERY), LOST, LOST],
  ['EmptyQueryResponse among the rows', before('C', m.EMPTY_QUERY), LOST, LOST],
  ['PortalSuspended', instead('C', m.PORTAL_SUSPENDED), UNREADABLE, OWN],
  ['ReadyForQuery before the rows', before('D', m.ready()), LOST, LOST],
  ['ReadyForQuery before CommandComplete', before('C', m.ready()), LOST, LOST],
  ['ReadyForQuery twice', behind('Z', m.ready()), OWN, LOST],
  ['no ReadyForQuery', without('Z'), LOST, LOST],
  ['CopyInResponse', instead('T', m.copyResponse('G')), LOST, LOST],
  ['CopyOutResponse', instead('T', m.copyResponse('H')), LOST, LOST],
  ['CopyBothResponse', instead('T', m.copyResponse('W')), LOST, LOST],
  ['CopyInResponse after the rows', before('C', m.copyResponse('G')), LOST, LOST],
  ['CopyInResponse after CommandComplete', before('Z', m.copyResponse('G')), LOST, LOST],
  ['CopyData among the rows', before('D', m.message('d', Buffer.from('x'))), OWN, OWN],
  ['CopyDone among the rows', before('D', m.COPY_DONE), OWN, OWN],
  ['another AuthenticationOk', before('D', m.AUTHENTICATION_OK), UNREADABLE, OWN],
  ['another key', before('D', m.backendKeyData(1, 'abcd')), OWN, OWN],
  ['half a key', before('D', m.backendKeyData(1, 'ab')), LOST, LOST],
  ['parameters that nobody asked for', before('T', m.message('t', m.int16(0))), LOST, LOST],
  ['more parameters than fit', before('T', m.message('t', m.int16(-1))), UNREADABLE, OWN],
  ['a row with a column too few', instead('D', m.dataRow(['1'])), UNREADABLE, OWN],
  ['a row with a column too many', instead('D', m.dataRow(['1', '2', '3'])), UNREADABLE, OWN],
  ['a row of 65535 columns', instead('D', row(m.int16(65535))), UNREADABLE, OWN],
  ['a row without a count', instead('D', row()), UNREADABLE, OWN],
  ['a field that ends before it begins', instead('D', row(m.int16(2), NULL)), UNREADABLE, OWN],
  [
    'a field longer than its message',
    instead('D', row(m.int16(2), m.int32(1000), Buffer.from('1'), NULL)),
    UNREADABLE,
    OWN,
  ],
  [
    'a field of 2 GB',
    instead('D', row(m.int16(2), m.int32(2 ** 31 - 1), Buffer.from('1'), NULL)),
    UNREADABLE,
    OWN,
  ],
  [
    'a row with something behind it',
    instead('D', row(m.int16(2), m.int32(1), Buffer.from('1'), NULL, Buffer.from('rest'))),
    LOST,
    LOST,
  ],
  ['columns without their end', at('T', (t) => m.message('T', t.subarray(5, 9))), UNREADABLE, OWN],
  ['65535 columns, and none', instead('T', m.message('T', m.int16(65535))), UNREADABLE, OWN],
  ['a tag without its end', instead('C', m.message('C', Buffer.from('SELECT 1'))), UNREADABLE, OWN],
  ['no tag at all', instead('C', m.message('C')), UNREADABLE, OWN],
  ['a message of no length', instead('D', m.withLength('D', 0)), LOST, LOST],
  ['a message shorter than its length', instead('D', m.withLength('D', 3)), LOST, LOST],
  ['a message of negative length', instead('D', m.withLength('D', -1)), LOST, LOST],
  ['a short message of 40 kB', instead('Z', m.message('Z', Buffer.alloc(40000))), LOST, LOST],
  ['an error, and CommandComplete', before('C', FAILURE), LOST, LOST],
  ['an error of no fields', () => [m.message('E', Buffer.alloc(1)), m.ready()], UNREADABLE, OWN],
  ['an error of nothing', () => [m.message('E'), m.ready()], UNREADABLE, OWN],
  [
    'an error with half a field',
    () => [m.message('E', Buffer.from('SERROR')), m.ready()],
    UNREADABLE,
    OWN,
  ],
  [
    'an error without SQLSTATE',
    () => [m.errorMessage({ S: 'ERROR', M: 'why' }), m.ready()],
    UNREADABLE,
    OWN,
  ],
  [
    'an error with unknown fields',
    () => [m.errorMessage({ S: 'ERROR', V: 'ERROR', C: '22012', M: 'x', Y: 'y' }), m.ready()],
    '22012 not-run',
    OWN,
  ],
  ['two errors', () => [FAILURE, FAILURE, m.ready()], '22012 not-run', OWN],
  [
    'client_encoding of another kind',
    before('Z', m.parameterStatus('client_encoding', 'LATIN1')),
    LOST,
    LOST,
  ],
  [
    'client_encoding of another kind before the rows',
    before('D', m.parameterStatus('client_encoding', 'LATIN1')),
    LOST,
    LOST,
  ],
  [
    'settings without harm',
    before('D', [
      m.parameterStatus('client_encoding', 'UTF8'),
      m.parameterStatus('standard_conforming_strings', 'off'),
      m.parameterStatus('DateStyle', 'German'),
    ]),
    OWN,
    OWN,
  ],
];

/** Before the server ends the connection, of which the others hear. */
const WRONG_AT_END = [
  ['a message of 1 GB', instead('D', m.withLength('D', 2 ** 30)), LOST],
  ['a message of 2 GB', instead('D', m.withLength('D', 2 ** 31 - 1)), LOST],
  ['half a setting', before('Z', m.message('S', Buffer.from('x'))), UNREADABLE],
  ['half a notification', before('Z', m.message('A', Buffer.from('x'))), LOST],
];

/** Answers to nobody. */
const UNASKED = [
  ['something unknown', [UNKNOWN]],
  ['ReadyForQuery', [m.ready()]],
  ['CommandComplete', [COMPLETE]],
  ['a whole answer', [OTHER_ROWS, OTHER_ROW, COMPLETE, m.ready()]],
  ['CopyInResponse', [m.copyResponse('G')]],
  ['AuthenticationOk', [m.AUTHENTICATION_OK]],
];

/** More uses than it takes until a description is no longer asked for. */
const KNOWN = 300;
/** What can be wrong without a description, too. */
const WITHOUT_DESCRIPTION = WRONG.filter(([, change]) => {
  try {
    return change([m.BIND_COMPLETE, OTHER_ROW, COMPLETE, m.ready()]);
  } catch {
    return false;
  }
});
/** What is wrong if there is none. An installed libpq always asks for one. */
const WRONG_UNDESCRIBED = [
  ...WITHOUT_DESCRIPTION,
  ['a description', behind('2', OTHER_ROWS), OWN, OWN],
  ['another description', behind('2', m.rowDescription(COLUMNS.slice(1))), OWN, OWN],
  ['a description behind the rows', before('C', OTHER_ROWS), LOST, LOST],
  ['NoData', behind('2', m.NO_DATA), OWN, OWN],
  ['another BindComplete behind the rows', before('C', m.BIND_COMPLETE), LOST, LOST],
  ["another's rows without an end between", before('C', [m.BIND_COMPLETE, OTHER_ROW]), LOST, LOST],
  ['rows of two answers without descriptions', behind('C', [OTHER_ROW, COMPLETE]), LOST, LOST],
  ['CopyInResponse in place of the rows', instead('D', m.copyResponse('G')), LOST, LOST],
  ['CopyOutResponse in place of the rows', instead('D', m.copyResponse('H')), LOST, LOST],
  ['CopyBothResponse in place of the rows', instead('D', m.copyResponse('W')), LOST, LOST],
];

/** @param {string[]} outcomes @param {string} first @param {string} others */
function assertOutcomes([of, ...rest], first, others) {
  assert.equal(of, first);
  // What a slow machine had not sent yet has gone elsewhere.
  for (const outcome of rest) if (outcome !== OWN) assert.equal(outcome, others);
}

describe('A server that sends wrong answers', () => {
  const script = useScript();

  for (const [kind, uses] of [
    ['first', 0],
    ['prepared', 4],
  ]) {
    describe(`to ${kind} uses of a text`, () => {
      for (const [what, change, first, others] of WRONG) {
        if (uses > 0 && what.endsWith('ParseComplete')) continue;
        it(`with ${what} gives each query its own result or a correct outcome`, async () => {
          const pool = script.newPool({ syncGroup: 'off' });
          for (let use = 0; use < uses; ++use) assertOwn(await echo(pool, use), use);
          script.server.reply = once(change);
          assertOutcomes(await script.echoes(pool, [1, 2, 3]), first, others);
          await script.recovers(pool);
        });
      }

      for (const [what, change, first] of WRONG_AT_END) {
        it(`with ${what} and then closes gives each query its own result or a correct outcome`, async () => {
          const pool = script.newPool({ syncGroup: 'off' });
          for (let use = 0; use < uses; ++use) assertOwn(await echo(pool, use), use);
          script.server.reply = (sane, { texts, session }) => {
            if (texts.length === 0) return sane;
            session.say(change(sane));
            session.end();
            return undefined;
          };
          assertOutcomes(await script.echoes(pool, [1, 2, 3]), first, LOST);
          await script.recovers(pool);
        });
      }
    });
  }

  describe('to uses of a text whose columns are known', () => {
    for (const [what, change, first, others] of binding.omitsDescribe ? WRONG_UNDESCRIBED : []) {
      it(`with ${what} gives each query its own result or a correct outcome`, async () => {
        const pool = script.newPool({ syncGroup: 'off' });
        for (let use = 0; use < KNOWN; ++use) assertOwn(await echo(pool, use), use);
        script.server.reply = once((sane) => {
          assert.ok(!sane.some((said) => typeOf(said) === 'T'));
          return change(sane);
        });
        const [of, ...rest] = await script.echoes(pool, [1, 2, 3]);
        // What is refused may end the connection, or not.
        const allowed = [UNREADABLE, LOST].includes(first) ? [UNREADABLE, LOST] : [first];
        assert.ok(allowed.includes(of), of);
        for (const outcome of rest) assert.ok([OWN, others].includes(outcome), outcome);
        await script.recovers(pool);
      });
    }
  });

  for (const [what, said, first = LOST] of [
    ['an error of nothing', m.message('E')],
    ['an error without SQLSTATE', m.errorMessage({ S: 'ERROR', M: 'why' })],
    ['half a list of parameters', m.message('t')],
    ['half a list of columns', m.message('T')],
    ['CopyBothResponse', m.message('W'), UNREADABLE],
  ]) {
    it(`with ${what} in place of ParseComplete may have executed the statement`, async () => {
      const pool = script.newPool({ syncGroup: 'off' });
      // At its second use a text is prepared, by a Parse that is answered by itself.
      assertOwn(await echo(pool, 1), 1);
      script.server.reply = once(instead('1', said));
      assertOutcomes(await script.echoes(pool, [2, 3]), first, LOST);
      await script.recovers(pool);
    });
  }

  // Places in a sane answer to three: BindComplete, RowDescription, DataRow, CommandComplete each.
  const DESCRIBED = [
    ["with another's row behind its own", [0, 1, 2, 6, 3, 4, 5, 7, 8, 9, 10, 11], 4],
    ['with its row in the place of the next', [0, 1, 3, 4, 5, 2, 6, 7, 8, 9, 10, 11], 4],
    ['with its end before its beginning', [11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 4],
  ];
  // The same without the description.
  const UNDESCRIBED = [
    ["with another's row behind its own, undescribed", [0, 1, 4, 2, 3, 5, 6, 7, 8], KNOWN],
    ['with its row in the place of the next, undescribed', [0, 2, 3, 1, 4, 5, 6, 7, 8], KNOWN],
    ['with its end before its beginning, undescribed', [8, 0, 1, 2, 3, 4, 5, 6, 7], KNOWN],
    ['with its end behind the row of the next, undescribed', [0, 1, 3, 4, 2, 5, 6, 7, 8], KNOWN],
  ];
  for (const [what, order, uses] of [...DESCRIBED, ...(binding.omitsDescribe ? UNDESCRIBED : [])]) {
    it(`to members of a Sync group ${what} is trusted by none of them`, async () => {
      const pool = script.newPool({ syncGroup: 'all' });
      for (let use = 0; use < uses; ++use) assertOwn(await echo(pool, use), use);
      let isChanged = false;
      let answered = 0;
      let together = 0;
      // On a busy machine a text may cost too much for a while, and then they share none.
      script.server.reply = (sane) => {
        const members = sane.filter((said) => typeOf(said) === 'C').length;
        if (isChanged || members < 3) {
          if (!isChanged) answered += members;
          return sane;
        }
        isChanged = true;
        together = members;
        // The first three of them.
        return [...order.map((place) => sane[place]), ...sane.slice(order.length)];
      };
      const numbers = Array.from({ length: 24 }, (_, i) => i);
      const outcomes = await until('at least three share a Sync', async () => {
        answered = 0;
        const echoes = await script.echoes(pool, numbers);
        return isChanged ? echoes : undefined;
      });
      assert.ok(!outcomes.slice(0, answered).includes(LOST));
      const told = outcomes.slice(answered, answered + together);
      assert.deepEqual(told, Array(together).fill(LOST));
      await script.recovers(pool);
      assert.equal(script.server.count, 2);
    });
  }

  it('with a wrong number of rows each time gets no more than the rows that it sends delivered', async () => {
    const pool = script.newPool({ syncGroup: 'all' });
    script.server.reply = (sane) =>
      sane.map((said) => (typeOf(said) === 'C' ? m.commandComplete('SELECT 9') : said));
    for (let use = 0; use < 4; ++use) {
      const answers = await allInTime([echo(pool, 1), echo(pool, 2), echo(pool, 3)]);
      answers.forEach(({ value }, index) => {
        assert.deepEqual(value.rows, [{ i: index + 1, t: `v${index + 1}` }]);
      });
    }
    assert.equal(script.server.count, 1);
  });

  describe('when no query is in flight', () => {
    for (const [what, said] of UNASKED) {
      it(`loses the connection with ${what}, before another query takes it for its own answer`, async () => {
        const pool = script.newPool();
        assertOwn(await echo(pool, 1), 1);
        const told = seen(pool, 'error');
        script.server.say(Buffer.concat(said));
        await inTime('the error event', told);
        assertOwn(await inTime('a query', echo(pool, 2)), 2);
        assert.equal(script.server.count, 2);
      });

      it(`loses the connection with ${what} directly after the answer to another query`, async () => {
        const pool = script.newPool();
        script.server.reply = once((sane) => [...sane, ...said]);
        assertOwn(await inTime('a query', echo(pool, 1)), 1);
        assertOwn(await inTime('a query', echo(pool, 2)), 2);
        assert.equal(script.server.count, 2);
      });

      it(`is refused when it also sends ${what}`, async () => {
        const { handshake } = script.server;
        script.server.handshake = [(body) => [...handshake[0](body), ...said]];
        const client = script.newClient();
        const error = await errorOf(inTime('connect', client.connect()));
        assert.match(error.message, /an answer that nobody asked for/);
        assert.equal(error.outcome, 'not-run');
      });
    }

    it('may send notices, settings and notifications', async () => {
      const client = await script.connect();
      const told = { notice: [], notification: [] };
      for (const [event, list] of Object.entries(told)) client.on(event, (one) => list.push(one));
      script.server.say(
        Buffer.concat([
          m.notice({ S: 'NOTICE', V: 'NOTICE', C: '00000', M: 'hello' }),
          m.notice({ S: 'NOTICE', M: 'a pooler that gives no SQLSTATE' }),
          m.parameterStatus('application_name', 'x'),
          m.notification(7, 'channel', 'payload'),
        ]),
      );
      await until('all are there', () => told.notice.length === 2 && told.notification.length > 0);
      assert.equal(told.notice[0].message, 'hello');
      assert.equal(told.notification[0].payload, 'payload');
      assertOwn(await inTime('a query', echo(client, 1)), 1);
      assert.equal(script.server.count, 1);
    });

    it('may send an error, which is the reason when it closes', async () => {
      const client = await script.connect();
      /** @type {any[]} */
      const errors = [];
      client.on('error', (error) => errors.push(error));
      script.server.say(m.errorMessage({ S: 'FATAL', V: 'FATAL', C: '57P01', M: 'maintenance' }));
      for (const session of script.server.sessions) session.end();
      await until('it is told', () => errors.length === 1);
      assert.match(errors[0].message, /maintenance/);
      assert.equal(errors[0].cause.code, '57P01');
    });

    it('cannot change client_encoding', async () => {
      const client = await script.connect();
      const told = seen(client, 'error');
      script.server.say(m.parameterStatus('client_encoding', 'SJIS'));
      await inTime('the error event', told);
      const error = await errorOf(echo(client, 1));
      assert.match(error.detail, /client_encoding is not UTF8/);
      assert.equal(error.outcome, 'not-run');
    });
  });

  describe('about transactions', () => {
    for (const status of ['T', 'E']) {
      it(`loses its connection when ReadyForQuery has the status ${JSON.stringify(status)}`, async () => {
        const pool = script.newPool({ syncGroup: 'off' });
        assertOwn(await echo(pool, 1), 1);
        script.server.reply = (sane) => instead('Z', m.ready(status))(sane);
        const error = await errorOf(inTime('a query', echo(pool, 2)));
        assert.match(error.message, /began a transaction/);
        await script.recovers(pool);
        assert.equal(script.server.count, 2);
      });
    }
  });

  for (const status of ['?', '\0', 'i']) {
    it(`loses its connection when ReadyForQuery has the invalid status ${JSON.stringify(status)}`, async () => {
      const pool = script.newPool({ syncGroup: 'off' });
      assertOwn(await echo(pool, 1), 1);
      script.server.reply = (sane) => instead('Z', m.ready(status))(sane);
      // It proves nothing: that was done may be there to stay.
      assert.deepEqual(await script.echoes(pool, [2]), [LOST]);
      await script.recovers(pool);
      const client = await script.connect();
      client.on('error', () => {});
      script.server.reply = once(instead('Z', m.ready(status)));
      const error = await errorOf(inTime('the text', client.query('select 1; select 2')));
      assert.equal(error.outcome, 'unknown');
    });
  }

  it('cannot add rows to a query by a second, wrong row description', async () => {
    const pool = script.newPool({ syncGroup: 'off' });
    // Prepared with two columns, and then executed with one.
    for (let use = 0; use < 4; ++use) assertOwn(await echo(pool, use), use);
    script.server.reply = once((sane) => [
      m.BIND_COMPLETE,
      m.rowDescription([{ name: 'other', oid: m.OID.text }], 1),
      m.dataRow(['x']),
      COMPLETE,
      sane.at(-1) ?? m.ready(),
    ]);
    const [first] = await allInTime([echo(pool, 1)]);
    assert.deepEqual(first.value.rows, [{ other: 'x' }]);
    const [second] = await allInTime([echo(pool, 2)]);
    assert.equal(describeEcho(second, 2), OWN);
  });
});
