// Errors: code and outcome of each.

import { expectAssignable, expectError, expectNotAssignable, expectType } from 'tsd';
import {
  ConduitError,
  ConnectionError,
  DatabaseError,
  OptionError,
  ParameterError,
  PoolError,
  ReplicationError,
  ResultError,
  StatementRefusedError,
  TransactionError,
  type Outcome,
  type PoolErrorCode,
  type TransactionErrorCode,
} from '../..';

declare const error: unknown;

if (error instanceof ConduitError) {
  expectAssignable<Error>(error);
  expectType<string | undefined>(error.code);
  expectType<'not-run' | 'unknown'>(error.outcome);
  expectType<unknown>(error.cause);
}
if (error instanceof DatabaseError) {
  expectAssignable<ConduitError>(error);
  expectType<string | undefined>(error.code);
  expectType<Outcome>(error.outcome);
  expectType<number>(error.length);
  expectType<string | undefined>(error.severity);
  expectType<string | undefined>(error.detail);
  expectType<string | undefined>(error.hint);
  expectType<string | undefined>(error.position);
  expectType<string | undefined>(error.internalPosition);
  expectType<string | undefined>(error.internalQuery);
  expectType<string | undefined>(error.where);
  expectType<string | undefined>(error.schema);
  expectType<string | undefined>(error.table);
  expectType<string | undefined>(error.column);
  expectType<string | undefined>(error.dataType);
  expectType<string | undefined>(error.constraint);
  expectType<string | undefined>(error.file);
  expectType<string | undefined>(error.line);
  expectType<string | undefined>(error.routine);
}
if (error instanceof ReplicationError) expectType<'ERR_PG_CONDUIT_REPLICATION'>(error.code);
if (error instanceof OptionError) expectType<'ERR_PG_CONDUIT_OPTION'>(error.code);
if (error instanceof ParameterError)
  expectType<'ERR_PG_CONDUIT_PARAMETER' | '22007' | '22021' | '08P01'>(error.code);
if (error instanceof StatementRefusedError) expectType<'ERR_PG_CONDUIT_REFUSED'>(error.code);
if (error instanceof ConnectionError) {
  expectType<string>(error.code);
  expectType<number | undefined>(error.errno);
  expectType<string | undefined>(error.address);
  expectType<string | undefined>(error.hint);
  expectType<Error[] | undefined>(error.errors);
  expectType<string | undefined>(error.syscall);
}
if (error instanceof PoolError) expectType<PoolErrorCode>(error.code);
if (error instanceof TransactionError) expectType<TransactionErrorCode>(error.code);
if (error instanceof ResultError) {
  expectType<'ERR_PG_CONDUIT_RESULT'>(error.code);
  expectType<'unknown'>(error.outcome);
}

expectAssignable<ConduitError>(new DatabaseError({ S: 'ERROR', C: '23505', M: 'duplicate key' }));
expectAssignable<ConduitError>(new ConnectionError('lost', { outcome: 'unknown' }));
expectError(new ConnectionError('lost', { outcome: 'perhaps' }));
expectError(new ConduitError('no code'));
expectNotAssignable<PoolErrorCode>('ERR_PG_CONDUIT_OPTION');
