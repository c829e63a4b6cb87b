// Pool: lending, counts and events.

import { expectAssignable, expectError, expectType } from 'tsd';
import {
  Client,
  ConnectionError,
  DatabaseError,
  Pool,
  type ConnectionStats,
  type NotificationSource,
  type ConnectionParameters,
  type PoolClient,
  type PoolOptions,
  type PoolStats,
  type Subscription,
} from '../..';

declare const pool: Pool;

expectType<Promise<PoolClient>>(pool.connect());
expectType<void>(
  pool.connect((error, lent, release) => {
    expectType<Error | undefined>(error);
    expectType<PoolClient | undefined>(lent);
    release(true);
  }),
);

expectAssignable<PoolOptions>(pool.options);
expectType<number>(pool.options.max);
expectType<boolean>(pool.ended);
expectType<number>(pool.expiredCount);

declare const client: PoolClient;
expectType<ConnectionParameters>(client.connectionParameters);
expectAssignable<Client>(client);
expectType<void>(client.release());
expectType<void>(client.release(true));
expectType<void>(client.release(new Error('broken')));
expectError(client.release('broken'));

expectType<Promise<Subscription>>(
  pool.listen('channel', (payload, source) => {
    expectType<string>(payload);
    expectType<NotificationSource>(source);
    expectType<number>(source.processId);
  }),
);
expectType<Promise<Subscription>>(
  pool.listen('channel', async () => {}, {
    onGap: ({ channel, error }) => {
      expectType<string>(channel);
      expectType<Error>(error);
    },
  }),
);
declare const subscription: Subscription;
const { unlisten } = subscription;
expectType<Promise<void>>(unlisten());
expectType<Promise<void>>(subscription[Symbol.asyncDispose]());
expectType<string>(subscription.channel);
expectError(pool.listen('channel'));
expectError(pool.listen(5, () => {}));
expectError(pool.listen('channel', () => {}, { onlisten() {} }));
expectError(
  pool.listen(
    'channel',
    () => {},
    () => {},
  ),
);
expectType<Promise<void>>(pool.notify('channel'));
expectType<Promise<void>>(pool.notify('channel', 'payload'));
expectError(pool.notify('channel', { payload: 1 }));
expectError(pool.notify());

expectType<Promise<void>>(pool.end());
expectType<void>(pool.end(() => {}));

expectType<number>(pool.totalCount);
expectType<number>(pool.idleCount);
expectType<number>(pool.waitingCount);
expectType<boolean>(pool.ending);
expectError((pool.totalCount = 1));

const stats = pool.stats();
expectType<PoolStats>(stats);
expectType<number>(stats.queries);
expectType<number>(stats.parses);
expectType<number>(stats.syncs);
expectType<number>(stats.flushes);
expectType<number>(stats.wakeups);
expectType<number>(stats.totalCount);
expectType<number>(stats.idleCount);
expectType<number>(stats.waitingCount);
expectType<{ hits: number; misses: number; evictions: number }>(stats.statementCache);
expectType<ConnectionStats[]>(stats.connections);
for (const connection of stats.connections) {
  expectType<'connecting' | 'shared' | 'reserved' | 'exclusive' | 'leaving'>(connection.state);
  expectType<number>(connection.inFlight);
  expectType<number>(connection.preparedStatements);
}

expectType<Pool>(pool.on('connect', (opened) => expectType<PoolClient>(opened)));
pool.on('acquire', (lent) => expectType<PoolClient>(lent));
pool.once('release', (error, lent) => {
  expectType<Error>(error);
  expectType<PoolClient>(lent);
});
pool.on('remove', (closed) => expectType<PoolClient>(closed));
pool.on('error', (error, lost) => {
  expectType<ConnectionError | DatabaseError>(error);
  expectType<PoolClient>(lost);
});
pool.off('error', () => {});
expectAssignable<NodeJS.EventEmitter>(pool);
expectError(pool.on('notice', () => {}));
