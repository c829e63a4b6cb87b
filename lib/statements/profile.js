'use strict';

// Settings of a session that are made outside of transactions, and that belong to a caller rather than to a session:
// search_path, TimeZone, timeouts. A profile is what a lease has set of them. Any connection can be given it, so a lease
// that has set nothing else still floats. Read from texts here; connection/session-profile.js makes connections
// follow.

const { Scanner } = require('./scanner');
const { splitStatements } = require('./split');

/**
 * @typedef {import('./registry').StatementInfo} StatementInfo
 *
 * A change of one setting, or of all of them ('*').
 * @typedef {object} Setting
 * @property {string} name in lower case
 * @property {string | undefined} text the statement that makes it; undefined: what the session began with
 * @property {string} tag command tag of its answer
 */

/**
 * Not those that change how values are written (connection/session-formats.js), nor what transactions are, nor what
 * may end an idle session.
 */
const NAMES = new Set([
  ...['application_name', 'client_min_messages', 'lock_timeout', 'search_path'],
  ...['statement_timeout', 'timezone', 'work_mem'],
]);

/** Those that change what a text means, and not only how it runs. */
const GIVING_MEANING = ['search_path', 'timezone'];

const SET =
  /^\s*set\s+(?:session\s+)?(?:(?<zone>time\s+zone)\s|(?<name>[a-z_]+)\s*(?:=|\sto\s))\s*(?<value>.+)$/is;
const RESET = /^\s*reset\s+(?<name>[a-z_]+|time\s+zone)\s*;?\s*$/i;
const DISCARD = /^\s*(?<verb>reset|discard)\s+all\s*;?\s*$/i;
const DEFAULT = /^default\s*;?\s*$/i;
/** The driver has no other encoding. */
const UTF8 = /^'?utf-?8'?\s*;?\s*$/i;
/** White space to JavaScript, and to PostgreSQL a part of a name. */
const FOREIGN_SPACE = /[^\S \t\n\r\f]/;
const IS_SETTING = /^(?:SET|RESET|DISCARD)$/;

/** @param {string} statement @returns {Setting | undefined} undefined: it changes more, or something else */
function readSetting(statement) {
  const all = DISCARD.exec(statement)?.groups?.verb.toUpperCase();
  if (all !== undefined) {
    return { name: '*', text: undefined, tag: all === 'RESET' ? 'RESET' : 'DISCARD ALL' };
  }
  const {
    name,
    zone,
    value = 'default',
  } = (SET.exec(statement) ?? RESET.exec(statement))?.groups ?? {};
  if (name === undefined && zone === undefined) return undefined;
  const key =
    zone === undefined ? name.toLowerCase().replace(/^time\s+zone$/, 'timezone') : 'timezone';
  const tag = RESET.test(statement) ? 'RESET' : 'SET';
  if (key === 'client_encoding' && UTF8.test(value)) return { name: '', text: undefined, tag };
  if (!NAMES.has(key)) return undefined;
  return { name: key, text: DEFAULT.test(value) ? undefined : statement.trim(), tag };
}

/**
 * @param {StatementInfo} info of a text that runs outside of a transaction
 * @returns {Setting[] | undefined} what it changes, if it does nothing else
 */
function readSettings({ text, isSeveral, isDoubtful, class: { keyword } }) {
  if (!IS_SETTING.test(keyword) || isDoubtful) return undefined;
  const statements = isSeveral ? splitStatements(text) : [text];
  /** @type {Setting[]} */
  const settings = [];
  for (const statement of statements) {
    const setting = isUnclear(statement) ? undefined : readSetting(statement);
    if (setting === undefined) return undefined;
    settings.push(setting);
  }
  return settings;
}

/**
 * @param {string} text
 * @returns {Setting[] | undefined} if it is a RESET ALL or a DISCARD ALL
 */
function readResetAll(text) {
  const setting = DISCARD.test(text) && !isUnclear(text) ? readSetting(text) : undefined;
  return setting && [setting];
}

/** Whether the server may see more in it, or other words. @param {string} statement */
function isUnclear(statement) {
  if (FOREIGN_SPACE.test(statement)) return true;
  return statement.includes('--') || statement.includes('/*') || new Scanner(statement).isDoubtful;
}

/** @type {ReadonlyMap<string, string>} */
const NOTHING = new Map();

class Profile {
  /** The statement that makes each setting, by its name. @type {ReadonlyMap<string, string>} */
  settings;
  /** Equal profiles have equal keys. */
  key;
  /** The same for the settings that change what a text means: '' if none of them is set. */
  meaning;

  /** @param {ReadonlyMap<string, string>} settings */
  constructor(settings) {
    this.settings = settings;
    this.key = JSON.stringify([...settings].sort());
    const giving = GIVING_MEANING.map((name) => settings.get(name));
    this.meaning = giving.every((text) => text === undefined) ? '' : JSON.stringify(giving);
  }

  /**
   * @param {Profile | undefined} profile undefined: nothing is set
   * @param {Setting[]} changes
   * @returns {Profile | undefined}
   */
  static change(profile, changes) {
    const settings = new Map(profile?.settings ?? NOTHING);
    for (const { name, text } of changes) {
      if (name === '*') settings.clear();
      else if (text === undefined) settings.delete(name);
      else settings.set(name, text);
    }
    return settings.size === 0 ? undefined : new Profile(settings);
  }

  /**
   * @param {Profile | undefined} from
   * @param {Profile | undefined} to
   * @returns {string[]} statements that turn the one into the other
   */
  static difference(from, to) {
    if (from?.key === to?.key) return [];
    const old = from?.settings ?? NOTHING;
    const wanted = to?.settings ?? NOTHING;
    const unset = [...old.keys()].filter((name) => !wanted.has(name));
    const texts = unset.map((name) => `RESET ${name}`);
    for (const [name, text] of wanted) if (old.get(name) !== text) texts.push(text);
    return texts;
  }
}

module.exports = { Profile, readResetAll, readSettings };
