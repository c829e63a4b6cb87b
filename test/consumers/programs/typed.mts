// What an ES module in TypeScript takes from the package, its deep paths included, and one query.

import conduit, {
  Client,
  DatabaseError,
  Pool,
  types,
  type PoolConfig,
  type QueryResult,
  type Transaction,
} from 'pg-conduit';
import DeepClient from 'pg-conduit/lib/client';
import ConnectionParameters from 'pg-conduit/lib/connection-parameters.js';
import TypeOverrides from 'pg-conduit/lib/type-overrides';
import utils from 'pg-conduit/lib/utils';

interface Row {
  answer: number;
}

const options: PoolConfig = { connectionString: process.env.DATABASE_URL, max: 2 };

async function ask(transaction: Transaction): Promise<QueryResult<Row>> {
  return transaction.query<Row>('select 6 * $1::int as answer', [7]);
}

async function main(): Promise<void> {
  const pool: Pool = new conduit.Pool(options);
  try {
    const { rows } = await pool.transaction(ask);
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
