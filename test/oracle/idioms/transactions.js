'use strict';

// Blocks of transactions, locks, cursors and prepared statements.

const { ERRORS, READS, WRITES, id, n } = require('../statements');
const { last, some } = require('./parts');

/** @type {readonly import('./parts').Idiom[]} */
const TRANSACTIONS = [
  [
    (r) => ({
      parts: [
        r.pick([
          'begin',
          'BEGIN',
          'begin;',
          'start transaction',
          'begin isolation level repeatable read',
        ]),
        ...some(r, 0, 4, READS, WRITES, WRITES),
        r.weighted([
          ['commit', 6],
          ['rollback', 2],
        ]),
      ],
    }),
    8,
  ],
  [
    (r) => ({
      parts: [
        'begin',
        ...some(r, 1, 2, WRITES),
        'savepoint s1',
        ...some(r, 1, 2, WRITES, ERRORS),
        'rollback to savepoint s1',
        ...some(r, 1, 1, READS),
        'commit',
      ],
    }),
    2,
  ],
  [
    (r) => ({
      parts: [
        'begin',
        ...some(r, 0, 1, WRITES),
        ...some(r, 1, 1, ERRORS),
        ...some(r, 1, 2, READS),
        r.pick(['commit', 'rollback']),
      ],
    }),
    2,
  ],
  [
    (r) => ({
      parts: [
        'begin',
        'begin',
        ...some(r, 1, 1, WRITES),
        r.pick(['commit', 'commit and chain']),
        ...some(r, 0, 1, READS),
        'commit',
      ],
    }),
    1,
  ],
  [
    (r) => ({
      parts: [
        r.pick(['begin', 'begin isolation level serializable']),
        ...some(r, 0, 2, READS),
        'commit and chain',
        ...some(r, 0, 2, WRITES),
        'show transaction_isolation',
        'rollback',
      ],
    }),
    1,
  ],
  // What must come before the first query of a transaction.
  [
    (r) => ({
      parts: [
        r.pick(['begin', 'begin read only', 'start transaction']),
        r.pick([
          'set transaction isolation level repeatable read',
          'set transaction read only',
          'set transaction isolation level serializable, read only, deferrable',
        ]),
        'show transaction_isolation',
        ...some(r, 1, 2, READS, WRITES),
        r.pick(['commit', 'rollback']),
      ],
    }),
    1.5,
  ],
  // A constraint that fails at the commit.
  [
    (r) => ({
      parts: [
        'begin',
        'insert into {h}child values (9, 99)',
        ...some(r, 0, 1, READS),
        r.pick(['commit', 'commit', 'set constraints all immediate']),
        'select count(*)::int as n from {h}child',
        'commit',
      ],
    }),
    1,
  ],
  // The time of a transaction is that of its BEGIN, and stays.
  [
    () => ({
      isWhole: true,
      parts: [
        'begin',
        { text: 'select now()::text as at', isSecret: true },
        {
          text: 'select now() = $1::timestamptz as same, now() < clock_timestamp() as later',
          values: [last('at')],
        },
        'commit',
        { text: 'select now() > $1::timestamptz as later', values: [last('at')] },
      ],
    }),
    0.7,
  ],
  // Read, compute, write.
  [
    (r) => {
      const row = id(r);
      const isLocked = r.chance(0.5);
      const parts = [
        {
          text: `select n from {h}counters where id = $1${isLocked ? ' for update' : ''}`,
          values: [row],
        },
        {
          text: 'update {h}counters set n = $2 where id = $1 returning n',
          values: [row, last('n', n(r))],
        },
      ];
      return { isWhole: true, parts: isLocked ? ['begin', ...parts, 'commit'] : parts };
    },
    2,
  ],
  // A mutex of the application.
  [
    (r) => {
      const lock = id(r);
      return {
        parts: [
          `select pg_advisory_lock({lock}, ${lock})`,
          ...some(r, 1, 3, READS, WRITES),
          `select pg_advisory_unlock({lock}, ${lock})`,
        ],
      };
    },
    1,
  ],
  [
    (r) => ({
      parts: [
        'begin',
        `select pg_advisory_xact_lock({lock}, ${id(r)})`,
        ...some(r, 1, 2, WRITES),
        'commit',
      ],
    }),
    1,
  ],
  // Cursors.
  [
    (r) => ({
      parts: [
        'begin',
        'declare c1 cursor for select id, name from {s}people order by id',
        `fetch ${n(r)} from c1`,
        ...some(r, 0, 1, READS),
        'fetch all from c1',
        'close c1',
        'commit',
      ],
    }),
    1,
  ],
  [
    (r) => ({
      parts: [
        'declare c2 scroll cursor with hold for select id from {s}orders order by id desc',
        'fetch 2 from c2',
        ...some(r, 1, 2, READS),
        'fetch 3 from c2',
        r.pick(['close c2', 'close all']),
      ],
    }),
    1,
  ],
  [() => ({ parts: ['begin', 'select {h}opens()', 'fetch 2 from opened', 'commit'] }), 0.5],
  // Statements by name.
  [
    (r) => ({
      parts: [
        'prepare p1 (int) as select id, n from {h}plain where id = $1',
        ...some(r, 0, 2, READS),
        `execute p1(${id(r)})`,
        `execute p1(${id(r)})`,
        'deallocate p1',
      ],
    }),
    1,
  ],
  [
    (r) => {
      const name = `named${r.int(1, 2)}`;
      const text = r.pick(['select id, t from {h}plain where id = $1', 'select $1::int as other']);
      return { parts: [1, 2, 3].map(() => ({ text, name, values: [id(r)] })) };
    },
    2,
  ],
];

module.exports = { TRANSACTIONS };
