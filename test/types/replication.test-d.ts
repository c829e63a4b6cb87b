// Subscriptions to the changes of tables, and clients for replication.

import { expectError, expectType } from 'tsd';
import { Client, Pool, type Change, type ChangeGap, type ChangeSubscription } from '../..';

interface Note {
  id: number;
  note: string | null;
}

const pool = new Pool();

expectType<Promise<ChangeSubscription>>(
  pool.subscribe('news', (change) => {
    expectType<Change>(change);
  }),
);
expectType<Promise<ChangeSubscription>>(
  pool.subscribe<Note>(
    ['news', 'more'],
    async (change) => {
      if (change.kind === 'insert') expectType<Note>(change.row);
      if (change.kind === 'update') expectType<Partial<Note> | undefined>(change.old);
      if (change.kind === 'delete') expectType<Partial<Note>>(change.old);
      if (change.kind === 'truncate') expectType<boolean>(change.cascade);
      if (change.kind === 'message') expectType<Buffer>(change.content);
      else expectType<string>(change.transaction.after);
      expectType<string>(change.lsn);
    },
    {
      slot: 'mirror',
      from: '0/16B3748',
      onGap: async (gap) => {
        expectType<ChangeGap>(gap);
        expectType<string | null>(gap.snapshot);
      },
      streaming: true,
      maxStreamedBytes: 1e6,
      messages: true,
      boundaries: true,
    },
  ),
);
declare const subscription: ChangeSubscription;
expectType<string>(subscription.position);
expectType<Promise<void>>(subscription.ended);
expectType<Promise<void>>(subscription.close());
expectType<Promise<void>>(subscription.close({ now: true, dropSlot: true }));
expectType<Promise<void>>(subscription[Symbol.asyncDispose]());
expectError(pool.subscribe('news'));
expectError(pool.subscribe(5, () => {}));
expectError(pool.subscribe('news', () => {}, { slots: 'mirror' }));

new Client({ replication: 'database' });
new Client({ replication: true });
expectError(new Client({ replication: 'physical' }));
