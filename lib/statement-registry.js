'use strict';

// What is known of an SQL text, whatever connection it runs on: its class, how
// often it was used, how long it takes. One for each pool or lone client, kept
// bounded. Called by client.js and pool.js; statement-cache.js holds what one
// connection has prepared.

const { classifyStatement } = require('./statement-class');

const MAX_TEXTS = 4096;
const MAX_LENGTH = 4 << 20;
/** Weight of the newest sample in the average. */
const NEWEST = 0.25;

/** Procedures and DO blocks may COMMIT; the others work in several transactions. */
const COMMITS_INSIDE = /^(?:CALL|DO|VACUUM|CLUSTER|REINDEX|REPACK)$/;
const CONCURRENTLY = /\bconcurrently\b/i;
const HEAD_LENGTH = 256;

/** @param {{ text: string, class: import('./statement-class').StatementClass }} info */
function isConcurrent(info) {
  return info.class.kind === 'alone' && CONCURRENTLY.test(info.text.slice(0, HEAD_LENGTH));
}

class StatementInfo {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.class = classifyStatement(text);
    this.uses = 0;
    /** It takes all prepared statements away. */
    this.dropsStatements =
      /^(?:DISCARD|DEALLOCATE)/.test(this.class.keyword) && /\ball\b/i.test(text);
    /** Parts of it may be committed though it fails. */
    this.mayCommitInside = COMMITS_INSIDE.test(this.class.keyword) || isConcurrent(this);
    /** How long the server takes for it, in ms; -1 while unknown. */
    this.averageMillis = -1;
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
