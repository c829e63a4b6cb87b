'use strict';

// What is known of an SQL text, whatever connection it runs on: its class, how often it was used,
// how long it takes, and what was learned about the schema. Limited in size. Each pool makes one,
// and each client without a pool; cache.js has what one connection has prepared.

const { SharedTraits } = require('./literals');
const { RecentTexts, SeenOnce } = require('./recent');
const { Traits } = require('./traits');

/** The last texts, which are never forgotten; and as many that may be. */
const KEPT_TEXTS = 4096;
const MAX_LENGTH = 4 << 20;
/** A program does not have more statements of its own; the others are assembled from values. */
const MAX_UNTRIED = 256;
/** Callers that are recorded in one turn: in a burst of new texts that would cost more than all the rest. */
const MAX_RECORDED = 16;

/** A statement with more texts than this has its values in them. */
const MANY_TEXTS = 16;

/** How often a text is sent alone after it has failed in a group, which it may do again. */
const USES_ALONE = 64;

/** Literals that the server replaces by the time of the Parse, such as `date 'today'`. */
const NAMES_MOMENT = /(?<![a-z_])(?:now|today|tomorrow|yesterday)(?!\w)(?!\s*\()/i;
const HAS_LITERAL = /'|\$\w*\$/;

/**
 * What the catalog of the database says about texts.
 * @typedef {object} CatalogLike
 * @property {import('./known-functions').CatalogNames | undefined} names
 * @property {(text?: string) => void} onSchemaChange
 *
 * @typedef {import('./known-functions').CatalogNames} CatalogNames
 */

class StatementInfo {
  #traits;
  /** @type {boolean | undefined} */
  #namesMoment = undefined;

  /**
   * @param {string} text
   * @param {number} [epoch]
   * @param {Traits} [traits] perhaps those of other texts, too
   */
  constructor(text, epoch = 0, traits = new Traits(text)) {
    this.text = text;
    /** What was prepared of it in another epoch is dropped: an error has cast doubt on it. */
    this.epoch = epoch;
    this.#traits = traits;
    // What nothing changes, for those who read it for each query. It is explained there.
    this.class = traits.class;
    this.isSeveral = traits.isSeveral;
    this.isDoubtful = traits.isDoubtful;
    this.touchesSession = traits.touchesSession;
    this.hasCopyAmong = traits.hasCopyAmong;
    this.touchesTransaction = traits.touchesTransaction;
    this.schemaChange = traits.schemaChange;
    this.changesFormats = traits.changesFormats;
    this.changesFloats = traits.changesFloats;
    this.resetsFormats = traits.resetsFormats;
    this.dropsStatements = traits.dropsStatements;
    this.isWatched = traits.isWatched;
    this.mayCommitInside = traits.mayCommitInside;
    this.outlastsRollback = traits.outlastsRollback;
    this.mayOutlast = traits.mayOutlast;
    this.keepsColumns = traits.keepsColumns;
    this.uses = 0;
    /** No other text of the registry has it. */
    this.number = 0;
    /** Whether it has never succeeded, and may never. */
    this.isUntried = false;
    /** Rows of its last result. */
    this.rows = 0;
    /** Whether the server has reported their number correctly, which not every engine does. */
    this.isCounted = false;
    /** How many of its next uses have a Sync of their own. */
    this.usesAlone = 0;
    /** What copyRows() has learned of the columns that it copies to. @type {any} */
    this.copied = undefined;
    /** Set if a pooler executes an older statement in its place. */
    this.isNeverPrepared = false;
  }

  /** What it costs the server on average, in ms; -1 while unknown. */
  get averageMillis() {
    return this.#traits.averageMillis;
  }

  /** Whether it is one of many that differ in their literals only. */
  get isOneOfMany() {
    return this.#traits.count > MANY_TEXTS;
  }

  /** What it does to tables; 'unknown' before the first success. */
  get effect() {
    return this.#traits.effect;
  }

  /** Whether it is known to be more than a read. */
  get isWrite() {
    return this.#traits.isWrite;
  }

  /** Whether it may call nextval(). */
  get mayAdvance() {
    return this.#traits.mayAdvance;
  }

  /** Whether it may call lastval() or currval(), which answer for the session. */
  get asksSequences() {
    return this.#traits.asksSequences;
  }

  /** Whether ADD COLUMN may change the columns of its result. */
  get hasOpenColumns() {
    return this.#traits.hasOpenColumns;
  }

  /** Whether it writes rows and returns none. */
  get returnsNothing() {
    return this.#traits.returnsNothing;
  }

  /** @param {string | null} command first word of its command tag */
  learnEffect(command) {
    this.#traits.learnEffect(command);
  }

  /** @param {CatalogNames} names */
  onlyReads(names) {
    return this.#traits.onlyReads(names);
  }

  /** @param {CatalogNames} names */
  readsUnbound(names) {
    return this.#traits.readsUnbound(names);
  }

  /** @param {CatalogNames} names */
  surelyReads(names) {
    return this.#traits.surelyReads(names);
  }

  /** @param {CatalogNames} names */
  writesPlain(names) {
    return this.#traits.writesPlain(names);
  }

  /** @param {CatalogNames} names */
  mayCallNextval(names) {
    return this.#traits.mayCallNextval(names);
  }

  /** Whether it would mean something else a while after it was prepared. */
  get namesMoment() {
    this.#namesMoment ??= NAMES_MOMENT.test(this.text) && HAS_LITERAL.test(this.text);
    return this.#namesMoment;
  }

  /**
   * Whether an error at a position in its text comes from its analysis, before anything of it runs.
   */
  get isAnalyzedFirst() {
    return !this.isSeveral && this.keepsColumns;
  }

  /** It has failed, and in a group would make others run twice. */
  keepAlone() {
    this.usesAlone = USES_ALONE;
  }

  /** @param {import('../rows').Result} result @param {number} received how many rows have come */
  learnCount({ command, rowCount }, received) {
    if (command === 'SELECT' && received > 0) this.isCounted = received === rowCount;
  }

  /** @param {number} millis */
  observe(millis) {
    this.#traits.observe(millis);
  }
}

/** @template {CatalogLike} [C=any] */
class StatementRegistry {
  /** What was prepared in another epoch is dropped: the schema may have changed since. */
  schemaEpoch = 0;
  /** Whether a text was seen that may ask for the last value of a sequence in its session. */
  hasAskedSequences = false;
  #doubts = 0;
  /** @type {RecentTexts<StatementInfo>} */
  #infos = new RecentTexts(KEPT_TEXTS, MAX_LENGTH);
  #traits = new SharedTraits();
  /** Texts of which many differ in their literals only. @type {SeenOnce | undefined} */
  #seenOnce = undefined;
  /** Texts that were seen. */
  #count = 0;
  /** Callers that were recorded in the turn `#turn` of the event loop. */
  #recorded = 0;
  #turn = -1;

  /** @param {C} catalog what the catalog of the database says about texts */
  constructor(catalog) {
    this.catalog = catalog;
  }

  /** @param {string} text @returns {StatementInfo} */
  find(text) {
    return this.#infos.find(text) ?? this.#add(text);
  }

  /**
   * Whether the caller of a text is to be recorded, which costs as much as the query itself. An error that nobody awaits
   * names the caller only then.
   * @param {StatementInfo} info
   * @param {number} turn of the event loop
   */
  mayRecord({ isUntried }, turn) {
    if (!isUntried) return false;
    if (this.#turn !== turn) {
      this.#turn = turn;
      this.#recorded = 0;
    }
    return ++this.#recorded <= MAX_RECORDED;
  }

  /**
   * DDL was committed, or may have been: everything is prepared anew at its next use, on every connection.
   * @param {string} [text] of the DDL, where it is known
   */
  renewAll(text) {
    ++this.schemaEpoch;
    this.catalog.onSchemaChange(text);
  }

  /** @param {StatementInfo} info whose text is prepared anew, on every connection */
  renew(info) {
    info.epoch = ++this.#doubts;
    this.#keptOf(info).epoch = info.epoch;
  }

  /** @param {StatementInfo} info whose text a pooler takes for another one: it is not prepared any more */
  neverPrepare(info) {
    info.isNeverPrepared = true;
    this.#keptOf(info).isNeverPrepared = true;
  }

  /**
   * @param {StatementInfo} info
   * @returns {StatementInfo} what later uses of its text will find, which may be another one: of many texts the first use is
   *   not kept. From now on this one is, if there is none
   */
  #keptOf(info) {
    const kept = this.#infos.find(info.text);
    if (kept === undefined) this.#infos.add(info.text, info);
    return kept ?? info;
  }

  /** @param {string} text */
  #add(text) {
    // Not from 0 again: what is prepared of a text may outlive its info.
    const traits = this.#traits.find(text);
    ++traits.count;
    const info = new StatementInfo(text, this.#doubts, traits);
    info.number = ++this.#count;
    info.isUntried = info.number <= MAX_UNTRIED;
    if (traits.asksSequences) this.hasAskedSequences = true;
    if (!info.isOneOfMany) {
      this.#infos.add(text, info);
    } else if ((this.#seenOnce ??= new SeenOnce()).again(this.#traits.textHash)) {
      info.uses = 1;
      this.#infos.add(text, info);
    }
    return info;
  }
}

module.exports = { StatementRegistry, StatementInfo };
