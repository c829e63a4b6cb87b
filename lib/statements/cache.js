'use strict';

// The prepared statements of one connection, by a key, limited in number and in length; the least recently used are evicted
// first, for what was used again more recently. The key is the SQL text, after the settings that it was prepared under if
// these are not those that the session began with. It only keeps the list: command-writer.js writes Parse and Execute,
// prepared-statements.js Close. Statement ids are never used twice.

const { knownColumns } = require('../base');

/** One prepared statement. */
class Statement {
  /** Whether the Parse has been answered. */
  isReady = false;
  /** Whether it has left the cache. */
  isRetired = false;
  /** Whether its Close was sent, or it never came to be. */
  isClosed = false;
  /** In which transaction it was prepared (session-state.js). */
  transaction = -1;
  /** The epochs that it was prepared in: the registry's, its text's, its connection's. */
  schemaEpoch = -1;
  epoch = -1;
  sessionEpoch = -1;
  /** When it was last used, and when it becomes too old (performance.now()). */
  usedAt = 0;
  renewAt = Infinity;
  /** Executions in flight: while there are any, it must not be closed. */
  users = 0;
  lastUsed = 0;
  /** The batch that its Parse is under way in, and fails with. @type {object | undefined} */
  batch = undefined;
  /** @type {import('../rows').Shape | undefined} columns, once it has returned rows */
  shape = undefined;
  /** What is known of its result: the id of a shape, or one of `knownColumns`. @type {number} */
  columns = knownColumns.unknown;
  /** The flags of an execution with the default types, and the epoch of those. */
  flags = 0;
  flagsEpoch = -1;

  /** @param {number} id @param {string} key @param {string} text */
  constructor(id, key, text) {
    this.id = id;
    this.key = key;
    this.text = text;
  }
}

/** So many texts without a statement are remembered for each place; of two with the same remainder it is the later one. */
const REMEMBERED = 8;
/** How often in a row such a text must have been used more recently than a statement to take its place. */
const RECENT_USES = 8;
/** A statement that was not used while so many texts were looked for, for each that is there, leaves its place to whoever comes. */
const LONG_UNUSED = 256;

/** When texts were used that have no statement, while there is no room for one. */
class Misses {
  #numbers;
  #times;
  #recent;

  /** @param {number} count of texts that are remembered */
  constructor(count) {
    this.#numbers = new Float64Array(count);
    this.#times = new Float64Array(count);
    this.#recent = new Uint8Array(count);
  }

  /** @param {number} number of a text @returns {number} when it was here before; 0: not known */
  timeOf(number) {
    const at = number % this.#numbers.length;
    return this.#numbers[at] === number ? this.#times[at] : 0;
  }

  /**
   * @param {number} number of a text
   * @param {number} now
   * @param {boolean} isRecent whether timeOf() was
   * @returns {number} how often in a row that has been so, up to now
   */
  add(number, now, isRecent) {
    const at = number % this.#numbers.length;
    this.#numbers[at] = number;
    this.#times[at] = now;
    const count = isRecent ? Math.min(this.#recent[at] + 1, RECENT_USES) : 0;
    this.#recent[at] = count;
    return count;
  }
}

class StatementCache {
  /** @type {Map<string, Statement>} */
  #statements = new Map();
  #length = 0;
  #nextId = 1;
  #clock = 0;
  /** Since the cache has been full. @type {Misses | undefined} */
  #misses = undefined;
  /** No statement was last used before, but those that were in use when that was looked for. */
  #oldestUse = 0;

  hits = 0;
  misses = 0;
  evictions = 0;

  /**
   * @param {number} maxCount statements
   * @param {number} maxLength characters of all their keys
   */
  constructor(maxCount, maxLength) {
    this.maxCount = maxCount;
    this.maxLength = maxLength;
  }

  get size() {
    return this.#statements.size;
  }

  /** @param {string} key @returns {Statement | undefined} */
  find(key) {
    const statement = this.#statements.get(key);
    if (statement === undefined) {
      ++this.misses;
      return undefined;
    }
    ++this.hits;
    statement.lastUsed = ++this.#clock;
    return statement;
  }

  /** @param {string} key */
  hasRoomFor(key) {
    return this.#statements.size < this.maxCount && this.#length + key.length <= this.maxLength;
  }

  /**
   * Whether a text without a statement may have one: if there is room, or if it was used more recently than the statement
   * that would be evicted, several times in a row, or if nobody uses that any more. Where more texts come in turn than there is room for, some keep their
   * statements then. Were one evicted for each of them, most would be gone before their next use.
   * @param {string} key
   * @param {number} number of the text
   */
  admits(key, number) {
    if (this.hasRoomFor(key)) return true;
    if (this.maxCount === 0) return false;
    this.#misses ??= new Misses(REMEMBERED * this.maxCount);
    const isRecent = this.#isOlder(this.#misses.timeOf(number));
    if (this.#misses.add(number, ++this.#clock, isRecent) === RECENT_USES) return true;
    return this.#isOlder(this.#clock - LONG_UNUSED * this.size);
  }

  /** @param {number} time @returns {boolean} whether a statement that may be evicted was last used before */
  #isOlder(time) {
    if (time <= this.#oldestUse) return false;
    const oldest = this.#leastRecentlyUsed();
    if (oldest === undefined) return false;
    this.#oldestUse = oldest.lastUsed;
    return time > oldest.lastUsed;
  }

  /**
   * Evicts the least recently used statements until there is room for one, or all others are in use.
   * @param {string} key
   * @returns {Statement[]} to be closed on the server
   */
  evictFor(key) {
    /** @type {Statement[]} */
    const evicted = [];
    if (key.length > this.maxLength / 4 || this.maxCount === 0) return evicted;
    while (!this.hasRoomFor(key)) {
      const oldest = this.#leastRecentlyUsed();
      if (oldest === undefined) break;
      this.remove(oldest);
      ++this.evictions;
      evicted.push(oldest);
    }
    return evicted;
  }

  #leastRecentlyUsed() {
    /** @type {Statement | undefined} */
    let oldest;
    for (const statement of this.#statements.values()) {
      if (statement.users > 0) continue;
      if (oldest === undefined || statement.lastUsed < oldest.lastUsed) oldest = statement;
    }
    return oldest;
  }

  /** @returns {number} of a statement that is not kept here */
  takeId() {
    return this.#nextId++;
  }

  /** @param {string} key @param {string} [text] @returns {Statement} whose Parse is to be sent */
  add(key, text = key) {
    const statement = new Statement(this.takeId(), key, text);
    statement.lastUsed = ++this.#clock;
    this.#statements.set(key, statement);
    this.#length += key.length;
    return statement;
  }

  /** @param {Statement} statement */
  remove(statement) {
    if (this.#statements.get(statement.key) !== statement) return;
    statement.isRetired = true;
    this.#statements.delete(statement.key);
    this.#length -= statement.key.length;
  }

  /** The format of their rows must be decided again. */
  forgetFlags() {
    for (const statement of this.#statements.values()) statement.flagsEpoch = -1;
  }

  /** @returns {Statement[]} all of them; the cache is empty then */
  clear() {
    const all = [...this.#statements.values()];
    for (const statement of all) statement.isRetired = true;
    this.#statements.clear();
    this.#length = 0;
    return all;
  }
}

module.exports = { StatementCache, Statement };
