'use strict';

// Where scripts run: schemas with all that world.js makes, one for each script that runs at a time. What a script
// has left there can be read as texts, and is undone before the next one comes. Used by oracle.js.

const pg = require('pg');
const { SEQUENCES, TABLES, placeSql, restoreSql, serverSql } = require('./world');

const OWNERS = 4;

class Places {
  /** @type {string[]} */
  #free = [];
  /** What an untouched place has. @type {Map<string, string>} */
  #pristine = new Map();
  /** @type {((home: string) => void)[]} */
  #waiting = [];
  #isStrict;

  /** @param {any} config of `pg` @param {boolean} isStrict */
  constructor(config, isStrict) {
    this.#isStrict = isStrict;
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
    await this.owners.query(placeSql(home, this.#isStrict));
    this.#pristine.set(home, JSON.stringify(await this.read(home)));
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
      (name) => `(select string_agg(line::text, ' ' order by line::text) from ${home}.${name} line) as ${name}`,
    );
    const sequences = SEQUENCES.map(
      (name) => `(select last_value || is_called::text from ${home}.${name}) as ${name}`,
    );
    const text = `select ${[...tables, ...sequences].join(', ')},
      (select string_agg(relname, ' ' order by relname) from pg_class where relnamespace = '${home}'::regnamespace)
      as relations,
      (select string_agg(proname || md5(prosrc), ' ' order by proname) from pg_proc
        where pronamespace = '${home}'::regnamespace) as functions,
      (select string_agg(typname, ' ' order by typname) from pg_type
        where typnamespace = '${home}'::regnamespace and typtype in ('e', 'd')) as types,
      oracle_shared.contents('${home}x') as created`;
    const { rows } = await this.owners.query({ text, name: `read ${home}` });
    return rows[0];
  }

  /** @param {string} home @param {Record<string, string>} contents as read */
  async restore(home, contents) {
    if (JSON.stringify(contents) === this.#pristine.get(home)) return;
    const before = JSON.parse(/** @type {string} */ (this.#pristine.get(home)));
    if (['relations', 'functions', 'types'].some((what) => contents[what] !== before[what])) {
      await this.#make(home);
      return;
    }
    if (contents.created !== before.created) {
      await this.owners.query(
        `drop schema ${home}x cascade; create schema ${home}x; grant usage on schema ${home}x to public`,
      );
    }
    const changed = Object.keys(contents).filter((name) => contents[name] !== before[name]);
    await this.owners.query(restoreSql(home, changed));
  }
}

module.exports = { Places };
