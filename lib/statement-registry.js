'use strict';

// What is known of an SQL text, whatever connection it runs on: its class, how
// often it was used, how long it takes. One for each pool or lone client, kept
// bounded. Called by client.js and pool.js; statement-cache.js holds what one
// connection has prepared.

const { callsKnownFunctionsOnly } = require('./known-functions');
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

const NAMES_FORMAT = /\b(?:datestyle|extra_float_digits)\b/i;
const CHANGES_FLOATS = /\b(?:extra_float_digits|reset|discard|role|authorization)\b/i;
const RESETS = /\b(?:reset|discard|default)\b/i;

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
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.class = classifyStatement(text);
    const statements = splitStatements(text);
    /** More than one, which only the simple protocol takes. */
    this.isSeveral = statements.length > 1;
    const classes = this.isSeveral ? statements.map(classifyStatement) : [this.class];
    this.touchesSession = classes.some(({ kind }) => kind === 'session');
    /** The COPY protocol would come in the middle. */
    this.hasCopyAmong = this.isSeveral && classes.some(({ kind }) => kind === 'copy');
    this.touchesTransaction = classes.some(({ kind }) => kind === 'transaction');
    /** The session may write values otherwise behind it, floats among them (session-formats.js). */
    this.changesFormats = this.touchesSession || NAMES_FORMAT.test(text);
    this.changesFloats = this.changesFormats && CHANGES_FLOATS.test(text);
    /** What the session began with may be back behind it. */
    this.resetsFormats = this.touchesSession && RESETS.test(text);
    this.uses = 0;
    /** It takes all prepared statements away. */
    this.dropsStatements =
      /^(?:DISCARD|DEALLOCATE)/.test(this.class.keyword) && /\ball\b/i.test(text);
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
