// Options: every one has its type, and none has an index signature that hides a slip of the pen.

import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expectAssignable, expectError, expectNotAssignable } from 'tsd';
import {
  Client,
  Pool,
  TypeOverrides,
  types,
  type ClientOptions,
  type PoolConfig,
  type SyncGroupMode,
  type TlsMode,
  type TlsOptions,
} from '../..';

new Client();
new Client('postgresql://localhost/test');
new Client({ host: 'localhost' });
new Pool();
new Pool(null);
new Pool('postgresql://localhost/test');
new Pool({ connectionString: 'postgresql://localhost/test', max: 4 });
// What is not set in the environment is undefined, and so is what a program leaves out by a condition.
new Pool({ connectionString: process.env.DATABASE_URL, ssl: undefined, idleTimeoutMillis: null });

expectAssignable<ClientOptions>({
  connectionString: 'postgresql://localhost/test',
  host: 'localhost',
  port: 5432,
  user: 'someone',
  database: 'test',
  password: 'secret',
  ssl: true,
  client_encoding: 'UTF8',
  keepAlive: true,
  keepAliveInitialDelayMillis: 1000,
  statement_timeout: 1000,
  lock_timeout: 1000,
  idle_in_transaction_session_timeout: false,
  connectionTimeoutMillis: 1000,
  types,
  int8: 'bigint',
  prepare: true,
  prepareThreshold: 1,
  statementCacheSize: 10,
  statementCacheBytes: 1000,
  statementMaxAgeSeconds: Infinity,
  query_timeout: false,
  date: 'string',
  timestamp: 'date',
  numericArrays: 'string',
  fetchTypes: true,
  namedParameters: true,
  queryInErrors: true,
  enableChannelBinding: false,
  pipeline: true,
  binary: false,
  scramMaxIterations: 100000,
  busyPollMicros: 0,
  Promise,
});
expectAssignable<ClientOptions>({
  password: async ({ user, host }) => (user === host ? 'secret' : undefined),
});
expectAssignable<ClientOptions>({ password: () => null });
expectNotAssignable<ClientOptions>({ password: () => 5 });

expectAssignable<PoolConfig>({
  host: 'localhost',
  max: 4,
  min: 1,
  maxInFlight: 100,
  spreadMillis: 0.5,
  maxWaiting: Infinity,
  waitForServer: true,
  syncGroup: 'all',
  multiplex: 'reads',
  distributed: true,
  idleTimeoutMillis: 0,
  maxUses: Infinity,
  maxLifetimeSeconds: 3600,
  allowExitOnIdle: true,
  leakWarningMillis: 10000,
  replicas: { host: 'standby', max: 20 },
  catchUpMillis: 500,
  resetQuery: 'reset all',
  poolSize: 4,
  onConnect: async (client) => client.query('set work_mem = 1000'),
  verify: (client, callback) => callback(client.port === 5432 ? undefined : new Error('no')),
  log: (message, ...more) => console.log(message, more),
  Client: class extends Client {},
});
new Pool({}, class extends Client {});

expectAssignable<ClientOptions>({
  sslmode: 'verify-full',
  sslrootcert: 'system',
  sslcert: 'client.crt',
  sslkey: 'client.key',
  target_session_attrs: 'read-write',
  load_balance_hosts: 'random',
  application_name: 'test',
  connect_timeout: 5,
  options: '-c search_path=app',
  passfile: '/dev/null',
});

for (const syncGroup of ['off', 'reads', 'all'] as const) {
  expectAssignable<SyncGroupMode>(syncGroup);
  expectAssignable<PoolConfig>({ syncGroup });
}

expectAssignable<ClientOptions>({ port: '5432,5433' });
expectAssignable<ClientOptions>({ password: () => 'secret' });
expectAssignable<ClientOptions>({ password: async () => 'secret' });
expectAssignable<ClientOptions>({ ssl: 'no-verify' });
expectAssignable<ClientOptions>({ ssl: { rejectUnauthorized: false } });
expectAssignable<ClientOptions>({ ssl: { checkServerIdentity: () => undefined } });
expectAssignable<ClientOptions>({
  ssl: { ciphers: 'HIGH', pfx: Buffer.from('x'), requestCert: true },
});
expectAssignable<ClientOptions>({ stream: () => new Socket() });
expectAssignable<ClientOptions>({ stream: new Duplex() });
expectNotAssignable<ClientOptions>({ stream: 'tunnel' });
expectAssignable<ClientOptions>({ ssl: 'verify-full', sslmode: 'no-verify' });
expectAssignable<ClientOptions>({ ssl: { ca: 'PEM', servername: 'db', minVersion: 'TLSv1.3' } });
expectAssignable<ClientOptions>({
  ssl: { ca: ['PEM', Buffer.from('PEM')], cert: ['PEM'], key: [{ pem: 'PEM', passphrase: 'x' }] },
});
expectAssignable<TlsOptions>({
  cert: 'PEM',
  key: Buffer.from('PEM'),
  passphrase: 'x',
  crl: ['PEM'],
});
expectAssignable<TlsMode>('verify-ca');
expectAssignable<ClientOptions>({ types: new TypeOverrides() });
expectAssignable<ClientOptions>({ types: { getTypeParser: () => (text: string) => text } });

expectNotAssignable<ClientOptions>({ port: true });
expectNotAssignable<ClientOptions>({ password: () => 42 });
expectNotAssignable<ClientOptions>({ int8: 'float' });
expectNotAssignable<ClientOptions>({ sslmode: 'always' });
expectNotAssignable<ClientOptions>({ target_session_attrs: 'master' });
expectNotAssignable<ClientOptions>({ types: {} });
expectNotAssignable<PoolConfig>({ max: '4' });
expectNotAssignable<PoolConfig>({ leakWarningMillis: '4' });
expectAssignable<PoolConfig>({ replicas: 'postgresql://standby/db' });
expectNotAssignable<PoolConfig>({ replicas: 4 });
expectNotAssignable<PoolConfig>({ resetQuery: false });
expectNotAssignable<PoolConfig>({ allowExitOnIdle: 1 });
expectNotAssignable<PoolConfig>({ syncGroup: 'writes' });
expectNotAssignable<PoolConfig>({ syncGroup: true });
expectAssignable<PoolConfig>({ multiplex: 'all' });
expectNotAssignable<PoolConfig>({ multiplex: 'writes' });
expectAssignable<ClientOptions>({ multiplex: 'reads' });
expectAssignable<ClientOptions>({ multiplex: 'all' });
expectNotAssignable<ClientOptions>({ multiplex: true });

expectError(new Client({ hots: 'localhost' }));
expectError(new Client({ ssl: { ca: 5 } }));
expectError(new Client({ ssl: { ciphers: 5 } }));
expectError(new Client({ ssl: 'always' }));
expectError(new Client(5432));
expectError(new Client({ max: 4 }));
expectError(new Client({ resetQuery: '' }));
expectError(new Client({ syncGroup: 'all' }));
expectError(new Pool({ maxInflight: 4 }));
