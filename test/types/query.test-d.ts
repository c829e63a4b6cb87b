// Every form of query(), of a pool, a client and a client of a pool.

import type { Readable, Writable } from 'node:stream';
import { expectAssignable, expectError, expectType } from 'tsd';
import {
  Client,
  Pool,
  Result,
  types,
  type Column,
  type ColumnsResult,
  type ColumnValues,
  type Cursor,
  type Field,
  type PoolClient,
  type QueryArrayResult,
  type QueryConfig,
  type QueryResult,
  type Queryable,
  type RowStream,
} from '../..';

interface World {
  id: number;
  randomnumber: number;
}

declare const client: Client;
declare const pool: Pool;
declare const lent: PoolClient;
declare const config: QueryConfig;
declare const frozen: readonly [number, string];
declare const texts: string[];

expectAssignable<Queryable>(client);
expectAssignable<Queryable>(pool);
expectAssignable<Queryable>(lent);

for (const db of [client, pool, lent] as Queryable[]) {
  // Text
  expectType<Promise<Result<any>>>(db.query('select 1'));
  expectType<Promise<Result<World>>>(db.query<World>('select 1'));
  expectType<Promise<Result<World>>>(db.query<World>('select $1', [1]));
  expectType<Promise<Result<any>>>(db.query('select $1, $2', frozen));
  expectType<Promise<Result<any>>>(db.query('select 1', null));

  // An object
  expectType<Promise<Result<any>>>(db.query(config));
  expectType<Promise<Result<World>>>(db.query<World>({ text: 'select $1', values: [1] }));
  expectType<Promise<Result<World>>>(db.query<World>({ text: 'select $1' }, [1]));
  expectType<Promise<Result<any>>>(
    db.query({ text: 'select 1', name: 'one', types, prepare: false, rowMode: null }),
  );

  expectType<Promise<Result<any>>>(db.query({ text: 'select 1', syncGroup: 'off' }));

  // By name
  expectType<Promise<Result<World>>>(db.query<World>('select :id', { id: 1 }));
  expectType<Promise<Result<any>>>(db.query({ text: 'select :id', values: { id: 1 } }));
  expectError(db.query('select $1', 1));

  // Columns
  expectType<Promise<ColumnsResult>>(db.query({ text: 'select 1', rowMode: 'columns' }));
  expectType<Promise<ColumnsResult<[Column<Int32Array>, Column<string[]>]>>>(
    db.query<[Column<Int32Array>, Column<string[]>]>({ text: 'select 1', rowMode: 'columns' }, [1]),
  );
  expectError(db.query<[number]>({ text: 'select 1', rowMode: 'columns' }));

  // Rows as arrays
  expectType<Promise<QueryArrayResult<any[]>>>(db.query({ text: 'select 1', rowMode: 'array' }));
  expectType<Promise<QueryArrayResult<[number, string]>>>(
    db.query<[number, string]>({ text: 'select $1, $2', rowMode: 'array' }, [1, 'a']),
  );

  // Callbacks
  expectType<void>(
    db.query<World>('select 1', (error, result) => {
      expectType<Error>(error);
      expectType<Result<World>>(result);
    }),
  );
  expectType<void>(db.query('select $1', [1], (error) => expectType<Error>(error)));
  expectType<void>(db.query<World>(config, (_error, result) => expectType<Result<World>>(result)));
  expectType<void>(db.query(config, [1], () => {}));
  expectType<void>(
    db.query<[number]>({ text: 'select 1', rowMode: 'array' }, (_error, result) =>
      expectType<QueryArrayResult<[number]>>(result),
    ),
  );
  expectType<void>(
    db.query<[number]>({ text: 'select $1', rowMode: 'array' }, [1], (_error, result) =>
      expectType<QueryArrayResult<[number]>>(result),
    ),
  );
  expectType<void>(
    db.query<World>({
      text: 'select 1',
      callback: (_error, result) => expectType<Result<World>>(result),
    }),
  );
}

for (const db of [client, pool, lent] as Queryable[]) {
  const { signal } = new AbortController();
  const pair = ['select 1', { text: 'select $1', values: [1] }] as const;
  expectType<Promise<[Result, Result]>>(
    db.batch(['select 1', { text: 'select $1', values: [1], rowMode: 'array' }]),
  );
  expectType<Promise<[Result, Result]>>(db.batch(pair));
  expectType<Promise<[Result]>>(db.batch(['select 1'], { signal, timeoutMillis: 10 }));
  expectType<Promise<void>>(db.batch(pair).then(([, { rows }]) => expectType<any[]>(rows)));
  expectType<Promise<Result[]>>(db.batch(texts));
  expectType<Promise<Result[]>>(db.batch(texts.map((text) => ({ text, values: [1] }))));
  expectType<Promise<[Result, ...Result[]]>>(db.batch(['select 1', ...texts]));
  expectType<Promise<[]>>(db.batch([]));

  // One type for the rows of all, or each its own
  expectType<Promise<Result<World>[]>>(db.batch<World>([config] as const));
  expectType<Promise<Result<[number]>[]>>(db.batch<[number]>([config, 'select 1']));
  expectType<Promise<[Result<World>, Result<{ count: string }>]>>(
    db.batch<[Result<World>, Result<{ count: string }>]>(['select 1', config]),
  );

  expectError(db.batch(['select 1'], { signal: 'now' }));
  expectError(db.batch([{ text: 'select $1', valeus: [1] }]));
  expectError(db.batch([Promise.resolve('select 1')]));
  expectError(db.batch([['select $1', [1]]]));
}
function batchOf<Row>(queries: string[]): Promise<Result<Row>[]> {
  return pool.batch<Row>(queries);
}
expectType<Promise<Result<World>[]>>(batchOf<World>(texts));

for (const db of [client, pool, lent]) {
  const { signal } = new AbortController();
  expectType<Promise<Result<any>>>(db.query({ text: 'select 1', signal, timeoutMillis: 10 }));
  expectType<Promise<Result<any>>>(db.query({ text: 'select 1', signal: null, query_timeout: 0 }));
  expectError(db.query({ text: 'select 1', signal: 'now' }));
  expectType<Promise<Result<World>>>(
    db.query<World>('select $1', [1], { signal, timeoutMillis: 10 }),
  );
  expectType<Promise<Result<any>>>(db.query('select 1', null, { signal: null }));
  expectType<Promise<QueryArrayResult<[number]>>>(
    db.query<[number]>({ text: 'select 1', rowMode: 'array' }, [], { signal }),
  );
  expectError(db.query('select 1', [], { signal: 'now' }));
  expectError(db.query('select 1', [], { rowMode: 'array' }));

  const stream = db.stream<World>({ text: 'select $1', signal }, [1], { batchSize: 10 });
  expectAssignable<Readable>(stream);
  expectType<Field[]>(stream.fields);
  expectAssignable<AsyncIterableIterator<World>>(stream[Symbol.asyncIterator]());
  expectType<World | null>(stream.read());
  expectType<Promise<World[]>>(stream.toArray());
  expectType<RowStream<World>>(stream.on('data', (row) => expectType<World>(row)));
  stream.on('error', (error) => expectType<Error>(error)).once('end', () => {});
  expectType<Promise<[number][]>>(
    db.stream<[number]>({ text: 'select 1', rowMode: 'array' }).toArray(),
  );
  expectAssignable<RowStream>(db.stream('select 1'));
  expectAssignable<RowStream>(db.stream('select 1', [], { signal, batchSize: 10 }));
  expectError(db.stream('select 1', [], { batchSize: '10' }));

  const copied = db.copyFrom('copy t from stdin');
  expectAssignable<Writable>(copied);
  expectType<number | null>(copied.rowCount);
  expectAssignable<AsyncIterableIterator<Buffer>>(
    db.copyTo('copy t to stdout')[Symbol.asyncIterator](),
  );
  expectType<Promise<{ rowCount: number }>>(db.copyRows('t', ['a', 'b'], [[1, 'x']]));
  db.copyRows(['s', 't'] as const, ['a'] as const, stream as AsyncIterable<[number]>);
  expectType<Promise<{ rowCount: number }>>(db.copyRows('s.t', ['a'], [[1]]));
  expectType<Promise<{ rowCount: number }>>(db.copyRows(['a.dotted.name'], ['a'], [[1]]));
  expectError(db.copyRows(['s', 't', 'u'], ['a'], []));
  expectError(db.copyRows('t', ['a'], [1]));
}

const cursor = client.cursor<World>('select $1', [1]);
expectType<Cursor<World>>(cursor);
expectType<Cursor>(client.cursor('select 1', [], { signal: new AbortController().signal }));
expectType<Promise<World[]>>(cursor.read(10));
expectType<Promise<void>>(cursor.close());
expectType<Promise<void>>(client.cancel());
expectError(pool.cursor('select 1'));
expectError(pool.cancel());

expectError(pool.batch('select 1'));
expectError(pool.batch([{ values: [1] }]));
expectError(pool.batch(['select 1'], () => {}));

expectType<Promise<Result<World>>>(pool.query<World>('select 1'));
expectType<Promise<Result<World>>>(client.query<World>('select 1'));
expectType<Promise<Result<World>>>(lent.query<World>('select 1'));

expectType<Promise<void>>(
  pool.query<World>('select 1').then(({ rows }) => expectType<World[]>(rows)),
);

expectError(pool.query<World>('select 1').then(({ rows }) => rows.map((row) => row.nonsense)));
expectError(pool.query());
expectError(pool.query(42));
expectError(pool.query('select $1', 1));
expectError(pool.query({ values: [1] }));
expectError(pool.query({ text: 'select 1', rowMode: 'object' }));
expectError(pool.query({ text: 'select 1', name: 1 }));
expectError(pool.query({ text: 'select 1', types: {} }));
expectError(pool.query({ text: 'select 1', nonsense: 1 }));
expectError(pool.query({ text: 'select 1', syncGroup: 'writes' }));
expectError(pool.query<World>({ text: 'select 1', rowMode: 'array' as const, nonsense: 1 }));

// Results
declare const result: QueryResult<World>;
expectType<Result<World>>(result);
expectType<World[]>(result.rows);
expectType<number | null>(result.rowCount);
expectType<string>(result.command);
expectType<number>(result.oid);
expectType<boolean>(result.rowAsArray);
expectType<Field[]>(result.fields);
expectAssignable<Result>(new Result(true));
expectAssignable<Result>(new Result('array', types));
expectAssignable<Result<[number]>>({} as QueryArrayResult<[number]>);

declare const field: Field;
expectType<string>(field.name);
expectType<number>(field.dataTypeID);
expectType<number>(field.tableID);
expectType<number>(field.columnID);
expectType<number>(field.dataTypeSize);
expectType<number>(field.dataTypeModifier);
expectType<'text'>(field.format);
expectError((field.name = 'other'));

// What template tags for SQL make: sql-template-tag, @nearform/sql and others
declare class Sql {
  readonly values: unknown[];
  readonly strings: string[];
  get text(): string;
  get sql(): string;
  get statement(): string;
  inspect(): { sql: string; values: unknown[] };
}
declare function sql(strings: readonly string[], ...values: readonly unknown[]): Sql;
expectType<Promise<Result<World>>>(pool.query<World>(sql`select ${1}`));
expectType<Promise<Result<any>>>(pool.query(sql`select ${1}`, undefined, { timeoutMillis: 5 }));
expectAssignable<Promise<Result[]>>(pool.batch([sql`select ${1}`, 'select 2']));
pool.stream<World>(sql`select ${1}`);
pool.query({ text: 'select 1', rowKeys: 'camel' });
pool.query({ text: 'select 1', rowKeys: (name) => name.toUpperCase() });
expectError(pool.query({ text: 'select 1', rowKeys: 'snake' }));

// Columns
declare const inColumns: ColumnsResult;
expectType<ColumnValues>(inColumns.columns[0]!.values);
expectType<Uint8Array | null>(inColumns.columns[0]!.nulls);
expectType<string>(inColumns.columns[0]!.name);
expectType<never[]>(inColumns.rows);
expectAssignable<Result>(inColumns);
expectError(pool.stream({ text: 'select 1', rowMode: 'columns' }));
expectError(client.cursor({ text: 'select 1', rowMode: 'columns' }));
