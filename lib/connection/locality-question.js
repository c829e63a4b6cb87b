'use strict';

// The driver's own question for what locality.js goes by. Small catalogs, which everybody may read by default. Sent by
// locality.js.

const { afterDelivery, QUERY_CANCELED } = require('../base');
const { Housekeeping } = require('./housekeeping');

const TEXT = `select pg_catalog.json_build_object(
  'version', pg_catalog.version(),
  'extensions', array(select extname::text from pg_catalog.pg_extension),
  'wrappers', array(select distinct coalesce((select p.prosrc from pg_catalog.pg_proc p where p.oid = w.fdwhandler), '')
    from pg_catalog.pg_foreign_server s join pg_catalog.pg_foreign_data_wrapper w on w.oid = s.srvfdw))::text`;

class LocalityQuestion extends Housekeeping {
  /** Undefined if the server does not tell. @type {import('./locality').Found | undefined} */
  found = undefined;
  wasCancelled = false;
  wasLost = false;

  /**
   * @param {import('./connection').Connection} connection
   * @param {() => void} onAnswered called after the delivery, whatever becomes of it
   */
  constructor(connection, onAnswered) {
    super(connection, TEXT, onAnswered, ([json]) => {
      this.found = read(json);
    });
  }

  /** @override @param {number} _phase @param {Readonly<Record<string, string>>} diagnostics */
  failed(_phase, { C }) {
    this.wasCancelled = C === QUERY_CANCELED;
  }

  /** @override */
  dropped() {
    this.#end();
  }

  /** @override */
  lost() {
    this.#end();
  }

  #end() {
    this.wasLost = true;
    afterDelivery(/** @type {() => void} */ (this.onAnswered));
  }
}

/** @param {unknown} json @returns {import('./locality').Found | undefined} */
function read(json) {
  try {
    const { version, extensions, wrappers } = JSON.parse(String(json));
    if (typeof version !== 'string' || !isTexts(extensions) || !isTexts(wrappers)) return undefined;
    return { version, extensions, wrappers };
  } catch {
    // An engine that answers in its own way.
    return undefined;
  }
}

/** @param {unknown} value */
function isTexts(value) {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

module.exports = { LocalityQuestion };
