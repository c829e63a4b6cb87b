// The tools of this folder in TypeScript: their declarations import those of `pg`, which are ours here.

import fastifyPostgres from '@fastify/postgres';
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import Fastify from 'fastify';
import { run } from 'graphile-worker';
import { Kysely, PostgresDialect } from 'kysely';
import { runner } from 'node-pg-migrate';
import pg, { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import PgBoss from 'pg-boss';
import QueryStream from 'pg-query-stream';
import { DataSource } from 'typeorm';

const config: PoolConfig = { connectionString: process.env.DATABASE_URL, max: 5 };
const pool = new Pool(config);
const client = new Client({ host: 'localhost' });
const lent: PoolClient = await pool.connect();

export const databases = [
  drizzle(pool),
  drizzle({ client: pool, casing: 'snake_case' }),
  drizzle(client),
  drizzle(lent),
];
export const kysely = new Kysely<{ note: { id: number } }>({
  dialect: new PostgresDialect({ pool }),
});
export const later = new PostgresDialect({ pool: async () => new pg.Pool({ database: 'notes' }) });
// A pool of ours is none to the copy of @types/pg that this one may bring along.
export const adapter = new PrismaPg({ connectionString: process.env.DATABASE_URL });
export const boss = new PgBoss({
  db: { executeSql: (text: string, values: any[]) => pool.query(text, values) },
});
export const source = new DataSource({ type: 'postgres', driver: pg });

await run({
  pgPool: pool,
  taskList: {
    async count(_payload, helpers) {
      const { rows } = await helpers.query<{ total: number }>('select 1 as total');
      await helpers.withPgClient(async (borrowed) => borrowed.query('select $1', [rows[0]?.total]));
    },
  },
});
await runner({ dbClient: client, dir: 'migrations', direction: 'up', migrationsTable: 'done' });

for await (const row of client.query(new QueryStream('select 1'))) console.log(row);

const app = Fastify();
app.register(fastifyPostgres, { connectionString: 'postgres://localhost/notes', pg });
app.get('/', async () => {
  const borrowed = await app.pg.connect();
  try {
    return await borrowed.query<{ id: number }>('select 1 as id', []);
  } finally {
    borrowed.release();
  }
});
