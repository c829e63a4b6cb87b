'use strict';

// Settings of the session that change what values look like, or end something by time: as each new session gets
// them, before the driver sets anything itself.

const { SETTINGS } = require('./settings-table');

/** @typedef {import('./index').Context} Context */

/** @param {Context} context */
async function checkSettings(context) {
  const { facts, findings } = context;
  /** @type {Record<string, string>} */
  const values = await readSettings(context);
  facts.settings = values;
  let isPlain = true;
  for (const { name, judge } of SETTINGS) {
    const value = values[name];
    if (value === undefined) continue;
    const judged = judge(value, values);
    if (judged === undefined) continue;
    const [level, text] = judged;
    findings.add(`settings.${name}`, level, `${name} is ${value || 'empty'}: ${text}`);
    isPlain = false;
  }
  if (isPlain && Object.keys(values).length > 0) {
    findings.add('settings', 'ok', 'all that change values or end sessions are as usual');
  }
  await checkRoleSettings(context);
}

/** @param {Context} context @returns {Promise<Record<string, string>>} */
async function readSettings({ findings, sessions }) {
  const names = SETTINGS.map(({ name }) => name);
  try {
    const rows = await sessions.look(
      `select name, setting, reset_val, unit from pg_settings where lower(name) = any($1)`,
      [names.map((name) => name.toLowerCase())],
    );
    return Object.fromEntries(
      rows.map(({ name, setting, reset_val: reset, unit }) => {
        const known = names.find((one) => one.toLowerCase() === name.toLowerCase()) ?? name;
        // The driver may have set DateStyle itself.
        const value = reset ?? setting;
        return [known, unit === 'ms' && value !== '0' ? `${value} ms` : value];
      }),
    );
  } catch (error) {
    findings.unseen('settings', 'settings', error);
    return {};
  }
}

/** ALTER ROLE … SET, ALTER DATABASE … SET. @param {Context} context */
async function checkRoleSettings({ facts, findings, sessions }) {
  try {
    const rows = await sessions.look(
      `select case when s.setrole = 0 then 'database' when s.setdatabase = 0 then 'role' else 'role in database' end as of,
         unnest(s.setconfig) as setting
       from pg_db_role_setting s
       where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
         and s.setrole in (0, (select oid from pg_roles where rolname = current_user))`,
    );
    // A value may be a secret that a program keeps there: names alone.
    const named = rows.map(({ of, setting }) => ({ of, name: setting.split('=', 1)[0] }));
    facts.roleSettings = named;
    if (named.length === 0) return;
    const list = named.map(({ of, name }) => `${name} (${of})`).join(', ');
    findings.add(
      'settings.role',
      'note',
      `set for each session by ALTER ROLE or ALTER DATABASE: ${list}`,
    );
  } catch (error) {
    findings.unseen('settings.role', 'settings of the role and the database', error);
  }
}

module.exports = { checkSettings };
