'use strict';

// Socket.IO's adapter: servers that talk to each other by NOTIFY, and by a table where a message is large.

const assert = require('node:assert/strict');
const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');
const { createAdapter } = require('@socket.io/postgres-adapter');
const { Pool } = require('pg');
const { Server } = require('socket.io');
const { NUMBERS, useTool } = require('./support/tool');

const TABLE = `create table socket_io_attachments (
  id bigserial unique, created_at timestamptz default now(), payload bytea)`;

describe('@socket.io/postgres-adapter', () => {
  const tool = useTool('@socket.io/postgres-adapter', { schema: TABLE });
  /** @type {Pool[]} */
  const pools = [];
  /** @type {Server[]} */
  const servers = [];

  /** A server as of a process of its own. */
  function open() {
    const pool = new Pool({ connectionString: tool.url, max: 3 });
    pools.push(pool);
    const errorHandler = (/** @type {Error} */ error) => {
      throw error;
    };
    const server = new Server(http.createServer().listen(0), {
      adapter: createAdapter(pool, { errorHandler, heartbeatInterval: 50 }),
    });
    servers.push(server);
    return server;
  }

  tool.close(async () => {
    for (const server of servers) await server.close();
    for (const pool of pools) await pool.end();
  });

  it('passes events between servers, many at once, large and binary ones', async () => {
    const [first, second] = [open(), open()];
    while ((await first.of('/').adapter.serverCount()) < 2) await delay(5);
    while ((await second.of('/').adapter.serverCount()) < 2) await delay(5);
    const heard = [];
    second.on('number', (i) => heard.push(i));
    for (const i of NUMBERS) first.serverSideEmit('number', i);
    while (heard.length < NUMBERS.length) await delay(5);
    assert.deepEqual(
      heard.sort((a, b) => a - b),
      NUMBERS,
    );
    second.on('echo', (bytes, text, answer) => answer([bytes, text]));
    const sent = [Buffer.from([0, 255]), 'x'.repeat(20_000)];
    const [[bytes, text]] = await first.serverSideEmitWithAck('echo', ...sent);
    assert.deepEqual([Buffer.from(bytes), text], sent);
    const { rows } = await pools[0].query('select count(*)::int as n from socket_io_attachments');
    assert.ok(rows[0].n >= 2);
  });
});
