// Transactions and disposal: of a pool, a client and a client of a pool.

import { expectAssignable, expectError, expectNotAssignable, expectType } from 'tsd';
import {
  Client,
  Pool,
  Result,
  type Description,
  type PoolClient,
  type Queryable,
  type Streamable,
  type Transaction,
  type Transactional,
  type TransactionOptions,
} from '../..';

declare const client: Client;
declare const pool: Pool;
declare const lent: PoolClient;

for (const db of [client, pool, lent] as Transactional[]) {
  expectType<Promise<number>>(db.transaction(async () => 1));
  expectType<Promise<string>>(db.transaction(() => 'at once'));
  expectType<Promise<void>>(
    db.transaction(
      async (tx) => {
        expectType<Transaction>(tx);
        expectAssignable<Queryable>(tx);
        expectType<Promise<Result<{ a: number }>>>(tx.query<{ a: number }>('select 1 as a'));
        expectType<Promise<[Result]>>(tx.batch(['select 1']));
        expectType<boolean>(await tx.transaction(async (inner) => inner === tx));
        expectType<Promise<[Result]>>(tx.batch(['select 1'], { timeoutMillis: 5 }));
        expectAssignable<Streamable>(tx);
        expectType<Promise<Description>>(tx.describe('select $1::int as one'));
        expectType<Promise<{ a: number }[]>>(tx.cursor<{ a: number }>('select 1 as a').read(1));
        expectType<string>(tx.escapeIdentifier('a'));
        expectType<string>(tx.escapeLiteral('a'));
        expectError(tx.release());
        expectError(tx.transaction(async () => {}, { readOnly: true }));
      },
      { isolationLevel: 'serializable', readOnly: true, deferrable: true },
    ),
  );
  expectError(db.transaction());
  expectError(db.transaction('select 1'));
  expectError(db.transaction(() => {}, { isolationLevel: 'snapshot' }));
}

expectAssignable<TransactionOptions>({ retry: { serialization: 3 } });
expectError<TransactionOptions>({ retry: 3 });
expectError<TransactionOptions>({ isolation: 'serializable' });

expectAssignable<AsyncDisposable>(pool);
expectAssignable<AsyncDisposable>(client);
expectAssignable<AsyncDisposable>(lent);
expectAssignable<Disposable>(lent);
expectType<Promise<void>>(pool[Symbol.asyncDispose]());
expectNotAssignable<Disposable>(client);
