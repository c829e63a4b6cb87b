'use strict';

// What is known of an SQL text, whatever connection it runs on: its class, how
// often it was used, how long it takes. One for each pool or lone client, kept
// bounded. Called by client.js and pool.js; statement-cache.js holds what one
// connection has prepared.

const { callsKnownFunctionsOnly } = require('./known-functions');
const { readStatements } = require('./split-statements');
const { classifyStatement } = require('./statement-class');
const { isTransactional } = require('./transactional');

const MAX_TEXTS = 4096;
const MAX_LENGTH = 4 << 20;
/** Weight of the newest sample in the average. */
const NEWEST = 0.25;

/**
 * Of these alone the server makes sure that a prepared statement keeps the columns that it had
 * (RevalidateCachedQuery). The columns of FETCH, EXECUTE or CALL are those of the cursor, statement or
 * procedure that has the name now.
 */
const PLANNED = new Set([
  ...['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'WITH', 'VALUES', 'TABLE'],
]);

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

class StatementInfo {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.class = classifyStatement(text);
    const { texts, isSure } = readStatements(text);
    /** More than one, which only the simple protocol takes. */
    this.isSeveral = texts.length > 1;
    /** The server may find other statements in it than are found here. */
    this.isDoubtful = this.isSeveral && !isSure;
    const classes = this.isSeveral ? texts.map(classifyStatement) : [this.class];
    this.touchesSession = this.isDoubtful || classes.some(({ touchesSession }) => touchesSession);
    /** The COPY protocol would come in the middle. */
    this.hasCopyAmong = this.isSeveral && classes.some(({ kind }) => kind === 'copy');
    this.touchesTransaction = this.isDoubtful || classes.some(({ kind }) => kind === 'transaction');
    this.uses = 0;
    /** It takes all prepared statements away. */
    this.dropsStatements =
      /^(?:DISCARD|DEALLOCATE)/.test(this.class.keyword) && /\ball\b/i.test(text);
    /** Parts of it may be committed though it fails, or does not come to its end. */
    this.mayCommitInside =
      this.isDoubtful || !texts.every((each) => isTransactional(each, !this.isSeveral));
    /** Locks of the session are no part of a transaction. */
    this.outlastsRollback = classes.some(({ takesLocks }) => takesLocks);
    /** Parts of it may last though it fails, or its transaction is never committed. */
    this.mayOutlast = this.mayCommitInside || this.outlastsRollback;
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
    /** Prepared, it has the same columns each time, or fails. */
    this.keepsColumns = PLANNED.has(this.class.keyword);
    /** A pooler executes something older for it. */
    this.isNeverPrepared = false;
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
  /** @type {Map<string, StatementInfo>} oldest first */
  #infos = new Map();
  #length = 0;

  /** @param {string} text @returns {StatementInfo} */
  find(text) {
    return this.#infos.get(text) ?? this.#add(text);
  }

  /** @param {string} text */
  #add(text) {
    const info = new StatementInfo(text);
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
