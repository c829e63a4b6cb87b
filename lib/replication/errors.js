'use strict';

// The errors of subscriptions, with what to do: many of the server's reasons lie in its configuration. Used by
// session.js, slot.js and subscription.js.

const { ConnectionError, DatabaseError, HOOK_CODE, ReplicationError } = require('../base');

/** The stream of messages has ended, whatever for: another connection may go on. */
class StreamEnd extends Error {
  /** @param {Error} reason @param {boolean} [isWanted] whether it was this side that ended it */
  constructor(reason, isWanted = false) {
    super(reason.message, { cause: reason });
    this.reason = reason;
    this.isWanted = isWanted;
  }
}

/** By SQLSTATE, if the message is one of these. @type {[code: string, message: RegExp, hint: string][]} */
const HINTS = [
  [
    '42501',
    /WAL ?sender|replication/i,
    'the role needs the attribute REPLICATION: "alter role … replication", or rds_replication on Amazon RDS',
  ],
  [
    '28000',
    /replication/i,
    'pg_hba.conf must let the role connect to the database; a line with the database "replication" is not for this',
  ],
  [
    '55006',
    /is active/,
    'another connection reads this slot: give each subscription a slot of its own. If that was a process which has died, the server notices it within wal_sender_timeout',
  ],
  [
    '53400',
    /replication slots/,
    'drop slots that nobody reads (pg_replication_slots), or raise max_replication_slots',
  ],
  ['53300', /max_wal_senders|standby connections/, 'raise max_wal_senders, which needs a restart'],
  [
    '42704',
    /publication/,
    'the changes in the slot begin before the publication was created: drop the slot, and subscribe again',
  ],
];

/** Classes of SQLSTATE that pass by: connections, resources, the operator; and a slot that is in use. */
const PASSING = /^(?:08|53|57|55006)/;
/** Those of connections that do not: the options are wrong. */
const STAYING = new Set([HOOK_CODE, 'ERR_PG_CONDUIT_TLS']);

/**
 * @param {any} error that a connection, or its server, has told
 * @returns {Error}
 */
function explain(error) {
  if (!(error instanceof DatabaseError) && !(error instanceof ConnectionError)) return error;
  const hint = HINTS.find(([code, text]) => error.code === code && text.test(error.message))?.[2];
  if (hint !== undefined) error.hint ??= hint;
  return error;
}

/** @param {any} error @returns {boolean} whether another attempt may succeed, however long it takes */
function mayPass(error) {
  if (error instanceof ConnectionError) return !STAYING.has(String(error.code));
  return error instanceof DatabaseError && PASSING.test(String(error.code));
}

/** @param {string} level */
function walLevelError(level) {
  return new ReplicationError(`the server has wal_level = ${level}, and does not decode its log`, {
    hint: '"alter system set wal_level = logical", and restart the server (rds.logical_replication = 1 on Amazon RDS)',
  });
}

/** @param {string[]} missing names of publications @param {string | null} database */
function publicationError(missing, database) {
  const names = missing.map((name) => `"${name}"`).join(', ');
  const [kind, are] = missing.length === 1 ? ['publication', 'does'] : ['publications', 'do'];
  return new ReplicationError(`${kind} ${names} ${are} not exist in database "${database}"`, {
    hint: `create it before the slot: "create publication ${missing[0]} for table …"`,
  });
}

/** @param {string} slot @param {string} what is wrong with it */
function slotError(slot, what) {
  return new ReplicationError(`the replication slot "${slot}" ${what}`, {
    hint: 'subscribe with another name, or drop that slot: pg_drop_replication_slot()',
  });
}

/** @type {Record<import('./options').Gap['reason'], string>} */
const REASONS = {
  'slot-created': 'the slot did not exist',
  'slot-lost': 'the slot is gone, or the server has removed the log that it needs',
  'slot-moved': 'the slot stands behind this position already',
  'server-behind': 'the server has not come so far: it has lost what it had, or was restored',
  'other-server': 'this is another server, or one that was made anew',
  'transaction-missing': 'the rest of the transaction was not sent again',
};

/** @param {import('./options').Gap} gap that nobody is told of */
function gapError({ reason, slot, from }) {
  const message = `changes behind ${from ?? 'the beginning'} cannot be told: ${REASONS[reason]} (slot "${slot}")`;
  return new ReplicationError(message, {
    hint: 'with the option onGap the subscription goes on: read the tables again there',
  });
}

/** @param {string} slot @param {Error} cause */
function unconfirmedError(slot, cause) {
  return new ReplicationError(
    `the subscription was closed, and the server could not be told what it has read: that comes again (slot "${slot}")`,
    { cause, hint: 'the option from of the next subscription says where it is to begin' },
  );
}

module.exports = {
  explain,
  gapError,
  mayPass,
  publicationError,
  slotError,
  StreamEnd,
  unconfirmedError,
  walLevelError,
};
