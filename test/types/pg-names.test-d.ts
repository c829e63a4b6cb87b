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
  type QueryConfigValues,
  type QueryResult,
  type QueryResultBase,
  type QueryResultRow,
  type ResultBuilder,
  type Submittable,
  type TransactionStatus,
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
  expectType<string>(base.command);
  expectAssignable<FieldDef[]>(result.fields);
  return result.rows;
}
expectType<Promise<User[]>>(run<User>(pool, 'select 1'));
const arrays: QueryArrayConfig<[number]> = { text: 'select $1', values: [1], rowMode: 'array' };
expectType<Promise<QueryArrayResult<[string]>>>(pool.query<[string]>(arrays));
const parsers: CustomTypesConfig = { getTypeParser: () => (text) => text };
pool.query({ text: 'select 1', types: parsers });
client.on('notification', (message: Notification) => expectType<string>(message.payload));

// Callbacks and listeners, with the types that @types/pg has for their parameters.
client.connect((error: Error) => error.message);
client.end((error: Error) => error.message);
client.query('select 1', (error: Error, result: QueryResult<User>) => [error, result]);
pool.connect(
  (error: Error | undefined, lent: PoolClient | undefined, done: (value?: any) => void) =>
    done(error ?? lent),
);
pool.on('connect', (opened: PoolClient) => opened.query('select 1'));
pool.on('error', (error: Error, lost: PoolClient) => [error, lost]);
pool.on('release', (error: Error, lent: PoolClient) => [error, lent]);
expectError(pool.on('connect', (opened: string) => opened));
expectError(client.query('select 1', (error: Error, result: number) => [error, result]));
expectType<Promise<string>>(client.connect().then((connected) => connected.host));
expectType<[number, string]>({} as QueryConfigValues<[number, string]>);
expectType<TransactionStatus>(client.getTransactionStatus());

// Query
const query = new Query<User>('select $1', [1]);
expectAssignable<Submittable>(query);
expectAssignable<EventEmitter>(query);
expectType<Query<User>>(client.query(query));
query.on('row', (row, result) => {
  expectType<User>(row);
  expectAssignable<Result<User>>(result);
});
query.on('row', (row: User, result?: ResultBuilder<User>) => result?.addRow(row));
query.on('end', (result) => expectAssignable<Result<User>>(result));
query.on('error', (error) => expectType<Error>(error));
new Query<User>({ text: 'select 1', rows: 10 }, (error, { rows }) => {
  expectType<Error>(error);
  expectType<User[]>(rows);
});
expectError(new Query(1));
expectType<Submittable>(client.query({ submit() {} } as Submittable));

// The rest of the shape
expectType<Connection>(client.connection);
expectType<boolean>(client.connection.stream.destroyed);
client.connection.stream.setKeepAlive(true, 10_000).unref();
client.connection.once('end', () => {}).end();
client.connection.once('parameterStatus', (message) => expectType<ParameterStatus>(message));
expectType<'I' | 'T' | 'E' | null>(client.getTransactionStatus());
expectType<boolean>(client.ssl);
expectType<number>(client.connectionParameters.port);
client.ssl = true;
defaults.parseInt8 = true;
defaults.max = 20;
defaults.application_name = 'x';
expectType<string | Buffer | null>(utils.prepareValue(new Date()));
expectType<string>(utils.escapeIdentifier('a'));
expectAssignable<QueryConfig>(utils.normalizeQueryConfig('select $1', [1]));
