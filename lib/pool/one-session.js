'use strict';

// Finds out that all connections lead to one session, which some engines have only one of (PGlite): statements, portals
// and transactions of several connections would get mixed up there. Nothing is sent on the second connection for that:
// it would be in the middle of what is under way on the first. Owned by connections.js.

const { DatabaseError } = require('../base');
const { ownQuery } = require('../connection');

/** @typedef {import('./member').Member} Member */

/** Both live, so that one server gives them different ids. */
const TEXT =
  'select pg_catalog.pg_backend_pid()::text, pg_catalog.host(pg_catalog.inet_server_addr())';

class OneSession {
  /** The first connection with each address and process id. @type {Map<string, Member>} */
  #firsts = new Map();
  /** @type {WeakMap<Member, string>} */
  #keys = new WeakMap();
  /** What each has said about itself. @type {WeakMap<Member, Promise<boolean>>} */
  #answers = new WeakMap();

  /**
   * @param {Member} member that was made, and not used yet
   * @returns {Promise<boolean> | undefined} whether it leads to the session of another one; undefined: it does not
   */
  isTwin(member) {
    const key = keyOf(member);
    const first = this.#firsts.get(key);
    const { processID } = member.connection;
    if (first === undefined || first.connection.state !== 'ready' || processID === 0) {
      this.#firsts.set(key, member);
      this.#keys.set(member, key);
      return undefined;
    }
    let answer = this.#answers.get(first);
    if (answer === undefined) {
      answer = isOnlySession(first);
      this.#answers.set(first, answer);
    }
    return answer;
  }

  /** @param {Member} member that is closed */
  remove(member) {
    const key = this.#keys.get(member);
    if (key !== undefined && this.#firsts.get(key) === member) this.#firsts.delete(key);
  }
}

/** @param {Member} member */
function keyOf({ connection }) {
  return `${connection.processID} ${connection.serverAddress}`;
}

/**
 * Its process id is the backend's and not a pooler's. And the address is the server's own, or the server does not know
 * of one: else there may be several servers behind it, each with a process of that number.
 * @param {Member} member
 */
async function isOnlySession({ connection }) {
  const query = ownQuery(TEXT, { rowMode: 'array' });
  connection.submit(query);
  try {
    const [[pid, address]] = (await query.promise).rows;
    if (Number(pid) !== connection.processID) return false;
    return address === null || connection.serverAddress.includes(address);
  } catch (error) {
    // In a transaction that has failed it says nothing.
    return error instanceof DatabaseError;
  }
}

let isTold = false;

function warnOfOneSession() {
  if (isTold) return;
  isTold = true;
  process.emitWarning(
    'the server has one session for all connections, as PGlite has: a pool uses one connection from now on. ' +
      'Set the option `max: 1`, and connect nothing else to it at the same time',
    { type: 'OneSessionWarning', code: 'PG_CONDUIT_ONE_SESSION' },
  );
}

/** @param {import('./connections').Limits} limits that may be computed */
function limitToOne(limits) {
  for (const name of ['all', 'connecting', 'shared']) {
    Object.defineProperty(limits, name, { value: 1, writable: true, enumerable: true });
  }
}

module.exports = { limitToOne, OneSession, warnOfOneSession };
