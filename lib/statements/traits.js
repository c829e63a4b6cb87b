'use strict';

// What the words of an SQL text tell of it, and what the catalog of one database says to them: whether it only reads,
// whether it gives the same answer in each session, what stays behind. Of texts that differ in their literals only there
// is one (literals.js). Made by registry.js.

const { classifyStatement } = require('./class');
const {
  callsKnownFunctionsOnly,
  isSameInEachSession,
  LAST_VALUE_FUNCTIONS,
  mentions,
  writesKnownRelationsOnly,
} = require('./known-functions');
const { Scanner } = require('./scanner');
const { PLANNED, findSchemaChange, hasOpenColumns } = require('./schema-change');
const { readStatements } = require('./split');
const { isTransactional } = require('./transactional');

/**
 * What other queries in the same transaction would notice, or what would be merged with theirs
 * (equal notifications).
 */
const IS_NOTICED = /\b(?:set_config|pg_notify)\b/i;

const NAMES_FORMAT = /\b(?:datestyle|extra_float_digits)\b/i;
const CHANGES_FLOATS = /\b(?:extra_float_digits|reset|discard|role|authorization)\b/i;
const RESETS = /\b(?:reset|discard|default)\b/i;

/** In a statement that only reads, these words can occur only in names and literals. */
const MAY_WRITE = /\b(?:insert|update|delete|merge|into|share)\b/i;

/** What may begin a statement that writes rows. A SELECT that calls a function is a 'write', too. */
const WRITES = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'WITH']);

/** A SELECT that does nothing else but lock rows. */
const LOCKS_ROWS = /\bfor\s+(?:(?:no\s+key\s+)?update|(?:key\s+)?share)\b/i;
const MAKES_TABLE = /\binto\b/i;

/** What begins a statement that, if it succeeds, has changed rows, or nothing. */
const MUST_WRITE = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** What is behind it are the rows that a write returns. It is a reserved word. */
const RETURNING = 'RETURNING';
const MAY_RETURN = /returning/i;

/** A name as U&"…" may be any of them. */
const ASKS_SEQUENCES = new RegExp([...LAST_VALUE_FUNCTIONS, 'u&"'].join('|'), 'i');
const CALLS_NEXTVAL = /nextval|u&"/i;

/**
 * What a statement does to tables, by its command tag: 'other' is none of those in EFFECTS. See onlyReads() for 'read'.
 * @typedef {'unknown' | 'read' | 'write' | 'other'} Effect
 */

/** @type {Record<string, Effect>} */
const EFFECTS = {
  SELECT: 'read',
  INSERT: 'write',
  UPDATE: 'write',
  DELETE: 'write',
  MERGE: 'write',
};

/** Weight of the newest sample in the average. */
const NEWEST = 0.25;

/** Waking a backend costs both sides about so long, in ms: for what costs more it is worth it. */
const WAKE_MILLIS = 0.05;
/** A server that has more to do than cores makes a statement wait for its turn for less than this. */
const TURN_MILLIS = 4;
/** A dearer run behind so many cheap ones in a row is an exception. */
const CHEAP_RUNS = 4;

class Traits {
  /** What it costs the server on average, in ms; -1 while unknown. */
  averageMillis = -1;
  /** Cheap runs in a row, up to the last one. */
  #cheapRuns = 0;
  /** Texts that were seen which differ in their literals only. */
  count = 0;
  /** @type {boolean | undefined} */
  #hasOpenColumns = undefined;
  /** @type {boolean | undefined} */
  #returnsNothing = undefined;
  /** @type {Effect} */
  #effect = 'unknown';
  /** First word of its command tag, once it has succeeded. @type {string | null} */
  #command = null;

  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.class = classifyStatement(text);
    const { texts, isSure } = readStatements(text);
    /** Whether it has more than one statement, which only the simple protocol takes. */
    this.isSeveral = texts.length > 1;
    /** Whether the server may find other statements in it than are found here. */
    this.isDoubtful = this.isSeveral && !isSure;
    const classes = this.isSeveral ? texts.map(classifyStatement) : [this.class];
    this.touchesSession = this.isDoubtful || classes.some(({ touchesSession }) => touchesSession);
    /**
     * Whether there is a COPY among several statements, whose protocol would come in the middle.
     */
    this.hasCopyAmong = this.isSeveral && classes.some(({ kind }) => kind === 'copy');
    this.touchesTransaction = this.isDoubtful || classes.some(({ kind }) => kind === 'transaction');
    this.schemaChange = this.isDoubtful ? 'schema' : findSchemaChange(texts);
    /**
     * Whether the session may write values differently behind it, floats among them
     * (session-formats.js).
     */
    this.changesFormats = this.touchesSession || NAMES_FORMAT.test(text);
    this.changesFloats = this.changesFormats && CHANGES_FLOATS.test(text);
    /** Whether the settings that the session began with may be back behind it. */
    this.resetsFormats = this.touchesSession && RESETS.test(text);
    /** Whether it drops all prepared statements. */
    this.dropsStatements =
      /^(?:DISCARD|DEALLOCATE)/.test(this.class.keyword) && /\ball\b/i.test(text);
    /** Whether queries sent behind it must not execute what was prepared before it. */
    this.isWatched =
      this.dropsStatements || this.touchesTransaction || this.schemaChange !== 'none';
    /** Whether parts of it may be committed although it fails, or does not come to its end. */
    this.mayCommitInside =
      this.isDoubtful || !texts.every((each) => isTransactional(each, !this.isSeveral));
    /** Whether it takes what no rollback gives back, such as session locks. */
    this.outlastsRollback = classes.some(({ outlastsRollback }) => outlastsRollback);
    /** Whether parts of it may last although it fails, or its transaction is never committed. */
    this.mayOutlast = this.mayCommitInside || this.outlastsRollback;
    /**
     * The names of the catalog by which `isHarmless` was decided last.
     * @type {import('./known-functions').CatalogNames | undefined}
     */
    this.judgedBy = undefined;
    this.isHarmless = false;
    /** The same for `isUnbound`. @type {import('./known-functions').CatalogNames | undefined} */
    this.unboundBy = undefined;
    this.isUnbound = false;
    /** The same for `isPlainWrite` and `mayAdvance`. @type {import('./known-functions').CatalogNames | undefined} */
    this.plainBy = undefined;
    this.isPlainWrite = false;
    /** Whether it may call nextval(). */
    this.mayAdvance = false;
    /** Whether it may call lastval() or currval(), which answer for the session. */
    this.asksSequences = ASKS_SEQUENCES.test(text);
    /** Whether it has the same columns each time when it is prepared, or fails. */
    this.keepsColumns = PLANNED.has(this.class.keyword);
  }

  /**
   * Whether the columns of its result are whatever a table has, so that ADD COLUMN changes them.
   */
  get hasOpenColumns() {
    this.#hasOpenColumns ??= hasOpenColumns(this.text);
    return this.#hasOpenColumns;
  }

  /** Whether it writes rows and returns none. The simple protocol shows those that rules of its table add. */
  get returnsNothing() {
    this.#returnsNothing ??= MUST_WRITE.has(this.class.keyword) && !mayReturn(this.text);
    return this.#returnsNothing;
  }

  /**
   * Behind cheap runs a dearer one is not counted: the server may have been busy with something else. Were it, a pool
   * would spread cheap statements over all of its connections, which makes such a server still busier.
   * @param {number} millis that it has cost the server
   */
  observe(millis) {
    const isException = this.#cheapRuns >= CHEAP_RUNS && millis < TURN_MILLIS;
    this.#cheapRuns = millis <= WAKE_MILLIS ? this.#cheapRuns + 1 : 0;
    if (isException && millis > WAKE_MILLIS) return;
    this.averageMillis =
      this.averageMillis < 0 ? millis : this.averageMillis + NEWEST * (millis - this.averageMillis);
  }

  /** @param {string | null} command first word of its command tag */
  learnEffect(command) {
    if (this.#command !== null || command === null) return;
    this.#command = command;
    this.unboundBy = undefined;
  }

  /** Decided when it is first asked for: many texts are used once. @returns {Effect} */
  get effect() {
    if (this.#effect === 'unknown' && this.#command !== null) {
      this.#effect = this.#findEffect(this.#command);
    }
    return this.#effect;
  }

  /** @param {string} command @returns {Effect} */
  #findEffect(command) {
    const { text } = this;
    const isPlain = this.class.kind === 'plain' && !this.mayCommitInside;
    if (!isPlain || IS_NOTICED.test(text)) return 'other';
    const effect = EFFECTS[command] ?? 'other';
    if (effect !== 'read') return effect;
    return MAY_WRITE.test(text) || !callsKnownFunctionsOnly(text) ? 'write' : 'read';
  }

  /**
   * Whether the statement does nothing but read, as its text suggests.
   * @param {import('./known-functions').CatalogNames} names of the database
   */
  onlyReads(names) {
    if (this.judgedBy !== names) {
      this.judgedBy = names;
      this.isHarmless = this.effect === 'read' && callsKnownFunctionsOnly(this.text, names);
    }
    return this.isHarmless;
  }

  /**
   * Whether the statement only reads, and gives the same answer in each session that nobody has changed.
   * @param {import('./known-functions').CatalogNames} names of the database
   */
  readsUnbound(names) {
    if (this.unboundBy !== names) {
      this.unboundBy = names;
      this.isUnbound = this.surelyReads(names) && isSameInEachSession(this.text, names);
    }
    return this.isUnbound;
  }

  /**
   * Whether the statement does nothing but read, also if it has never succeeded.
   * @param {import('./known-functions').CatalogNames} names of the database
   */
  surelyReads(names) {
    return this.effect === 'unknown' ? this.#mustRead(names) : this.onlyReads(names);
  }

  /**
   * Whether the command tag of a text that has never succeeded can only be that of a read.
   * @param {import('./known-functions').CatalogNames} names of the database
   */
  #mustRead(names) {
    const {
      text,
      class: { kind, keyword },
    } = this;
    if (this.isSeveral || kind !== 'plain' || keyword !== 'SELECT') return false;
    return !MAY_WRITE.test(text) && !IS_NOTICED.test(text) && callsKnownFunctionsOnly(text, names);
  }

  /** Whether it is known to be more than a read. Of most writes the text tells before the first success. */
  get isWrite() {
    if (this.effect !== 'unknown') return this.effect === 'write';
    return this.class.kind === 'plain' && MUST_WRITE.has(this.class.keyword);
  }

  /**
   * Whether the statement does nothing but change rows of tables, in the same way in each session that nobody has
   * changed, and leaves nothing behind in the session except, perhaps, the last values of sequences.
   * @param {import('./known-functions').CatalogNames} names of the database
   */
  writesPlain(names) {
    if (!this.isWrite) return false;
    this.#judgeWrite(names);
    return this.isPlainWrite;
  }

  /**
   * Whether the statement, which is a plain write, may leave behind the last value of a sequence.
   * @param {import('./known-functions').CatalogNames} names of the database
   */
  mayCallNextval(names) {
    this.#judgeWrite(names);
    return this.mayAdvance;
  }

  /** @param {import('./known-functions').CatalogNames} names */
  #judgeWrite(names) {
    if (this.plainBy === names) return;
    this.plainBy = names;
    const { text } = this;
    this.mayAdvance = CALLS_NEXTVAL.test(text) || mentions(text, names.sequenceRelations);
    const { keyword } = this.class;
    const isLock = keyword === 'SELECT' && LOCKS_ROWS.test(text) && !MAKES_TABLE.test(text);
    const isOne = !this.isSeveral && this.schemaChange === 'none';
    this.isPlainWrite =
      isOne &&
      (isLock || WRITES.has(keyword)) &&
      writesKnownRelationsOnly(text, names) &&
      isSameInEachSession(text, names, true);
  }
}

/** @param {string} text */
function mayReturn(text) {
  if (!MAY_RETURN.test(text)) return false;
  const scanner = new Scanner(text);
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    if (token === RETURNING) return true;
  }
  return scanner.isDoubtful;
}

module.exports = { Traits, WAKE_MILLIS };
