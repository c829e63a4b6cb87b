'use strict';

// Fastify: a plugin makes the pool, and ends it when the server is closed. Queries that a handler starts
// together travel together, and with those of other handlers.
// node examples/fastify/server.js

const fastify = require('fastify');
const { Pool } = require('pg-conduit');
const { announce, onStop, openPlayground } = require('../playground');

const TABLES = `
  create table book (id serial primary key, title text not null unique, year int not null);
  insert into book (title, year) values ('A Mathematical Theory of Communication', 1948),
    ('Computing Machinery and Intelligence', 1950), ('The Art of Computer Programming', 1968);`;

const PERIOD = { type: 'object', properties: { from: { type: 'integer', default: 0 } } };
const NEW_BOOK = {
  type: 'object',
  required: ['title', 'year'],
  properties: { title: { type: 'string', minLength: 1 }, year: { type: 'integer' } },
};

/** @param {import('fastify').FastifyInstance} app @param {import('pg-conduit').PoolConfig} options */
async function database(app, options) {
  const pool = new Pool(options);
  pool.on('error', (error) => app.log.error(error, 'connection lost'));
  app.decorate('db', pool);
  app.addHook('onClose', () => pool.end());
}
// So that its parent sees what it decorates.
Object.assign(database, { [Symbol.for('skip-override')]: true });

/** @param {import('fastify').FastifyInstance} app */
async function books(app) {
  /** @type {Pool} */
  const db = app.getDecorator('db');

  app.get('/books', { schema: { querystring: PERIOD } }, async (request) => {
    const { from } = /** @type {{ from: number }} */ (request.query);
    // One round trip: neither waits for the other's answer.
    const [page, count] = await Promise.all([
      db.query('select id, title, year from book where year >= $1 order by year limit 20', [from]),
      db.query('select count(*)::int as total from book where year >= $1', [from]),
    ]);
    return { ...count.rows[0], books: page.rows };
  });

  app.post('/books', { schema: { body: NEW_BOOK } }, async (request, reply) => {
    const { title, year } = /** @type {{ title: string, year: number }} */ (request.body);
    const { rows } = await db.query(
      'insert into book (title, year) values ($1, $2) on conflict do nothing returning id',
      [title, year],
    );
    if (rows.length === 0) return reply.code(409).send({ error: 'there is one of this title' });
    return reply.code(201).send(rows[0]);
  });
}

async function main() {
  const playground = await openPlayground('conduit_fastify', TABLES);
  const app = fastify();
  app.register(database, { ...playground.options, max: 4 });
  app.register(books);
  onStop(async () => {
    await app.close(); // answers what is due, then calls the hooks
    await playground.close();
  });
  const address = await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });
  const book = { title: 'Structure and Interpretation of Computer Programs', year: 1985 };
  announce(address, [['/books?from=1950'], ['/books', book]]);
}

main();
