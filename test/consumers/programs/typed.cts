// What a CommonJS program in TypeScript takes from the package, its deep paths included, and one query.

import { Client, DatabaseError, Pool, types } from 'pg-conduit';
import conduit = require('pg-conduit');
import DeepClient = require('pg-conduit/lib/client');
import ConnectionParameters = require('pg-conduit/lib/connection-parameters.js');
import TypeOverrides = require('pg-conduit/lib/type-overrides');
import utils = require('pg-conduit/lib/utils');

const options: conduit.PoolConfig = { connectionString: process.env.DATABASE_URL, max: 2 };

async function main(): Promise<void> {
  const pool: conduit.Pool = new Pool(options);
  try {
    const { rows } = await pool.query<{ answer: number }>('select 6 * $1::int as answer', [7]);
    const answer: number = rows[0].answer;
    console.log(answer);
    await pool.query('select 1/0');
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const code: string | undefined = error.code;
    console.log(code);
  } finally {
    await pool.end();
  }
  const deep: typeof Client = DeepClient;
  const overrides: TypeOverrides = new TypeOverrides(types);
  const { host, port } = new ConnectionParameters('postgres://db.test:6543/app');
  const escaped: string = utils.escapeIdentifier('a b');
  console.log(deep === Client, overrides.getTypeParser(23)('42'), host, port, escaped);
}

main();
