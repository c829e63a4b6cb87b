// Programs that are written with the types of `pg`, @types/pg, and what is there for them alone.

import { EventEmitter } from 'node:events';
import { expectAssignable, expectError, expectType } from 'tsd';
import {
  Client,
  Connection,
  Pool,
  Query,
  Result,
  defaults,
  utils,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  type FieldDef,
  type Notification,
  type ParameterStatus,
  type PoolClient,
  type PoolConfig,
  type QueryArrayConfig,
  type QueryArrayResult,
  type QueryConfig,
  type QueryResult,
  type QueryResultBase,
  type QueryResultRow,
  type Submittable,
} from '../..';

interface User {
  id: number;
  name: string;
}

declare const client: Client;
declare const pool: Pool;

// As people write with @types/pg.
const config: PoolConfig = { max: 5, idleTimeoutMillis: 1000 };
new Pool(config);
expectAssignable<ClientConfig>({ connectionString: 'postgres://', application_name: 'x' });
expectType<Promise<QueryResult<User>>>(pool.query<User>('select'));
expectType<Promise<QueryResult<User>>>(pool.query<User, [number]>('select $1', [1]));
async function run<Row extends QueryResultRow>(
  on: Pool | ClientBase | PoolClient,
  text: string | QueryConfig<unknown[]>,
  values?: unknown[],
): Promise<Row[]> {
  const result: QueryResult<Row> = await on.query<Row>(text, values);
  const base: QueryResultBase = result;
  expectType<string | null>(base.command);
  expectAssignable<FieldDef[]>(result.fields);
  return result.rows;
}
expectType<Promise<User[]>>(run<User>(pool, 'select 1'));
const arrays: QueryArrayConfig<[number]> = { text: 'select $1', values: [1], rowMode: 'array' };
expectType<Promise<QueryArrayResult<[string]>>>(pool.query<[string]>(arrays));
const parsers: CustomTypesConfig = { getTypeParser: () => (text) => text };
pool.query({ text: 'select 1', types: parsers });
client.on('notification', (message: Notification) => expectType<string>(message.payload));

// Query
const query = new Query<User>('select $1', [1]);
expectAssignable<Submittable>(query);
expectAssignable<EventEmitter>(query);
expectType<Query<User>>(client.query(query));
query.on('row', (row, result) => {
  expectType<User>(row);
  expectType<Result<User>>(result);
});
query.on('end', (result) => expectType<Result<User>>(result));
query.on('error', (error) => expectType<Error>(error));
new Query<User>({ text: 'select 1', rows: 10 }, (error, { rows }) => {
  expectType<Error | null>(error);
  expectType<User[]>(rows);
});
expectError(new Query(1));
expectType<Submittable>(client.query({ submit() {} } as Submittable));

// The rest of the shape
expectType<Connection>(client.connection);
client.connection.once('parameterStatus', (message) => expectType<ParameterStatus>(message));
expectType<'I' | 'T' | 'E' | null>(client.getTransactionStatus());
expectType<boolean>(client.ssl);
expectType<number>(client.connectionParameters.port);
expectError((client.ssl = true));
defaults.parseInt8 = true;
defaults.max = 20;
defaults.application_name = 'x';
expectType<string | Buffer | null>(utils.prepareValue(new Date()));
expectType<string>(utils.escapeIdentifier('a'));
expectAssignable<QueryConfig>(utils.normalizeQueryConfig('select $1', [1]));
