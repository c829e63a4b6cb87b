'use strict';

// What is known of an SQL text, whatever connection it runs on: its class, how
// often it was used, how long it takes, and what was learned of the schema. One
// for each pool or lone client, kept bounded. Called by client.js and pool.js; statement-cache.js holds what one
// connection has prepared.

const { callsKnownFunctionsOnly } = require('./known-functions');
const { findSchemaChange, hasOpenColumns, isPlanned } = require('./schema-change');
const { splitStatements } = require('./split-statements');
const { classifyStatement } = require('./statement-class');

const MAX_TEXTS = 4096;
const MAX_LENGTH = 4 << 20;
/** Weight of the newest sample in the average. */
const NEWEST = 0.25;

/** Procedures and DO blocks may COMMIT; the others work in several transactions. */
const COMMITS_INSIDE = /^(?:CALL|DO|VACUUM|CLUSTER|REINDEX|REPACK)$/;
const CONCURRENTLY = /\bconcurrently\b/i;
const HEAD_LENGTH = 256;

/** After it has failed, which it may do again. */
const USES_ALONE = 64;

/** What others in the same transaction would notice, or swallow. */
const IS_NOTICED = /\b(?:set_config|pg_notify)\b/i;

/** In a statement that only reads, these stand in names and literals at most. */
const MAY_WRITE = /\b(?:insert|update|delete|merge|into|share)\b/i;

/**
 * What a statement does to tables, as its command tag told: 'other' is not one
 * of the five that everybody uses.
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

/** @param {{ text: string, class: import('./statement-class').StatementClass }} info */
function isConcurrent(info) {
  return info.class.kind === 'alone' && CONCURRENTLY.test(info.text.slice(0, HEAD_LENGTH));
}

class StatementInfo {
  /** @type {boolean | undefined} */
  #hasOpenColumns = undefined;

  /** @param {string} text @param {number} [epoch] */
  constructor(text, epoch = 0) {
    this.text = text;
    /** What was prepared of it under another number is given up: an error has cast doubt on it. */
    this.epoch = epoch;
    this.class = classifyStatement(text);
    const statements = splitStatements(text);
    /** More than one, which only the simple protocol takes. */
    this.isSeveral = statements.length > 1;
    const classes = this.isSeveral ? statements.map(classifyStatement) : [this.class];
    this.touchesSession = classes.some(({ kind }) => kind === 'session');
    /** The COPY protocol would come in the middle. */
    this.hasCopyAmong = this.isSeveral && classes.some(({ kind }) => kind === 'copy');
    this.touchesTransaction = classes.some(({ kind }) => kind === 'transaction');
    this.schemaChange = findSchemaChange(statements);
    this.uses = 0;
    /** It takes all prepared statements away. */
    this.dropsStatements =
      /^(?:DISCARD|DEALLOCATE)/.test(this.class.keyword) && /\ball\b/i.test(text);
    /** What is sent behind it may not execute what was prepared before it. */
    this.isWatched =
      this.dropsStatements || this.touchesTransaction || this.schemaChange !== 'none';
    /** Parts of it may be committed though it fails. */
    this.mayCommitInside = classes.some(({ keyword }) => COMMITS_INSIDE.test(keyword));
    if (this.isSeveral) this.mayCommitInside ||= this.touchesTransaction;
    else this.mayCommitInside ||= isConcurrent(this);
    /** What it costs the server, in ms; -1 while unknown. */
    this.averageMillis = -1;
    /** @type {Effect} */
    this.effect = 'unknown';
    /** Rows of its last result. */
    this.rows = 0;
    /** The server has told right how many they were, which not every engine does. */
    this.isCounted = false;
    /** So many of its next uses get no company in their Sync. */
    this.usesAlone = 0;
    /** A pooler executes something older for it. */
    this.isNeverPrepared = false;
  }

  /** The columns of its result are those that a table happens to have. */
  get hasOpenColumns() {
    this.#hasOpenColumns ??= hasOpenColumns(this.text);
    return this.#hasOpenColumns;
  }

  /** An error at a place in its text comes from its analysis, before anything of it runs. */
  get isAnalyzedFirst() {
    return !this.isSeveral && isPlanned(this.text);
  }

  /** It would have others run twice. */
  keepAlone() {
    this.usesAlone = USES_ALONE;
  }

  /** @param {string | null} command first word of its command tag */
  learnEffect(command) {
    if (this.effect !== 'unknown' || command === null) return;
    const { text } = this;
    this.effect = EFFECTS[command] ?? 'other';
    if (this.class.kind !== 'plain' || this.mayCommitInside || IS_NOTICED.test(text)) {
      this.effect = 'other';
    } else if (this.effect === 'read') {
      if (MAY_WRITE.test(text) || !callsKnownFunctionsOnly(text)) this.effect = 'write';
    }
  }

  /** @param {import('./result').Result} result */
  learnCount({ command, rowCount, rows }) {
    if (command === 'SELECT' && rows.length > 0) this.isCounted = rows.length === rowCount;
  }

  /** @param {number} millis */
  observe(millis) {
    this.averageMillis =
      this.averageMillis < 0 ? millis : this.averageMillis + NEWEST * (millis - this.averageMillis);
  }
}

class StatementRegistry {
  /** What was prepared under another number is given up: the schema may have changed since. */
  schemaEpoch = 0;
  #doubts = 0;
  /** @type {Map<string, StatementInfo>} oldest first */
  #infos = new Map();
  #length = 0;

  /** @param {string} text @returns {StatementInfo} */
  find(text) {
    return this.#infos.get(text) ?? this.#add(text);
  }

  /** Everything is prepared anew, on every connection, at its next use. */
  renewAll() {
    ++this.schemaEpoch;
  }

  /** What is prepared of this text is, on every connection. @param {StatementInfo} info */
  renew(info) {
    info.epoch = ++this.#doubts;
  }

  /** @param {string} text */
  #add(text) {
    // Not from 0 again: what is prepared of a text may outlive what was known of it.
    const info = new StatementInfo(text, this.#doubts);
    if (text.length > MAX_LENGTH / 4) return info;
    this.#infos.set(text, info);
    this.#length += text.length;
    // Insertion order is good enough: a text in use comes back at its next use.
    for (const oldest of this.#infos.keys()) {
      if (this.#infos.size <= MAX_TEXTS && this.#length <= MAX_LENGTH) break;
      this.#infos.delete(oldest);
      this.#length -= oldest.length;
    }
    return info;
  }
}

module.exports = { StatementRegistry, StatementInfo };
