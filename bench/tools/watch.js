'use strict';

// How many connections the server has under an application_name, asked again and again. A process of its own, so that this is
// not counted as work of the driver that is measured. Forked by ConnectionsWatch of connections.js; ends when the channel does.

const { setTimeout: delay } = require('node:timers/promises');
const { withClient } = require('../tables');

const EVERY_MILLIS = 25;
const COUNT =
  'select count(*)::int as connections from pg_stat_activity where application_name = $1';

let name = '';
let most = 0;

process.once('message', (/** @type {{ server: import('../tables').Target }} */ { server }) =>
  withClient(server, async (client) => {
    const count = async () => {
      const counted = name;
      const { rows } = await client.query({ name: 'count', text: COUNT, values: [counted] });
      if (counted === name) most = Math.max(most, rows[0].connections);
    };
    process.on('message', async (/** @type {{ name?: string }} */ order) => {
      if (order.name === undefined) {
        await count();
        process.send?.({ connections: most });
        name = '';
      } else {
        ({ name } = order);
        most = 0;
        process.send?.({});
      }
    });
    process.send?.({});
    for (;;) {
      if (name !== '') await count();
      await delay(EVERY_MILLIS);
    }
  }),
);
process.on('disconnect', () => process.exit());
