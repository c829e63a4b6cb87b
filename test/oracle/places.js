'use strict';

// Where scripts run: schemas with all that world.js makes, one for each script that runs at a time. What a script
// has left there can be read as texts, and is undone before the next one comes. Used by oracle.js.

const pg = require('pg');
const { SEQUENCES, SHARED, TABLES, placeSql, restoreSql, serverSql } = require('./world');

const OWNERS = 4;

class Places {
  /** @type {string[]} */
  #free = [];
  /** What an untouched place has. @type {Map<string, string>} */
  #pristine = new Map();
  /** Of the objects that a place begins with. @type {Map<string, string>} */
  #lastOids = new Map();
  /** @type {((home: string) => void)[]} */
  #waiting = [];
  #isStrict;
  #isCalm;

  /** @param {any} config of `pg` @param {boolean} isStrict @param {boolean} [isCalm] */
  constructor(config, isStrict, isCalm = false) {
    this.#isStrict = isStrict;
    this.#isCalm = isCalm;
    this.owners = new pg.Pool({ ...config, max: OWNERS, application_name: 'oracle owner' });
    this.owners.on('error', () => {});
  }

  /** @param {number} count */
  async open(count) {
    this.#free = Array.from({ length: count }, (_, index) => `o${index}`);
    await this.owners.query(serverSql(this.#free));
    await Promise.all(this.#free.map((home) => this.#make(home)));
  }

  async close() {
    await this.owners.end();
  }

  /** @param {string} home */
  async #make(home) {
    await this.owners.query(`drop schema if exists ${home}, ${home}x cascade`);
    await this.owners.query(placeSql(home, this.#isStrict, this.#isCalm));
    await this.#fill(home, [...Object.keys(TABLES), ...SEQUENCES]);
    const { rows } = await this.owners.query('select max(objid::bigint) as last from pg_depend');
    this.#lastOids.set(home, rows[0].last);
    this.#pristine.set(home, JSON.stringify(await this.read(home)));
  }

  /** @param {string} home @param {string[]} changed */
  async #fill(home, changed) {
    for (const text of restoreSql(home, changed)) await this.owners.query(text);
  }

  /** @returns {Promise<string>} the schema of a place that nobody else has */
  async take() {
    const home = this.#free.pop();
    if (home !== undefined) return home;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** @param {string} home restored */
  giveBack(home) {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(home);
    else next(home);
  }

  /** All that is in the tables. @param {string} home @returns {Promise<Record<string, string>>} */
  async read(home) {
    const tables = Object.keys(TABLES).map(
      (name) =>
        `(select string_agg(line::text, ' ' order by line::text) from ${home}.${name} line) as ${name}`,
    );
    const sequences = SEQUENCES.map(
      (name) => `(select last_value || is_called::text from ${home}.${name}) as ${name}`,
    );
    const objects = (schema) =>
      `pg_depend where refclassid = 'pg_namespace'::regclass and refobjid = to_regnamespace('${schema}')`;
    const text = `select ${[...tables, ...sequences].join(', ')},
      (select string_agg(pg_describe_object(classid, objid, 0), ', ' order by objid) from ${objects(home)}
        and objid > ${this.#lastOids.get(home) ?? 0}) as added,
      case when exists (select from ${objects(`${home}x`)}) then ${SHARED}.contents('${home}x') end as created`;
    const name = `read ${home} ${this.#lastOids.get(home)}`;
    return (await this.owners.query({ text, name })).rows[0];
  }

  /** @param {string} home @param {Record<string, string>} contents as read */
  async restore(home, contents) {
    if (JSON.stringify(contents) === this.#pristine.get(home)) return;
    const before = JSON.parse(/** @type {string} */ (this.#pristine.get(home)));
    if (contents.added !== null) {
      await this.#make(home);
      return;
    }
    if (contents.created !== before.created) {
      await this.owners.query(
        `drop schema ${home}x cascade; create schema ${home}x; grant usage on schema ${home}x to public`,
      );
    }
    const changed = Object.keys(contents).filter((name) => contents[name] !== before[name]);
    await this.#fill(home, changed);
  }
}

module.exports = { Places };
