'use strict';

// Which queries of one connection are sent by the simple protocol, each as one of the pipeline
// (deps/libpq-patches/0003): for what is not prepared that is one message in the place of five, and less work for the
// server. Owned by outbox.js, asked by command-writer.js.

const { binding } = require('../native');

/** What may follow a statement in its text. */
const END = /^[; \t\n\r\f\v]*$/;

const EXECUTE = 'EXECUTE';

/** Without a value for it the simple protocol has another error, and another code, than all else. */
const MAY_BE_PARAMETER = '$';

class SimpleProtocol {
  #locality;
  #ask;

  /**
   * @param {import('./locality').Locality} locality
   * @param {() => void} ask whether the database is one server, in the background
   */
  constructor(locality, ask) {
    this.#locality = locality;
    this.#ask = ask;
  }

  /**
   * Only a text that has one statement for sure: the server runs all that it finds.
   * @param {import('../query').Query} query which has a Sync of its own, or may have
   * @param {boolean} isInTransaction whether one is open for sure
   */
  maySend(query, isInTransaction) {
    const { statement, parameters, sharesSync, info, text } = query;
    if (!binding.pipelinesSimple || statement !== undefined || parameters.length > 0) return false;
    if (query.isExtended || query.isStreamed || query.isDescription) return false;
    // There may be more than one result, where rules of a table add some.
    if (query.rowMode === 'columns' || info.class.keyword === EXECUTE) return false;
    // One that comes again is better off in a Sync group.
    if (sharesSync && info.uses > 1 && !info.isOneOfMany) return false;
    if (!isInTransaction && !this.#tellsCommits(info)) return false;
    if (text.includes(MAY_BE_PARAMETER)) return false;
    const end = text.indexOf(';');
    return end < 0 || END.test(text.slice(end));
  }

  /**
   * A statement is complete when it is committed: its error may be that of the commit, which proves less where other
   * servers commit, too (distribution.js). What commits, or only begins, has no other errors.
   * @param {import('../statements').StatementInfo} info
   */
  #tellsCommits(info) {
    if (info.class.kind === 'transaction') return true;
    const { kind, isFresh } = this.#locality;
    // A single text is not worth the question.
    if (!isFresh && info.isOneOfMany) this.#ask();
    return kind === 'local' || kind === 'distributed';
  }
}

module.exports = { SimpleProtocol };
