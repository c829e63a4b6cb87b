'use strict';

// Whether notifications arrive, and whether the changes of tables could be subscribed to.

const { randomUUID } = require('node:crypto');
const { within } = require('./limit');

/** @typedef {import('./index').Context} Context */

/** @param {Context} context */
async function checkListen(context) {
  const { facts, findings, sessions, timeoutMillis } = context;
  const { mode } = facts.pooler;
  facts.listen = { works: null };
  if (mode === 'transaction' || mode === 'statement') {
    // To try it would leave a LISTEN in a session that others get next.
    facts.listen.works = false;
    findings.add(
      'listen',
      'note',
      'LISTEN hears nothing through this pooler: give listen() a pool with a direct connection',
    );
    return;
  }
  const channel = `pg_conduit_check_${randomUUID()}`;
  const client = await sessions.main();
  /** @type {(value: void) => void} */
  let hear = () => {};
  const heard = new Promise((resolve) => {
    hear = resolve;
  });
  client.on('notification', (/** @type {any} */ message) => {
    if (message.channel === channel) hear();
  });
  try {
    await sessions.ask(client, `listen "${channel}"`);
    await sessions.ask(client, `notify "${channel}"`);
    await within(timeoutMillis, heard);
    await sessions.ask(client, `unlisten "${channel}"`);
    facts.listen.works = true;
    findings.add('listen', 'ok', 'LISTEN and NOTIFY work');
  } catch (error) {
    facts.listen.works = false;
    const { message } = /** @type {any} */ (error);
    findings.add('listen', 'note', `LISTEN and NOTIFY do not work: ${message}`);
    await sessions.close(client);
  }
}

/** @param {Context} context */
async function checkReplication({ facts, findings, sessions }) {
  facts.replication = { walLevel: null, allowed: null };
  try {
    const [{ level }] = await sessions.look("select current_setting('wal_level') as level");
    const [{ may }] = await sessions.look(
      'select rolreplication or rolsuper as may from pg_roles where rolname = current_user',
    );
    facts.replication = { walLevel: level, allowed: may };
    const lacks = [
      level === 'logical' ? undefined : `wal_level is ${level}, not logical`,
      may ? undefined : 'this role has not the attribute REPLICATION',
      facts.pooler.between ? 'a pooler is in between' : undefined,
    ].filter((lack) => lack !== undefined);
    const text =
      lacks.length === 0
        ? 'subscribe() to changes of tables can work (wal_level is logical)'
        : `subscribe() to changes of tables cannot work: ${lacks.join('; ')}`;
    findings.add('replication', 'ok', text);
  } catch (error) {
    findings.unseen('replication', 'logical replication', error);
  }
}

module.exports = { checkListen, checkReplication };
