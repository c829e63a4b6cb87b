// Every form of query(), of a pool, a client and a client of a pool.

import { expectAssignable, expectError, expectType } from 'tsd';
import {
  Client,
  Pool,
  Result,
  types,
  type Field,
  type PoolClient,
  type QueryArrayResult,
  type QueryConfig,
  type QueryResult,
  type Queryable,
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

  // Rows as arrays
  expectType<Promise<QueryArrayResult<any[]>>>(db.query({ text: 'select 1', rowMode: 'array' }));
  expectType<Promise<QueryArrayResult<[number, string]>>>(
    db.query<[number, string]>({ text: 'select $1, $2', rowMode: 'array' }, [1, 'a']),
  );

  // Callbacks
  expectType<void>(
    db.query<World>('select 1', (error, result) => {
      expectType<Error | null>(error);
      expectType<Result<World>>(result);
    }),
  );
  expectType<void>(db.query('select $1', [1], (error) => expectType<Error | null>(error)));
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

expectType<Promise<Result<World>>>(pool.query<World>('select 1'));
expectType<Promise<Result<World>>>(client.query<World>('select 1'));
expectType<Promise<Result<World>>>(lent.query<World>('select 1'));

expectType<Promise<void>>(
  pool.query<World>('select 1').then(({ rows }) => expectType<World[]>(rows)),
);

expectError(pool.query<World>('select 1').then(({ rows }) => rows[0].nonsense));
expectError(pool.query());
expectError(pool.query(42));
expectError(pool.query('select $1', 1));
expectError(pool.query('select $1', { a: 1 }));
expectError(pool.query({ values: [1] }));
expectError(pool.query({ text: 'select 1', rowMode: 'object' }));
expectError(pool.query({ text: 'select 1', name: 1 }));
expectError(pool.query({ text: 'select 1', types: {} }));
expectError(pool.query({ text: 'select 1', nonsense: 1 }));
expectError(pool.query<World>({ text: 'select 1', rowMode: 'array' as const, nonsense: 1 }));

// Results
declare const result: QueryResult<World>;
expectType<Result<World>>(result);
expectType<World[]>(result.rows);
expectType<number | null>(result.rowCount);
expectType<string | null>(result.command);
expectType<number | null>(result.oid);
expectType<boolean>(result.rowAsArray);
expectType<Field[]>(result.fields);
expectAssignable<Result>(new Result(true));
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
