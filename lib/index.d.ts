// The public types of what lib/index.js exports, written by hand. test/types/ tests them, and `npm run docs:api`
// generates docs/api from them: the comments are the API reference.

/**
 * Start with {@link Pool} and {@link PoolConfig}. A {@link Client} is a single connection. Both run queries
 * ({@link Queryable}), transactions ({@link Transactional}), streams and COPY ({@link Streamable}). A query is a
 * text with values, or a {@link QueryConfig}, and resolves to a {@link Result}. Every error is a {@link ConduitError}
 * with a {@link ConduitError.code} and an {@link ConduitError.outcome}.
 *
 * Generated from lib/index.d.ts by `npm run docs:api`. The guides are the other pages of docs/.
 * @packageDocumentation
 */

// With the settings of `tsc --init`, only types that are asked for are loaded.
/// <reference types="node" />

import { EventEmitter } from 'node:events';
import type { ConnectionOptions, PeerCertificate, SecureContext } from 'node:tls';
import { Duplex, Readable, Writable } from 'node:stream';

// --- Options --------------------------------------------------------------------

/** How a `bigint` (int8) column is returned. */
export type Int8Mode = 'string' | 'number' | 'bigint';

/** See {@link ClientOptions.rowKeys}. */
export type RowKeys = 'camel' | false | ((name: string) => string);

/**
 * Keywords that are passed to libpq. Their meanings and defaults, including environment variables
 * (`PGHOST`, `PGSSLMODE`, …), the password file and the service file, are those of the
 * PostgreSQL documentation, "Parameter Key Words".
 */
export interface LibpqOptions {
  /** Address of the host, to avoid a name lookup. The certificate is still verified for `host`. */
  hostaddr?: string | undefined;
  /** Name of a section in the service file. */
  service?: string | undefined;
  /** Password file. Default: `~/.pgpass`. */
  passfile?: string | undefined;
  /** Shown in `pg_stat_activity` and in the server's log. */
  application_name?: string | undefined;
  /** Used if `application_name` is not given. */
  fallback_application_name?: string | undefined;
  /** Command-line options for the server: `'-c search_path=app -c work_mem=64MB'`. */
  options?: string | undefined;
  /** Seconds for each host that is tried. See also `connectionTimeoutMillis`, which limits all attempts together. */
  connect_timeout?: number | string | undefined;
  /** Whether TLS is used, and what is verified. Default of libpq: `prefer`. */
  sslmode?: TlsMode | undefined;
  /** Name of a file with the certificates of the authorities to trust, or `system`. */
  sslrootcert?: string | undefined;
  /** Name of a file with the client's certificate. */
  sslcert?: string | undefined;
  /** Name of a file with the client's key. */
  sslkey?: string | undefined;
  /** The passphrase of `sslkey`. */
  sslpassword?: string | undefined;
  /** Whether a client certificate is sent. Default of libpq: `allow`. */
  sslcertmode?: 'disable' | 'allow' | 'require' | undefined;
  /** Name of a file with revoked certificates. */
  sslcrl?: string | undefined;
  /** Name of a folder with revoked certificates. */
  sslcrldir?: string | undefined;
  /** `'1'` (the default of libpq) to name the host in the TLS handshake, `'0'` not to. */
  sslsni?: number | string | undefined;
  /** `direct` starts TLS at once and saves a round trip. It needs PostgreSQL 17 and at least `sslmode: 'require'`. */
  sslnegotiation?: 'postgres' | 'direct' | undefined;
  /** Default of libpq: `TLSv1.2`. */
  ssl_min_protocol_version?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** Default of libpq: no limit. */
  ssl_max_protocol_version?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** Binds SCRAM authentication to the TLS connection. Default of libpq: `prefer`. */
  channel_binding?: 'disable' | 'prefer' | 'require' | undefined;
  /** Authentication methods to accept, separated by commas: `'scram-sha-256'`. */
  require_auth?: string | undefined;
  /** The operating system user that must own the server process behind a unix socket. */
  requirepeer?: string | undefined;
  /** Which of several hosts is acceptable. Default of libpq: `any`. */
  target_session_attrs?:
    'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby' | undefined;
  /** `random` to try several hosts, or a host's addresses, in random order. Default of libpq: `disable`. */
  load_balance_hosts?: 'disable' | 'random' | undefined;
  /** `'0'` disables TCP keepalives. See also `keepAlive`. */
  keepalives?: number | string | undefined;
  /** Seconds without traffic before a keepalive is sent. See also `keepAliveInitialDelayMillis`. */
  keepalives_idle?: number | string | undefined;
  /** Seconds between keepalives. */
  keepalives_interval?: number | string | undefined;
  /** Number of lost keepalives after which the connection is considered lost. */
  keepalives_count?: number | string | undefined;
  /** Milliseconds for which sent data may stay unacknowledged before the connection is considered lost. */
  tcp_user_timeout?: number | string | undefined;
}

/** `no-verify` means `require` of libpq: encrypted, but not verified. */
export type TlsMode =
  'disable' | 'allow' | 'prefer' | 'require' | 'no-verify' | 'verify-ca' | 'verify-full';

/** A certificate or key in PEM, as for `tls.connect()`. */
export type Pem = string | Uint8Array;

/** The object form of `ssl`. The server's certificate and name are verified, unless `rejectUnauthorized` is false. */
export interface TlsOptions {
  /** Certificates of the authorities to trust. Default: the system's. */
  ca?: Pem | Pem[] | undefined;
  /** The client's certificate, followed by those of its chain. */
  cert?: Pem | [Pem] | undefined;
  /** The key of `cert`. */
  key?: Pem | [Pem | { pem: Pem; passphrase?: string | undefined }] | undefined;
  /** The passphrase of `key`. */
  passphrase?: string | undefined;
  /** Lists of revoked certificates, one for each authority of the chain. Requires `ca`. */
  crl?: Pem | Pem[] | undefined;
  /** The name that is verified and sent in the handshake (SNI). Default: `host`. */
  servername?: string | undefined;
  /** `false`: the server is not verified, and `ca` is not used. Default: true. */
  rejectUnauthorized?: boolean | undefined;
  /** No effect: an object requires TLS. Accepted because other drivers have it. */
  require?: true | undefined;
  /** Default: `TLSv1.2`. */
  minVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** Default: no limit. */
  maxVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** This and what follows only Node.js can do: the connection is made by `tls.connect()`, see docs/tls.md. */
  checkServerIdentity?:
    ((host: string, certificate: PeerCertificate) => Error | undefined) | undefined;
  pfx?:
    | string
    | Buffer
    | (string | Buffer | { buf: string | Buffer; passphrase?: string | undefined })[]
    | undefined;
  secureContext?: SecureContext | undefined;
  ciphers?: string | undefined;
  ecdhCurve?: string | undefined;
  sigalgs?: string | undefined;
  secureOptions?: number | undefined;
  secureProtocol?: string | undefined;
  session?: Uint8Array | undefined;
  /** No effect, as for every client. */
  requestCert?: boolean | undefined;
}

/**
 * Options of `new Client()`. A value that is out of range does not throw: it rejects `connect()` and
 * all queries with an {@link OptionError}. An unknown name causes a process warning.
 */
export interface ClientOptions extends LibpqOptions {
  /**
   * `postgresql://user:password@host:port/database?sslmode=…`, or `host=… dbname=…`. Its settings override
   * the other options.
   */
  connectionString?: string | undefined;
  /**
   * A name, an address, or the folder of a unix socket. Several, separated by commas, are tried in this
   * order. Default: `PGHOST`, else `localhost`.
   */
  host?: string | undefined;
  /** One port, or several separated by commas. Default: `PGPORT`, else 5432. */
  port?: number | string | undefined;
  /** Name of the role. Default: `PGUSER`, else the system's user. */
  user?: string | undefined;
  /** Default: `PGDATABASE`, else the name of the user. */
  database?: string | undefined;
  /**
   * A function is called at each connect with the parameters of the connection. If it returns nothing, the
   * password file is used. Default: `PGPASSWORD`, else the password file, `~/.pgpass`.
   */
  password?:
    | string
    | ((
        parameters: ConnectionParameters,
      ) => string | null | undefined | Promise<string | null | undefined>)
    | undefined;
  /**
   * `false`: `sslmode=disable`. `true`: `sslmode=verify-full` with the system's certificates.
   * `'no-verify'` or `{ rejectUnauthorized: false }`: `sslmode=require`, encrypted but not verified.
   * Other strings are values of `sslmode`. An object contains certificates and keys as text; to pass file names
   * use {@link LibpqOptions.sslrootcert}, {@link LibpqOptions.sslcert} and {@link LibpqOptions.sslkey}. If
   * {@link LibpqOptions.sslmode} disagrees, the stricter setting wins. Default of libpq: `prefer`, which encrypts
   * if the server supports it and verifies nothing.
   */
  ssl?: boolean | TlsMode | TlsOptions | ConnectionOptions | undefined;
  /** As in `pg`, it is always UTF-8: the server converts. */
  client_encoding?: string | undefined;
  /**
   * Of a {@link Client}: a connection for the commands of replication, to a database or, with `true`, to none. It takes texts
   * without values only. See {@link Pool.subscribe} for the changes of tables.
   */
  replication?: 'database' | boolean | undefined;
  /**
   * A socket of your own, or a function that makes one for each connection: that of an ssh tunnel or a cloud connector, say.
   * A pool takes a function only; without one a client cannot ask the server to cancel.
   * If it has a method `connect`, it is called as with `pg`, and the event `connect` is awaited. Bytes are copied by
   * JavaScript then, and TLS is that of Node.js; see docs/tls.md, "Sockets of your own".
   */
  stream?:
    Duplex | ((config: { host: string; port: number; ssl: object | false }) => Duplex) | undefined;
  /** TCP keepalives. Default of libpq: on. */
  keepAlive?: boolean | undefined;
  /** Milliseconds without traffic before the first keepalive, rounded to seconds. Default: the system's. */
  keepAliveInitialDelayMillis?: number | undefined;
  /**
   * Milliseconds after which `query()` rejects with a {@link QueryAbortedError}, whether the server is still
   * working on it or not; see {@link QueryConfig.timeoutMillis}. 0 and false: no limit. Default: 0.
   *
   * The driver's own statements (`BEGIN`, `COMMIT`, `ROLLBACK`, the reset of a session) have the same limit, at least
   * 150 seconds on a shared connection. If it passes, their connection is closed. Without this option their limit is
   * 150 seconds, and `COMMIT` has none.
   */
  query_timeout?: number | false | undefined;
  /** Milliseconds after which the server cancels a statement. Default: the server's. */
  statement_timeout?: number | false | undefined;
  /** Milliseconds of waiting for a lock after which the server cancels a statement. Default: the server's. */
  lock_timeout?: number | false | undefined;
  /** Milliseconds of idling in a transaction after which the server ends the session. Default: the server's. */
  idle_in_transaction_session_timeout?: number | false | undefined;
  /**
   * Milliseconds to make a connection. In a pool, also for a query or `connect()` to wait for a connection.
   * 0: no limit. Default: 0.
   */
  connectionTimeoutMillis?: number | undefined;
  /** Type parsers for results. Default: {@link types}. */
  types?: TypeSource | undefined;
  /**
   * How `bigint` (int8) columns are returned. With `'number'`, a value beyond 2^53 rejects with a
   * {@link ResultError}. Default: `'string'`, as in `pg`.
   */
  int8?: Int8Mode | undefined;
  /**
   * `'string'`: `date` columns and arrays are returned as the server writes them, independent of the time zone of
   * the process. Default: `'date'`, as in `pg`: a Date at midnight in that time zone.
   */
  date?: 'date' | 'string' | undefined;
  /**
   * `'string'`: `timestamp` and `timestamptz` columns and arrays are returned as the server writes them, with
   * microseconds. Default: `'date'`, as in `pg`: a Date with milliseconds.
   */
  timestamp?: 'date' | 'string' | undefined;
  /**
   * `'string'`: the elements of `numeric[]` are returned as strings with all digits, as `numeric` columns are.
   * Default: `'number'`, as in `pg`.
   */
  numericArrays?: 'number' | 'string' | undefined;
  /**
   * Arrays of enums, domains, rows and extension types are returned as arrays, not as texts (`'{sad,happy}'`).
   * The first connection queries `pg_type` for them. A result with a newer type waits for another such query; a
   * stream returns arrays of a newer type as texts. Elements are parsed by the option `types`. Default:
   * false, as in `pg`.
   */
  fetchTypes?: boolean | undefined;
  /**
   * `:name` in the text stands for a value if the values are an object: `query('select :id::int', { id: 1 })`.
   * The driver sends `$1`. Names that are not in the text are ignored; a missing value rejects with a
   * {@link ParameterError}. Inside brackets write `a[1 : :last]`, because a colon directly behind a value belongs
   * to a slice. Default: false.
   */
  namedParameters?: boolean | undefined;
  /**
   * Under which keys rows have their columns: `'camel'` (`user_id` becomes `userId`), or a function of the column's name,
   * which is called once for each shape of a result, not for each row. Names in `fields`, rows in arrays, keys inside of
   * JSON and submittables such as pg-cursor are as they were. Default: false, the names of the columns.
   */
  rowKeys?: RowKeys | undefined;
  /**
   * Errors of queries have the text of the query, as it was sent, in `query`; never the values. Default: false, as in
   * `pg`.
   */
  queryInErrors?: boolean | undefined;
  /**
   * Whether the database is more than one server, such as Citus. There {@link Client.batch} sends BEGIN and COMMIT, writes
   * share no Sync, and errors that may come from between the servers have the outcome `'unknown'`. Default: the driver
   * finds out, and takes whatever is not known to be one PostgreSQL server for more. See docs/engines.md.
   */
  distributed?: boolean | undefined;
  /** Whether statements are prepared. `false` is for poolers that do not support it. Default: true. */
  prepare?: boolean | undefined;
  /**
   * The use of a text at which it is prepared, if the connection has room for one more statement. If it has none, a text
   * must have been used more recently than one of those several times in a row, to take its place; with 1 it always takes
   * that of the least recently used. Default: 2.
   */
  prepareThreshold?: number | undefined;
  /** Maximum number of prepared statements per connection. Default: 256. */
  statementCacheSize?: number | undefined;
  /** Maximum total length of their texts, in characters. Default: 1048576. */
  statementCacheBytes?: number | undefined;
  /**
   * Seconds after which a statement is prepared again at its next use, minus up to a fifth; 0 or Infinity:
   * never. PostgreSQL fixes the types of parameters when it prepares a statement. If another session changes the type of
   * a column, and this causes no error, values may be converted to the old type for this long. Default: 30.
   */
  statementMaxAgeSeconds?: number | undefined;
  /** `false`: SCRAM is not bound to TLS. See {@link LibpqOptions.channel_binding}. Default of libpq: prefer. */
  enableChannelBinding?: boolean | undefined;
  /** The constructor for the promises of `connect()`, `query()` and `end()`. Default: Node's. */
  Promise?: PromiseConstructorLike | undefined;
  /**
   * Whether the client shares connections with the other clients of this process that have equal settings. `'reads'`: it
   * holds no connection while its statements only read and give the same answer in every session; any other statement
   * gets an exclusive connection. `'all'`: see {@link PoolConfig.multiplex}. For tools that have a pool of their own, such
   * as knex. See docs/pooling-and-pipelining.md, "Clients of tools with pools of their own". Default: the environment
   * variable `PG_CONDUIT_MULTIPLEX`, else {@link Defaults.multiplex}, else `'off'`.
   */
  multiplex?: 'off' | 'reads' | 'all' | undefined;
  /** Whether `end()` of a client finishes what is in flight, as in `pg`. All clients pipeline. Default: false. */
  pipeline?: boolean | undefined;
  /**
   * Microseconds that the event loop stays awake for an answer, from 0 to 1000. To sleep and be woken costs a thread 4 to
   * 50 us of CPU, and delays the answer by more. An answer that comes within that time is cheaper to wait for; a later one
   * costs up to twice the CPU, and arrives earlier. While much is on its way (more than four Syncs, or eight queries and
   * Syncs on a connection), the server has more to do, and the loop stays awake for no longer than a sleep costs, which it
   * measures. It serves everything else as usual. Where answers take longer it is seldom tried. It counts as activity in
   * `performance.eventLoopUtilization()`. 0: the loop sleeps. Default: 100, and 0 on a machine with one CPU.
   */
  busyPollMicros?: number | undefined;
  /** No effect: the driver chooses the format for each statement, and the values are the same. */
  binary?: boolean | undefined;
  /**
   * The number of hash iterations that a server may request for SCRAM authentication. They block the event loop:
   * 100,000 take about 0.1 s. 0: no limit. No effect with a system libpq. Default: 100000, as in `pg`.
   */
  scramMaxIterations?: number | undefined;
}

/** The parameters of a connection, under the names that they have in `pg`. */
export interface ConnectionParameters {
  user: string | undefined;
  database: string | undefined;
  host: string;
  port: number;
  /** Not enumerable. */
  password: any;
  ssl: boolean;
  sslnegotiation: string | undefined;
  options: string | undefined;
  isDomainSocket: boolean;
  application_name: string | undefined;
  fallback_application_name: string | undefined;
  statement_timeout: number | false;
  lock_timeout: number | false;
  idle_in_transaction_session_timeout: number | false;
  query_timeout: number | false;
}

/**
 * Which queries may share a Sync with other queries of the same text on the same shared connection. A group has at most
 * 32 members, which are expected to cost the server at most 2 ms together. A text is a candidate once it has
 * succeeded, if it costs the server at most 1 ms; a query, if it has at most 128 KiB of values. All members are
 * answered at the Sync. If one fails, each is run again with a Sync of its own.
 * - off: none
 * - reads: queries that only read, according to their text and the catalog of the database
 * - all: also queries that write. Their locks are held until the Sync
 */
export type SyncGroupMode = 'off' | 'reads' | 'all';

/** Options of `new Pool()`. */
export interface PoolConfig extends ClientOptions {
  /** Maximum number of connections. Default: 10. */
  max?: number | undefined;
  /** Used if `max` is not given. */
  poolSize?: number | undefined;
  /** Connections that stay open when idle. They are opened on demand. Default: 0. */
  min?: number | undefined;
  /**
   * Where {@link Pool.read} connects: a connection string, or options that differ from those of the pool.
   * Unless it says otherwise, standbys are preferred and used in random order.
   */
  replicas?: string | PoolConfig | undefined;
  /**
   * Milliseconds that a read with {@link QueryConfig.after} waits for a standby before it goes to the
   * primary. Default: 1000.
   */
  catchUpMillis?: number | undefined;
  /**
   * Maximum number of queries in flight on one connection. Further queries wait. Default: 1024, and 1 behind a
   * PgBouncer before 1.20, which may lose what is in flight behind an answered query. With a system libpq, any pooler
   * that reports process ids of its own counts as one.
   */
  maxInFlight?: number | undefined;
  /**
   * Milliseconds of work that a connection in use may have in front of a query that costs less than 0.05 ms, before an
   * idle connection is woken for it. If 0.005 for each query in flight is more, that counts, up to a round trip and 1 ms:
   * the client needs so long for them. Only reads count: what may wait for a lock is never joined while a connection is
   * idle. 0: idle connections are always used first. Default: 0.2.
   */
  spreadMillis?: number | undefined;
  /**
   * Maximum number of queries and `connect()` calls that wait for a connection. They also wait while all connections
   * run slow queries. Further ones are rejected with a {@link PoolError}. Default: Infinity.
   */
  maxWaiting?: number | undefined;
  /**
   * Whether callers wait for a server that is down, starting or full, while the pool tries again, at most
   * {@link ClientOptions.connectionTimeoutMillis}. Otherwise they are told at once, as with `pg`. Default: false.
   */
  waitForServer?: boolean | undefined;
  /**
   * Which queries of {@link Pool.query} may share a Sync. Default: `'reads'`. See {@link SyncGroupMode}.
   */
  syncGroup?: SyncGroupMode | undefined;
  /**
   * Whether clients of {@link Pool.connect} share connections. `'reads'`: a client holds no connection while its
   * statements only read and give the same answer in every session; its first other statement gets an exclusive
   * connection, until the client is released. `'all'`: single statements that do nothing but change rows of tables hold
   * none either. `'off'`: each client has an exclusive connection. See docs/pooling-and-pipelining.md, "Borrowed
   * clients". Default: the environment variable `PG_CONDUIT_MULTIPLEX`, else {@link Defaults.multiplex}, else
   * `'reads'`.
   */
  multiplex?: 'off' | 'reads' | 'all' | undefined;
  /** Milliseconds after which an idle connection is closed. 0: never. Default: 10000. */
  idleTimeoutMillis?: number | null | undefined;
  /**
   * Awaited for each new connection before it is used, for example to run `SET`. If it fails, the connection is
   * closed, and waiting callers are rejected with that error.
   */
  onConnect?: ((client: Client) => unknown) | undefined;
  /** The same with a callback, after `onConnect`. The first call of the callback counts. A returned promise may reject. */
  verify?: Callback<[client: Client, callback: (error?: any) => void]> | undefined;
  /** Called when connections are opened and closed. */
  log?: ((message: string, ...more: any[]) => void) | undefined;
  /** The class of the pool's clients. It must extend {@link Client} and pass on its constructor's arguments. */
  Client?: (new (config?: any) => Client) | undefined;
  /**
   * Uses after which a connection is replaced; 0: never. Each query on a shared connection is a use, and so is each
   * checkout (`connect()`, `transaction()`, `stream()`, …). Default: Infinity.
   */
  maxUses?: number | undefined;
  /** Seconds after which a connection is replaced, minus up to a tenth. 0: never. Default: 0. */
  maxLifetimeSeconds?: number | undefined;
  /** Whether the process may end while connections are idle. Default: false. */
  allowExitOnIdle?: boolean | undefined;
  /**
   * Milliseconds after which a process warning (`PoolLeakWarning`) reports a connection that was checked out by
   * `connect()` or `transaction()` and not released, with the stack of that call. It also reports a {@link Pool.end}
   * that waits for this long (without this option: 10 s), and a pool that has been idle for this long, was not ended, and
   * is all that keeps the process alive. 0: never. Default: 0.
   */
  leakWarningMillis?: number | undefined;
  /**
   * Runs when a client is released whose session was changed. `''`: nothing, and the next borrower
   * gets the session as it is. Default: `DISCARD ALL`.
   */
  resetQuery?: string | undefined;
}

/** {@link Pool.options}: what a pool was made with. */
export interface PoolOptions extends PoolConfig {
  max: number;
  min: number;
  maxUses: number;
  allowExitOnIdle: boolean;
  maxLifetimeSeconds: number;
  idleTimeoutMillis: number | null;
}

// --- Queries and results -----------------------------------------------------------

/** Values for `:name`; see {@link ClientOptions.namedParameters}. */
export type NamedValues = Readonly<Record<string, unknown>>;

/** Values for `$1`, `$2`, … in this order, or by name. */
export type QueryValues = readonly unknown[] | NamedValues;

/** A query as one object. */
export interface QueryConfig<Values = any> {
  /** The statement, with `$1`, `$2`, … in place of values. */
  text: string;
  /**
   * One value for each `$n`. `null` and `undefined` are NULL. A Date or an array is sent in PostgreSQL's syntax, a
   * Buffer or typed array as bytes, and other objects as JSON or as the result of their `toPostgres(prepare)`.
   * A function, a symbol and an invalid Date reject with a {@link ParameterError}. With
   * {@link ClientOptions.namedParameters}: an object with a value for each `:name`, or an array as above.
   */
  values?: QueryValues | undefined;
  /**
   * Prepares the statement at its first use. On one client, a name must always belong to the same text;
   * otherwise the query rejects with a {@link ParameterError}.
   */
  name?: string | undefined;
  /** `'array'` returns each row as an array. `'columns'` is in {@link QueryColumnsConfig}. */
  rowMode?: 'array' | null | undefined;
  /** Type parsers for this query only. */
  types?: TypeSource | undefined;
  /** The keys of the rows of this query. Default: those of the client or pool. See {@link ClientOptions.rowKeys}. */
  rowKeys?: RowKeys | null | undefined;
  /** Whether this query may be prepared. Default: that of the client or pool. */
  prepare?: boolean | undefined;
  /** Whether the query may share a Sync on a pool. Default: that of the pool. */
  syncGroup?: SyncGroupMode | undefined;
  /** For {@link Pool.read} only: the query sees everything that was written up to this {@link Pool.walPosition}. */
  after?: string | undefined;
  /**
   * Rejects the query with a {@link QueryAbortedError}. A waiting query is removed from the queue, a running one is
   * cancelled at the server. The query is not pipelined for that: on a pool it gets a connection to itself. For a
   * batch see {@link BatchOptions}.
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Milliseconds until the query rejects with a {@link QueryAbortedError}. A pool, as `pg`, then goes on without the
   * connection that the query was sent on: `outcome` is `'unknown'`, other queries get another connection at once, and
   * those that were sent there keep it until they are answered. On a client of its own the query is cancelled.
   * See also {@link ClientOptions.statement_timeout}. 0: no limit. Default: `query_timeout`. For `query()` only.
   */
  timeoutMillis?: number | undefined;
  /** `timeoutMillis` under its name in `pg`. 0 and false: the setting of the client. */
  query_timeout?: number | false | undefined;
  /** `'extended'`: a text with several statements is an error, with or without values. */
  queryMode?: 'extended' | undefined;
}

/** A query whose rows are arrays. */
export interface QueryArrayConfig<Values = any> extends QueryConfig<Values> {
  rowMode: 'array';
}

/**
 * A query whose result has one array for each column, and no rows. For `query()` and `batch()`: a stream or a cursor rejects
 * with a {@link ParameterError}.
 */
export interface QueryColumnsConfig<Values = any> extends Omit<QueryConfig<Values>, 'rowMode'> {
  rowMode: 'columns';
}

/** One column, as the server describes it. Frozen. */
export interface Field {
  /** The name of the column in the result. */
  readonly name: string;
  /** OID of the table; 0 if it is not the column of a table. */
  readonly tableID: number;
  /** Attribute number of the column, or 0. */
  readonly columnID: number;
  /** OID of the type. */
  readonly dataTypeID: number;
  /** Size in bytes; negative for variable width. */
  readonly dataTypeSize: number;
  /** `atttypmod` of the column, for example the length of a `varchar` plus 4; -1 for none. */
  readonly dataTypeModifier: number;
  /** The format of the input of type parsers. */
  readonly format: 'text';
}

/** What a query resolves to. */
export class Result<Row = any> {
  /** @param rowMode whether rows are arrays: `'array'` or true */
  constructor(rowMode?: string | boolean | null, types?: TypeSource);
  /** First word of the command tag. Null after an empty statement, which `@types/pg` does not declare either. */
  command: string;
  /** Number of rows in the command tag; null if it has none. */
  rowCount: number | null;
  /** 0 after INSERT. Null otherwise, which `@types/pg` does not declare either. */
  oid: number;
  /**
   * Objects with the names of the columns as keys; if a name occurs twice, the last column wins. Arrays with
   * `rowMode: 'array'`.
   */
  rows: Row[];
  /** The columns, even if there are no rows. */
  fields: Field[];
  /** Whether the query had `rowMode: 'array'`. */
  rowAsArray: boolean;
}

/** What {@link Pool.describe} resolves to. */
export interface Description {
  /** A type for each `$n`, in order. */
  parameters: { dataTypeID: number }[];
  /** The columns; none if the statement returns no rows. */
  fields: Field[];
}

/** {@link Result}, under its name in `@types/pg`. */
export type QueryResult<Row = any> = Result<Row>;

/** What a query with `rowMode: 'array'` resolves to. */
export interface QueryArrayResult<Row extends any[] = any[]> extends Result<Row> {}

/**
 * The values of a {@link Column}, one for each row. Which array it is depends on the type of the column only:
 * - `smallint`, `integer`: Int32Array
 * - `oid`: Uint32Array
 * - `bigint`: BigInt64Array; with `int8: 'number'`, Float64Array
 * - `real`, `double precision`: Float64Array
 * - `boolean`: Uint8Array of 0 and 1
 * - `date`, `timestamp`, `timestamptz`: Float64Array of milliseconds since 1970, as `getTime()` of the Date in a row returns them;
 *   `infinity` is Infinity
 * - all other types, and each type that has a parser of the user's: an ordinary array of what rows have
 */
export type ColumnValues =
  Uint8Array | Int32Array | Uint32Array | Float64Array | BigInt64Array | any[];

/** One column of a {@link ColumnsResult}. */
export interface Column<Values extends ColumnValues = ColumnValues> {
  /** The name of the column, or its key according to `rowKeys`. Several columns may have the same name. */
  name: string;
  /**
   * In place of NULL a Float64Array has NaN, other typed arrays 0, and ordinary arrays null. A typed array has an ArrayBuffer
   * of its own, of its size.
   */
  values: Values;
  /** 1 for each row whose value is NULL, else 0. Null if no value is. */
  nulls: Uint8Array | null;
}

/** What a query with `rowMode: 'columns'` resolves to. `rows` is empty; `rowCount` is the number of rows. */
export interface ColumnsResult<Columns extends readonly Column[] = Column[]> extends Result<never> {
  /** One for each of `fields`, in the same order. None if the statement returns no rows. */
  columns: Columns;
}

/**
 * A function that is called with `Args`: a callback, or an event listener. Its parameters may be declared with narrower
 * types, such as those of `@types/pg`: `(error: Error, result) => …`, `(client: PoolClient) => …`.
 */
export type Callback<Args extends readonly unknown[]> = { call(...args: Args): void }['call'];

/** A callback in Node's style: `error` is null, or `result` is undefined. Declared as in `@types/pg`. */
export type QueryCallback<R = Result> = Callback<[error: Error, result: R]>;

/** What runs queries: a {@link Client}, a {@link PoolClient}, a {@link Transaction} or a {@link Pool}. */
export interface Queryable {
  /** With a callback in the object: the callback is called, and no promise is returned. */
  query<Row = any, Values = any>(
    config: QueryConfig<Values> & { callback: QueryCallback<Result<Row>> },
  ): void;
  /**
   * An object with `submit()`, such as those of pg-cursor and pg-query-stream. A {@link Pool} borrows a client for it, and
   * returns a promise, as in `pg`, whose types do not say so either.
   */
  query<T extends Submittable>(submittable: T): T;
  /** With `rowMode: 'array'`: rows are arrays. */
  query<Row extends any[] = any[], Values = any>(
    config: QueryArrayConfig<Values>,
    values?: QueryValues | null,
    options?: QueryOptions | null,
  ): Promise<QueryArrayResult<Row>>;
  /** With `rowMode: 'columns'`: one array for each column. */
  query<Columns extends readonly Column[] = Column[], Values = any>(
    config: QueryColumnsConfig<Values>,
    values?: QueryValues | null,
    options?: QueryOptions | null,
  ): Promise<ColumnsResult<Columns>>;
  /**
   * Runs one statement. A text with several statements and no values (`'select 1; select 2'`) resolves to an array of
   * results, as in `pg`. On a pool it has a connection to itself, and must not leave a transaction open.
   *
   * It never throws. The promise rejects, or the callback is called, with one of
   * - {@link DatabaseError}: the server reported an error; `code` is the SQLSTATE
   * - {@link ParameterError}: the text or a value cannot be sent
   * - {@link ResultError}: a value of the result has no JavaScript value as requested
   * - {@link ConnectionError}: no connection could be made, or it was lost; see {@link ConduitError.outcome}
   * - {@link OptionError}: an option of the client or pool is wrong
   * - {@link StatementRefusedError}: this statement cannot run here
   * - {@link PoolError}: the pool has ended, is full, or the wait was too long
   * - {@link QueryAbortedError}: the `signal` fired, or the time limit passed
   *
   * It settles when the server has finished and committed the statement, not earlier: at its Sync
   * (PostgreSQL documentation, "Pipelining" in "Message Flow").
   * @param config an SQL text, or an object that contains it
   * @param values one for each `$n`, as in {@link QueryConfig.values}
   * @param options a signal and a time limit
   */
  query<Row = any, Values = any>(
    config: string | QueryConfig<Values>,
    values?: QueryValues | null,
    options?: QueryOptions | null,
  ): Promise<Result<Row>>;
  /** With a callback. */
  query<Row extends any[] = any[], Values = any>(
    config: QueryArrayConfig<Values>,
    callback: QueryCallback<QueryArrayResult<Row>>,
  ): void;
  /** With a callback. */
  query<Row = any, Values = any>(
    config: QueryConfig<Values> | string,
    callback: QueryCallback<Result<Row>>,
  ): void;
  /** With a callback. */
  query<Row extends any[] = any[], Values = any>(
    config: QueryArrayConfig<Values>,
    values: QueryValues | null | undefined,
    callback: QueryCallback<QueryArrayResult<Row>>,
  ): void;
  /** With a callback. */
  query<Row = any, Values = any>(
    config: QueryConfig<Values> | string,
    values: QueryValues | null | undefined,
    callback: QueryCallback<Result<Row>>,
  ): void;

  /**
   * Runs statements in one transaction and one round trip. Either all are committed, and it resolves to their results in
   * order, or none. Rejects with the first error, as {@link Queryable.query} does. The `index` of the error tells
   * which statement failed, if it was one. If a statement cannot be sent, or begins or ends a transaction, nothing is sent.
   * @typeParam Shape the number of queries, as far as it is known; there are as many results
   * @typeParam Inferred unused: it distinguishes this overload from the ones with a single type argument
   */
  batch<Shape extends [unknown, ...unknown[]] | readonly unknown[], Inferred>(
    queries: BatchQueries<Shape>,
    options?: BatchOptions | null,
  ): Promise<BatchResults<Shape>>;
  /** With the type of each result: `batch<[Result<User>, Result<Order>]>([…])`. */
  batch<Results extends readonly Result[]>(
    queries: BatchQueries<Results>,
    options?: BatchOptions | null,
  ): Promise<Results>;
  /** With one type for the rows of all results: `batch<User>([…])`. */
  batch<Row>(
    queries: readonly (string | QueryConfig)[],
    options?: BatchOptions | null,
  ): Promise<Result<Row>[]>;
}

/** The queries of a batch: as many as `Shape` has elements. */
export type BatchQueries<Shape extends readonly unknown[]> = {
  readonly [Index in keyof Shape]: string | QueryConfig | QueryColumnsConfig;
};

/** A result for each query of a batch, in order. */
export type BatchResults<Shape extends readonly unknown[]> = {
  -readonly [Index in keyof Shape]: Result;
};

/** The signal and time limit of a batch, which reject it with a {@link QueryAbortedError}. */
export interface BatchOptions {
  /** As {@link QueryConfig.signal}. */
  signal?: AbortSignal | null | undefined;
  /** As {@link QueryConfig.timeoutMillis}. 0: no limit. Default: the option `query_timeout`. */
  timeoutMillis?: number | undefined;
}

/**
 * Options of {@link Queryable.query}, in the place of a callback. They override
 * {@link QueryConfig.signal} and {@link QueryConfig.timeoutMillis}.
 */
export interface QueryOptions extends BatchOptions {}

// --- Transactions ------------------------------------------------------------------

/**
 * Options of {@link Transactional.transaction}. A wrong value or an unknown name rejects with an
 * {@link OptionError}.
 */
export interface TransactionOptions {
  /** Default: the server's, `'read committed'` unless it was configured otherwise. */
  isolationLevel?:
    'read uncommitted' | 'read committed' | 'repeatable read' | 'serializable' | undefined;
  /** Default: the server's, false. */
  readOnly?: boolean | undefined;
  /** With `'serializable'` and `readOnly`: the transaction waits at its start until no conflict is possible. */
  deferrable?: boolean | undefined;
  /** When to run the function again. Default: never. */
  retry?: TransactionRetry | undefined;
}

/** When {@link Transactional.transaction} runs its function again. */
export interface TransactionRetry {
  /**
   * The maximum number of retries after serialization failures (40001) and deadlocks (40P01). The function must
   * not have effects that a ROLLBACK does not undo. Default: 0.
   */
  serialization?: number | undefined;
}

/**
 * The argument of the function of a transaction. Statements may be sent without awaiting each other. If one of
 * them fails, nothing of the transaction is committed, whether its error was caught or not. While a stream,
 * cursor or COPY is open, other statements are refused. Streams and cursors may be left early: a savepoint protects
 * the transaction.
 */
export interface Transaction extends Queryable, Streamable {
  /** As {@link Client.cursor}. */
  cursor<Row = any>(
    text: string | QueryConfig,
    values?: QueryValues | null,
    options?: CursorOptions | null,
  ): Cursor<Row>;

  /**
   * As {@link Pool.describe}, in this transaction: it sees tables that the transaction has created. An error fails the
   * transaction, as that of any statement, and has its outcome.
   */
  describe(text: string | QueryConfig): Promise<Description>;

  /**
   * Creates a savepoint. If the function throws or a statement in it fails, the transaction is rolled back to it and
   * continues. While the savepoint is open, the outer transaction refuses statements.
   */
  transaction<T>(fn: (transaction: Transaction) => T | PromiseLike<T>): Promise<T>;
  /** See {@link escapeIdentifier}. */
  escapeIdentifier(text: string): string;
  /** See {@link escapeLiteral}. */
  escapeLiteral(text: string): string;
}

/** What runs transactions: a {@link Client}, a {@link PoolClient} or a {@link Pool}. */
export interface Transactional {
  /**
   * Runs the function in a transaction. BEGIN is sent with its first statement, COMMIT when it returns, and
   * ROLLBACK when it throws. Resolves to what the function returns. Rejects with
   * - what the function throws
   * - {@link DatabaseError}: COMMIT failed, for example because of a deferred constraint
   * - {@link TransactionError}: a statement failed, and the function did not throw
   * - {@link ConnectionError}: the connection was lost; `outcome` is `'unknown'` if that was during COMMIT
   * - {@link OptionError}, {@link ParameterError}: wrong arguments
   * - {@link PoolError}: no connection was available
   */
  transaction<T>(
    fn: (transaction: Transaction) => T | PromiseLike<T>,
    options?: TransactionOptions | null,
  ): Promise<T>;
}

// --- Streams, cursors and COPY ------------------------------------------------------

/** Options of {@link Client.cursor}. */
export interface CursorOptions {
  /** Overrides {@link QueryConfig.signal}. */
  signal?: AbortSignal | null | undefined;
}

/** Options of {@link Streamable.stream}. */
export interface StreamOptions extends CursorOptions {
  /** Number of rows that are buffered for the reader, at least 1. Default: 256. */
  batchSize?: number | undefined;
}

/** The iterator of a stream, for `for await`. */
export interface StreamIterator<T> extends AsyncIterableIterator<T>, AsyncDisposable {
  [Symbol.asyncIterator](): StreamIterator<T>;
}

/** The rows of a statement. To cancel the rest, destroy the stream or leave its `for await`. */
export interface RowStream<Row = any> extends Readable {
  /** Description of the columns; empty before the first rows have arrived. */
  readonly fields: Field[];
  /**
   * The next buffered row, or null.
   * @param size has no meaning for rows
   */
  read(size?: number): Row | null;
  /** All rows as an array. `query()` is cheaper for that. */
  toArray(options?: { signal?: AbortSignal | undefined }): Promise<Row[]>;
  [Symbol.asyncIterator](): StreamIterator<Row>;
  /** A row has arrived. The other events are those of Node's `Readable`. */
  on(event: 'data', listener: (row: Row) => void): this;
  /** @hidden as in Node.js */
  on(event: 'end' | 'close' | 'readable' | 'pause' | 'resume', listener: () => void): this;
  /** @hidden as in Node.js */
  on(event: 'error', listener: (error: Error) => void): this;
  /** @hidden as in Node.js */
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** The data of a COPY … FROM STDIN. If it is destroyed before its end, nothing is inserted. */
export interface CopyFromStream extends Writable {
  /** Number of rows that were inserted; null before `finish`. */
  readonly rowCount: number | null;
}

/** The data of a COPY … TO STDOUT, as Buffers. They may end in the middle of a row. */
export interface CopyToStream extends Readable {
  [Symbol.asyncIterator](): StreamIterator<Buffer>;
}

/** What has streams and COPY: a {@link Client}, a {@link PoolClient}, a {@link Transaction} or a {@link Pool}. */
export interface Streamable {
  /**
   * Streams the rows of one statement, with back-pressure: the server stops sending while nobody reads. The stream
   * occupies a connection until it ends. It never throws: the stream is destroyed with the error that
   * {@link Queryable.query} would reject with. It takes a `signal`, but no `timeoutMillis`.
   */
  stream<Row = any>(
    text: string | QueryConfig,
    values?: QueryValues | null,
    options?: StreamOptions | null,
  ): RowStream<Row>;

  /**
   * @param text one COPY … FROM STDIN. The stream finishes when everything is committed. An error in the data
   *   destroys it at once; with a system libpq, at the end of the data
   */
  copyFrom(text: string): CopyFromStream;

  /** @param text one COPY … TO STDOUT */
  copyTo(text: string): CopyToStream;

  /**
   * Inserts rows into a table by COPY: all of them, or none. It uses COPY's binary format as far as the types
   * of the columns and the values allow. Values are converted as in {@link QueryConfig.values}, except that bytes for a
   * column that is neither `bytea` nor a text or `json` type are refused in rows that have to be sent as text. Rejects
   * with what the iterable throws, and as {@link Queryable.query} does.
   * @param table its name, `'schema.name'`, or both in an array, for names that contain a dot. Names are
   *   case-sensitive
   * @param columns their names
   * @param rows arrays with a value for each column
   */
  copyRows(
    table: string | readonly [name: string] | readonly [schema: string, name: string],
    columns: readonly string[],
    rows: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>,
  ): Promise<{ rowCount: number }>;
}

/** Returned by {@link Client.cursor}. Nothing else runs on the client until it has ended or is closed. */
export interface Cursor<Row = any> {
  /**
   * Resolves to the next `count` rows. Fewer rows are the last ones, and the statement has succeeded; no rows mean the
   * end. Concurrent reads are answered in order. Rejects as {@link Queryable.query} does, and with a RangeError for
   * a `count` below 1.
   */
  read(count: number): Promise<Row[]>;
  /**
   * Cancels the rest, after earlier reads have got their rows. (To stop a read that takes too long, use a `signal`.)
   * Resolves when the connection can be used again.
   */
  close(): Promise<void>;
  /** The same as {@link Cursor.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

// --- Client ----------------------------------------------------------------------

/** A notice or warning of the server. It belongs to the connection, not to a query. */
export interface NoticeMessage extends ErrorFields {
  name: 'notice';
  message: string | undefined;
  /** SQLSTATE. */
  code: string | undefined;
}

/** A notification on a channel that this session listens on. */
export interface NotificationMessage {
  name: 'notification';
  /** Length of channel and payload together, in characters. */
  length: number;
  /** Process id of the server's backend that sent it. */
  processId: number;
  channel: string;
  /** Empty if NOTIFY had no payload. */
  payload: string;
}

/** Events of a {@link Client}, with the arguments of their listeners. */
export interface ClientEvents {
  /** The client is connected. */
  connect: [];
  /** The connection was lost, and its queries have been rejected. Without a listener the event is ignored. */
  error: [error: ConnectionError];
  /** Nothing is in flight anymore. */
  drain: [];
  /** The server has sent a notice, for example by RAISE NOTICE. */
  notice: [notice: NoticeMessage];
  /** A notification has arrived on a channel that this session listens on. */
  notification: [message: NotificationMessage];
  /** The connection is closed, for whatever reason. */
  end: [];
}

export interface Client extends Queryable, Transactional, Streamable {}

/**
 * One connection. It connects once; after {@link Client.end}, create a new client. Queries that are started
 * together are pipelined. Each is a transaction of its own, unless BEGIN was sent.
 *
 * @example
 * ```js
 * import { Client } from 'pg-conduit';
 *
 * const client = new Client({ connectionString: process.env.DATABASE_URL });
 * await client.connect();
 * const { rows } = await client.query('select $1::text as name', ['Ada']);
 * console.log(rows); // [ { name: 'Ada' } ]
 * await client.end();
 * ```
 */
export class Client extends EventEmitter {
  constructor(config?: string | ClientOptions | null);

  /**
   * Process id of the server's backend; 0 before the client is connected. Of a client of {@link Pool.connect} that holds
   * no connection (`multiplex`), reading it takes one that is free; 0 if none is.
   */
  readonly processID: number;
  /** Name of the role that it connects as. */
  user: string | undefined;
  /** Name of the database. */
  database: string | undefined;
  /** As given; several hosts are separated by commas. */
  host: string;
  /** The first port. */
  port: number;
  /**
   * The password, or the password function. What is assigned counts when the client connects, as for `host` and `port`.
   */
  password?: any;
  /** Whether the connection is encrypted. Assigning it has no effect: see {@link ClientOptions.ssl}. */
  ssl: boolean;
  /** False. All clients pipeline. */
  readonly pipeline: boolean;
  /** The parameters of the connection, as in `pg`. The password is not enumerable. */
  readonly connectionParameters: ConnectionParameters;
  /** Emits the parameters of the server. */
  readonly connection: Connection;
  /** For tracing tools that wrap `query()`: the query that is being called, else empty. */
  readonly queryQueue: readonly any[];

  /** The last reported state: idle, in a transaction, in a failed transaction; null while something is in flight. */
  getTransactionStatus(): 'I' | 'T' | 'E' | null;

  /**
   * Resolves to the client, as in `pg`. Rejects with a {@link ConnectionError}, with a {@link DatabaseError} if the
   * server refused, with an {@link OptionError}, or with what the password function threw. Earlier queries wait for it.
   * It takes at most {@link ClientOptions.connectionTimeoutMillis}.
   */
  connect(): Promise<Client>;
  connect(callback: Callback<[error: Error | null, client: Client | undefined]>): void;

  /**
   * Reads the rows of one statement in portions. The server pauses between the reads. It never throws: errors
   * reject {@link Cursor.read}.
   *
   * @example
   * ```js
   * import { Client } from 'pg-conduit';
   *
   * const client = new Client(process.env.DATABASE_URL);
   * await client.connect();
   * const cursor = client.cursor('select i from generate_series(1, $1) as i', [1000]);
   * console.log(await cursor.read(2)); // [ { i: 1 }, { i: 2 } ]
   * await cursor.close(); // cancels the rest
   * await client.end();
   * ```
   */
  cursor<Row = any>(
    text: string | QueryConfig,
    values?: QueryValues | null,
    options?: CursorOptions | null,
  ): Cursor<Row>;

  /** As {@link Pool.describe}, in the session of this client. */
  describe(text: string | QueryConfig): Promise<Description>;

  /**
   * Cancels what the server is running for this client. That query rejects with 57014, unless it has finished before.
   * Resolves when the cancel request can no longer hit another query; queries sent in the meantime wait. Rejects with a
   * {@link ConnectionError} if the cancel request cannot be delivered within 2 s.
   */
  cancel(): Promise<void>;

  /**
   * Closes the connection, and resolves when the server has ended the session. As in `pg`, what is in flight is rejected,
   * unless the option `pipeline` is on; clients that share connections finish it.
   */
  end(): Promise<void>;
  end(callback: Callback<[error: Error]>): void;

  /** Finishes what is in flight, then closes the connection; for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;

  /**
   * Sets a type parser for this client only.
   * @param parser null removes it, so that the parser of the underlying source is used
   */
  setTypeParser(oid: number, parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'text', parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'binary', parser: TypeParser<Buffer> | null): void;
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;

  /** See {@link escapeIdentifier}. */
  escapeIdentifier(text: string): string;
  /** See {@link escapeLiteral}. */
  escapeLiteral(text: string): string;

  /** No effect; for programs that were compiled with `@types/pg`. */
  pauseDrain(): void;
  /** No effect; for programs that were compiled with `@types/pg`. */
  resumeDrain(): void;

  /** The connection keeps the process alive. This is the default. */
  ref(): void;
  /** The connection does not keep the process alive. */
  unref(): void;

  /** Adds a listener for one of the {@link ClientEvents}. `once()`, `off()` and others are as in Node.js. */
  on<Event extends keyof ClientEvents>(event: Event, listener: Callback<ClientEvents[Event]>): this;
  /** @hidden as {@link Client.on} */
  once<Event extends keyof ClientEvents>(
    event: Event,
    listener: Callback<ClientEvents[Event]>,
  ): this;
  /** @hidden as {@link Client.on} */
  off<Event extends keyof ClientEvents>(
    event: Event,
    listener: Callback<ClientEvents[Event]>,
  ): this;
  /** @hidden as {@link Client.on} */
  addListener<Event extends keyof ClientEvents>(
    event: Event,
    listener: Callback<ClientEvents[Event]>,
  ): this;
  /** @hidden as {@link Client.on} */
  removeListener<Event extends keyof ClientEvents>(
    event: Event,
    listener: Callback<ClientEvents[Event]>,
  ): this;
  /** @hidden as {@link Client.on} */
  prependListener<Event extends keyof ClientEvents>(
    event: Event,
    listener: Callback<ClientEvents[Event]>,
  ): this;
  /** @hidden as {@link Client.on} */
  prependOnceListener<Event extends keyof ClientEvents>(
    event: Event,
    listener: Callback<ClientEvents[Event]>,
  ): this;
}

// --- Pool ------------------------------------------------------------------------

/** A client that was checked out of a pool, exclusively until {@link PoolClient.release}. */
export interface PoolClient extends Client {
  /**
   * Returns the client to the pool. An open transaction is rolled back, and a changed session is reset.
   * @param error true or an error: the connection is closed instead of being reused
   * @throws {PoolError} `ERR_PG_CONDUIT_RELEASED` if it was called before
   */
  release(error?: Error | boolean): void;
  /** Calls {@link PoolClient.release}, unless it was called before; for `using`. */
  [Symbol.dispose](): void;
  /** Calls {@link PoolClient.release}, unless it was called before; for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The origin of a notification. */
export interface NotificationSource {
  channel: string;
  /** Process id of the server's backend that sent it. */
  processId: number;
}

/** A gap in which notifications may have been missed, because the connection was lost. */
export interface NotificationGap {
  channel: string;
  /** Why the connection was lost. */
  error: Error;
}

/** Options of {@link Pool.listen}. */
export interface ListenOptions {
  /**
   * Called when the server is listening again after the connection was lost. Notifications sent in the meantime are
   * lost: look for what you may have missed. Notifications sent from now on arrive.
   */
  onGap?: ((gap: NotificationGap) => void) | undefined;
}

/** Returned by {@link Pool.listen}. */
export interface Subscription {
  readonly channel: string;
  /**
   * Ends the subscription. The handler is not called after this call. Resolves when the server has stopped
   * listening. It needs no `this`, and may be called more than once.
   */
  readonly unlisten: () => Promise<void>;
  /** The same as {@link Subscription.unlisten}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A table of a {@link Change}, as it was when the change was made. */
export interface ChangedTable {
  /** The oid. */
  readonly id: number;
  readonly schema: string;
  readonly table: string;
  /** What `old` has: the key (`'default'`, `'index'`), the whole row (`'full'`), or nothing. */
  readonly replicaIdentity: 'default' | 'nothing' | 'full' | 'index';
  readonly columns: readonly {
    readonly name: string;
    /** Whether it is part of the replica identity. */
    readonly isKey: boolean;
    /** The oid. */
    readonly typeId: number;
    readonly modifier: number;
  }[];
}

/** The transaction of a {@link Change}: the same object for all its changes. */
export interface ChangeTransaction {
  readonly xid: number;
  /** Position of the commit. Positions are LSNs, such as `'0/16B3748'`. */
  readonly lsn: string;
  /** {@link SubscribeOptions.from} for whoever has all of this transaction. */
  readonly after: string;
  readonly commitTime: Date;
}

interface ChangeBase {
  /** Position in the write-ahead log. */
  readonly lsn: string;
  readonly transaction: ChangeTransaction;
}

interface RowChangeBase extends ChangeBase {
  readonly relation: ChangedTable;
  readonly schema: string;
  readonly table: string;
}

/** A row was inserted. */
export interface InsertChange<R = any> extends RowChangeBase {
  readonly kind: 'insert';
  row: R;
}

/** A row was updated. */
export interface UpdateChange<R = any> extends RowChangeBase {
  readonly kind: 'update';
  /** The row afterwards, without the columns of `unchanged`. */
  row: R;
  /** With the replica identity `full` the row before; else its key, if that has changed. */
  old: Partial<R> | undefined;
  /** Columns with large values that have not changed: the server does not send them. */
  unchanged: string[];
}

/** A row was deleted. */
export interface DeleteChange<R = any> extends RowChangeBase {
  readonly kind: 'delete';
  /** The key, or with the replica identity `full` the row. */
  old: Partial<R>;
}

/** A table was truncated. */
export interface TruncateChange extends RowChangeBase {
  readonly kind: 'truncate';
  readonly cascade: boolean;
  readonly restartIdentity: boolean;
}

/** A message of `pg_logical_emit_message()`, with {@link SubscribeOptions.messages}. */
export interface MessageChange {
  readonly kind: 'message';
  readonly lsn: string;
  /** `undefined` for a message that is not transactional. */
  readonly transaction: ChangeTransaction | undefined;
  readonly prefix: string;
  readonly content: Buffer;
}

/** The beginning or the end of a transaction, with {@link SubscribeOptions.boundaries}. */
export interface BoundaryChange extends ChangeBase {
  readonly kind: 'begin' | 'commit';
}

/** What the handler of {@link Pool.subscribe} is called with. */
export type Change<R = any> =
  | InsertChange<R>
  | UpdateChange<R>
  | DeleteChange<R>
  | TruncateChange
  | MessageChange
  | BoundaryChange;

/** Changes that a subscription may not have told. */
export interface ChangeGap {
  /**
   * `slot-created`: the slot did not exist when the subscription began. `slot-lost`: it is gone, or the server has removed
   * the log that it needs; a new one was made. `slot-moved`: somebody else has read it. `server-behind`, `other-server`:
   * the server has lost what it had, or is another one. `transaction-missing`: the rest of a transaction did not come.
   */
  reason:
    | 'slot-created'
    | 'slot-lost'
    | 'slot-moved'
    | 'server-behind'
    | 'other-server'
    | 'transaction-missing';
  slot: string;
  /** All changes before this position were told; `null`: none was. */
  from: string | null;
  /** All changes behind this position will be told. */
  to: string;
  /**
   * If a slot was made: what `SET TRANSACTION SNAPSHOT` takes, until `onGap` has resolved, to read the tables as they are at
   * `to`.
   */
  snapshot: string | null;
}

/** Options of {@link Pool.subscribe}. */
export interface SubscribeOptions {
  /**
   * Name of a replication slot, which lasts: what was not confirmed waits there for the next subscription. It is made if
   * it does not exist. Default: a temporary slot, which ends with its connection.
   */
  slot?: string | undefined;
  /** Position to begin with. Default: what the slot has confirmed. The server cannot go back behind that. */
  from?: string | undefined;
  /**
   * Called, and awaited, before the subscription goes on behind a gap. Without it a gap ends the subscription with a
   * {@link ReplicationError}, except that of a new slot.
   */
  onGap?: ((gap: ChangeGap) => void | Promise<void>) | undefined;
  /** Whether the server sends large transactions before they are committed. They are told afterwards. Not with `messages`. Default: false */
  streaming?: boolean | undefined;
  /** With `streaming`: how much of such transactions is kept in memory. Default: 64 MB */
  maxStreamedBytes?: number | undefined;
  /** Whether to tell messages of `pg_logical_emit_message()`. PostgreSQL 14 or later. Default: false */
  messages?: boolean | undefined;
  /** Whether to tell where transactions begin and end. Default: false */
  boundaries?: boolean | undefined;
}

/** Returned by {@link Pool.subscribe}. */
export interface ChangeSubscription {
  readonly slot: string;
  readonly isTemporary: boolean;
  /** All changes before it have been told, and the handler has resolved. */
  readonly position: string;
  /** Resolves when it was closed. Rejects when it cannot go on; if nobody handles that, it is an unhandled rejection. */
  readonly ended: Promise<void>;
  /**
   * Ends it behind the transaction that is being told; with `now`, behind the change, and the transaction comes again to the
   * next subscription of its slot. Confirms what was told. Resolves when the connection is closed.
   */
  close(options?: { now?: boolean | undefined; dropSlot?: boolean | undefined }): Promise<void>;
  /** The same as {@link ChangeSubscription.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Events of a {@link Pool}, with the arguments of their listeners. */
export interface PoolEvents {
  /** A connection was opened. Its client has no `release()` until it is checked out, and is declared as in `@types/pg`. */
  connect: [client: PoolClient];
  /** A client was checked out by {@link Pool.connect}. */
  acquire: [client: PoolClient];
  /** A client was released, with this argument: undefined, true or an error. Declared as in `@types/pg`. */
  release: [error: Error, client: PoolClient];
  /** A connection was closed. */
  remove: [client: PoolClient];
  /**
   * A connection was lost, and its queries have been rejected. Without a listener the event is ignored. For the
   * connections of {@link Pool.listen} and {@link Pool.subscribe}, it also reports each reason why reconnecting fails, once.
   */
  error: [error: ConnectionError | DatabaseError, client: PoolClient];
}

/** Counters of a pool, or of one of its connections. */
export interface QueryCounters {
  /** Statements sent, including those that were sent again. */
  queries: number;
  /** Parse messages sent for the statement cache. */
  parses: number;
  /** Sync messages sent; fewer than `queries` if queries share a Sync. */
  syncs: number;
  /** Writes to the socket, each with everything that was collected. */
  flushes: number;
  /** Times that the socket became readable, or writable again. */
  wakeups: number;
}

/** The state of one connection of a pool, and its counters since it was opened. */
export interface ConnectionStats extends QueryCounters {
  /** Number of the connection in this process. */
  id: number;
  /** Process id of the server's backend; 0 while connecting. */
  processID: number;
  /**
   * - connecting: not yet usable
   * - shared: accepts queries of all callers
   * - reserved: accepts no new queries, because a `connect()` is waiting for it
   * - exclusive: checked out
   * - leaving: will be closed when nothing is in flight
   */
  state: 'connecting' | 'shared' | 'reserved' | 'exclusive' | 'leaving';
  /** Queries that were submitted and have not settled. */
  inFlight: number;
  /** Milliseconds that these queries are expected to cost the server, without the network. */
  expectedMillis: number;
  /** Prepared statements, at most {@link ClientOptions.statementCacheSize}. */
  preparedStatements: number;
  /** Commands and Syncs that were sent and not yet answered. */
  pending: number;
}

/** Returned by {@link Pool.stats}: totals since the pool was created, including closed connections. */
export interface PoolStats extends QueryCounters {
  /** As {@link Pool.totalCount}. */
  totalCount: number;
  /** As {@link Pool.idleCount}. */
  idleCount: number;
  /** As {@link Pool.waitingCount}. */
  waitingCount: number;
  /** Clients of {@link Pool.connect} that share connections: those without a connection, and those with one. */
  leases: { floating: number; pinned: number };
  /** Totals of all connections. */
  statementCache: {
    /** Executions whose text was in the cache. */
    hits: number;
    /** Executions whose text was not in the cache and had to be parsed. */
    misses: number;
    /** Statements that were evicted from the cache. */
    evictions: number;
  };
  /** The current connections. */
  connections: ConnectionStats[];
}

export interface Pool extends Queryable, Transactional, Streamable {}

/**
 * A pool of connections, which are opened on demand. Queries of {@link Pool.query} share connections with those of other
 * callers (docs/pooling-and-pipelining.md). Calls that need an exclusive connection get one.
 *
 * @example
 * ```js
 * import { Pool } from 'pg-conduit';
 *
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 4 });
 * pool.on('error', (error) => console.error('connection lost:', error.message));
 * const [first, second] = await Promise.all([pool.query('select 1 as i'), pool.query('select 2 as i')]);
 * console.log(first.rows, second.rows); // [ { i: 1 } ] [ { i: 2 } ]
 * await pool.end();
 * ```
 */
export class Pool extends EventEmitter {
  constructor(config?: string | PoolConfig | null, ClientClass?: new (config?: any) => Client);

  /**
   * The options that were given, and the defaults of pg-pool. Secrets are not enumerable. What is assigned to its
   * properties counts for what comes: a password for new connections, `max` at once. Another host, database or user is
   * refused with an {@link OptionError}.
   */
  options: PoolOptions;
  /** Whether {@link Pool.end} has finished. */
  readonly ended: boolean;
  /** Connections that are older than `maxLifetimeSeconds` and not closed yet. */
  readonly expiredCount: number;
  /** The option `log`, or a function that does nothing. */
  readonly log: (message: string, ...more: any[]) => void;
  /** The class of the pool's clients. */
  readonly Client: new (config?: any) => Client;
  /** The constructor of its promises. */
  readonly Promise: PromiseConstructorLike;

  /** All connections, including those that are being opened. */
  readonly totalCount: number;
  /** Connections that are not checked out and have nothing in flight. */
  readonly idleCount: number;
  /** Queries and `connect()` calls that are waiting for a connection. */
  readonly waitingCount: number;
  /** Whether {@link Pool.end} was called. */
  readonly ending: boolean;

  /**
   * Checks out a client for exclusive use, until {@link PoolClient.release}. Waits until one is free, at most
   * {@link ClientOptions.connectionTimeoutMillis}. Rejects with a {@link PoolError}, or as
   * {@link Client.connect} does.
   */
  connect(): Promise<PoolClient>;
  connect(
    callback: Callback<
      [error: Error | undefined, client: PoolClient | undefined, release: PoolClient['release']]
    >,
  ): void;

  /**
   * Calls the handler for each notification on a channel, in the order in which the server sends them.
   * All channels share one connection, in addition to those of the pool. If it is lost, it is opened again as
   * long as there are subscriptions; see {@link ListenOptions.onGap}. It keeps the process alive, except with
   * {@link PoolConfig.allowExitOnIdle}. What a handler throws is an uncaught exception.
   *
   * Resolves when the server is listening. Rejects with a {@link ParameterError}, a {@link PoolError}, a
   * {@link StatementRefusedError} behind a pooler that delivers no notifications, or as {@link Client.connect} does. If
   * there are other subscriptions and the server is away, it waits, at most
   * {@link ClientOptions.connectionTimeoutMillis}.
   * @param channel case-sensitive; at most 63 bytes of UTF-8
   */
  listen(
    channel: string,
    handler: (payload: string, source: NotificationSource) => void,
    options?: ListenOptions,
  ): Promise<Subscription>;

  /**
   * Sends a notification, on a shared connection and in a transaction of its own. Resolves when it is
   * committed. Rejects as {@link Queryable.query} does.
   * @param payload less than 8000 bytes. Default: empty
   */
  notify(channel: string, payload?: string): Promise<void>;

  /**
   * Calls the handler for each change of the tables of a publication, in the order of the commits, and one at a time: the
   * next change waits for the promise that it returns. A transaction is confirmed when that was so for all its changes. A
   * lost connection is replaced, and no change is told twice because of that. If the handler throws, the subscription ends.
   *
   * Needs `wal_level = logical` and a role with the attribute REPLICATION; docs/logical-replication.md has the details.
   * Each subscription has a connection in addition to those of the pool, which keeps the process alive.
   *
   * Resolves when the server has begun. Rejects with a {@link ParameterError}, a {@link PoolError}, a
   * {@link ReplicationError}, or as {@link Client.connect} and {@link Client.query} do.
   * @param publication its name, or several
   */
  subscribe<R = any>(
    publication: string | readonly string[],
    onChange: (change: Change<R>) => unknown,
    options?: SubscribeOptions,
  ): Promise<ChangeSubscription>;

  /**
   * The pool of the option `replicas`, for queries that only read. It ends with this pool. Without that option it
   * is this pool itself. Queries of this pool never go there, whatever their text.
   */
  readonly read: Pool;

  /**
   * The types of the parameters and columns of one statement, which is not executed: the server parses it, and looks up
   * its tables. Values are not used. Rejects as {@link Queryable.query} does, always with the outcome `'not-run'`.
   */
  describe(text: string | QueryConfig): Promise<Description>;

  /**
   * The current position of the server's write-ahead log, as an LSN. Call it after a write is committed, and pass the
   * result as `after` to a read that must see that write.
   */
  walPosition(): Promise<string>;

  /** Counters and states at this moment. docs/diagnostics.md explains how to use them. */
  stats(): PoolStats;

  /**
   * Rejects new queries, finishes those in flight and waiting, waits for clients that are checked out,
   * closes all connections, and resolves when the server has ended their sessions. A second call rejects with a {@link PoolError}.
   */
  end(): Promise<void>;
  end(callback: Callback<[error?: Error | null]>): void;

  /** Calls {@link Pool.end}, or waits for it if it was called before; for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;

  /** Adds a listener for one of the {@link PoolEvents}. `once()`, `off()` and others are as in Node.js. */
  on<Event extends keyof PoolEvents>(event: Event, listener: Callback<PoolEvents[Event]>): this;
  /** @hidden as {@link Pool.on} */
  once<Event extends keyof PoolEvents>(event: Event, listener: Callback<PoolEvents[Event]>): this;
  /** @hidden as {@link Pool.on} */
  off<Event extends keyof PoolEvents>(event: Event, listener: Callback<PoolEvents[Event]>): this;
  /** @hidden as {@link Pool.on} */
  addListener<Event extends keyof PoolEvents>(
    event: Event,
    listener: Callback<PoolEvents[Event]>,
  ): this;
  /** @hidden as {@link Pool.on} */
  removeListener<Event extends keyof PoolEvents>(
    event: Event,
    listener: Callback<PoolEvents[Event]>,
  ): this;
  /** @hidden as {@link Pool.on} */
  prependListener<Event extends keyof PoolEvents>(
    event: Event,
    listener: Callback<PoolEvents[Event]>,
  ): this;
  /** @hidden as {@link Pool.on} */
  prependOnceListener<Event extends keyof PoolEvents>(
    event: Event,
    listener: Callback<PoolEvents[Event]>,
  ): this;
}

// --- Types -----------------------------------------------------------------------

/** The formats of values in the protocol. */
export type TypeFormat = 'text' | 'binary';

/** Converts a value of the server to a JavaScript value. It is never called for NULL. */
export type TypeParser<Input = string> = (value: Input) => any;

/** An object with type parsers: {@link types}, a {@link TypeOverrides}, a {@link Client} or your own. */
export interface TypeSource {
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;
}

/** OIDs of PostgreSQL's built-in types, by name. */
export interface TypeOids {
  readonly BOOL: number;
  readonly BYTEA: number;
  readonly CHAR: number;
  readonly INT8: number;
  readonly INT2: number;
  readonly INT4: number;
  readonly REGPROC: number;
  readonly TEXT: number;
  readonly OID: number;
  readonly TID: number;
  readonly XID: number;
  readonly CID: number;
  readonly JSON: number;
  readonly XML: number;
  readonly PG_NODE_TREE: number;
  readonly SMGR: number;
  readonly PATH: number;
  readonly POLYGON: number;
  readonly CIDR: number;
  readonly FLOAT4: number;
  readonly FLOAT8: number;
  readonly ABSTIME: number;
  readonly RELTIME: number;
  readonly TINTERVAL: number;
  readonly CIRCLE: number;
  readonly MACADDR8: number;
  readonly MONEY: number;
  readonly MACADDR: number;
  readonly INET: number;
  readonly ACLITEM: number;
  readonly BPCHAR: number;
  readonly VARCHAR: number;
  readonly DATE: number;
  readonly TIME: number;
  readonly TIMESTAMP: number;
  readonly TIMESTAMPTZ: number;
  readonly INTERVAL: number;
  readonly TIMETZ: number;
  readonly BIT: number;
  readonly VARBIT: number;
  readonly NUMERIC: number;
  readonly REFCURSOR: number;
  readonly REGPROCEDURE: number;
  readonly REGOPER: number;
  readonly REGOPERATOR: number;
  readonly REGCLASS: number;
  readonly REGTYPE: number;
  readonly UUID: number;
  readonly TXID_SNAPSHOT: number;
  readonly PG_LSN: number;
  readonly PG_NDISTINCT: number;
  readonly PG_DEPENDENCIES: number;
  readonly TSVECTOR: number;
  readonly TSQUERY: number;
  readonly GTSVECTOR: number;
  readonly REGCONFIG: number;
  readonly REGDICTIONARY: number;
  readonly JSONB: number;
  readonly REGNAMESPACE: number;
  readonly REGROLE: number;
}

/** The type parsers of the process: those of the package `pg-types`, which `pg` uses too. */
export const types: {
  /**
   * Parsers receive text. A parser for `'binary'` is stored, but never called.
   * @param parser null: the text itself is returned
   * @throws {TypeError} if the oid, format or parser is invalid
   */
  setTypeParser(oid: number, parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'text', parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'binary', parser: TypeParser<Buffer> | null): void;
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;
  readonly builtins: TypeOids;
  readonly arrayParser: {
    /** @param transform called for each element that is not NULL */
    create(text: string, transform?: TypeParser): { parse(): any[] };
  };
};

/** Overrides some type parsers of another source. Use it for `types` in options and queries. */
export class TypeOverrides implements TypeSource {
  /** @param userTypes has the parsers that are not overridden. Default: {@link types} */
  constructor(userTypes?: TypeSource | null);
  /** The overriding parsers of text, by OID. */
  text: Record<number, TypeParser | null | undefined>;
  /** Stored as in `pg`, but never called. */
  binary: Record<number, TypeParser<Buffer> | null | undefined>;
  /** The overriding parsers of a format. Default: text. */
  getOverrides(format?: string): Record<number, TypeParser<any> | null | undefined>;
  /** @param parser null removes it, so that the parser of the underlying source is used */
  setTypeParser(oid: number, parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'text', parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'binary', parser: TypeParser<Buffer> | null): void;
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;
}

// --- Quoting -----------------------------------------------------------------------

/** Quotes a name for SQL, in double quotes. Use it where SQL takes no parameter: names of tables and columns. */
export function escapeIdentifier(name: string): string;

/** Quotes a text as a string literal. Use it where SQL takes no parameter, as in DDL. */
export function escapeLiteral(text: string): string;

// --- Errors ------------------------------------------------------------------------

/**
 * What became of the query:
 * - not-run: it changed nothing. It was never sent, was skipped, or failed and was rolled back
 * - unknown: it may have been committed, so do not simply repeat it. It was sent, and the answer is incomplete or cannot be
 *   read; or it failed, and is not a statement that a rollback certainly undoes
 */
export type Outcome = 'not-run' | 'unknown';

/** Base class of all errors of this package. */
export class ConduitError extends Error {
  constructor(
    message: string,
    code: string,
    options?: {
      cause?: unknown;
      outcome?: Outcome | undefined;
      detail?: string | undefined;
      hint?: string | undefined;
    },
  );
  /** SQLSTATE, the system's code (`ECONNREFUSED`), or `ERR_PG_CONDUIT_…`. */
  code: string | undefined;
  /** What became of the query; `'not-run'` for errors that are not about a query. */
  outcome: Outcome;
  /** The original error, if there is one. */
  cause?: unknown;
  /** More about what happened, if there is more. */
  detail: string | undefined;
  /** What to do, if that is known. */
  hint: string | undefined;
  /** The text of the query, with {@link ClientOptions.queryInErrors}. */
  query?: string | undefined;
}

/** The value of an option is wrong, or not supported. */
export class OptionError extends ConduitError {
  constructor(message: string, options?: { cause?: unknown });
  code: 'ERR_PG_CONDUIT_OPTION';
}

/**
 * The text or a value of a query cannot be sent. `code` is the server's SQLSTATE if it has one for this: `22007` for an
 * invalid Date, `22021` for a NUL character in a value, `08P01` for one in the text. What the program's own code throws
 * (`toPostgres()`, `toJSON()`) rejects the query itself, with a ParameterError as its `cause`.
 */
export class ParameterError extends ConduitError {
  constructor(message: string, options?: { cause?: unknown });
  code: 'ERR_PG_CONDUIT_PARAMETER' | '22007' | '22021' | '08P01';
}

/** The statement may not run here. The message names the call to use instead. */
export class StatementRefusedError extends ConduitError {
  constructor(message: string);
  code: 'ERR_PG_CONDUIT_REFUSED';
}

/**
 * No connection could be made, or it was lost, or it is closed. `code` is one of:
 * - the system's code, if there is one (`ECONNREFUSED`, `ENOTFOUND`, `ECONNRESET`, `ETIMEDOUT`, …), or the SQLSTATE with
 *   which the server closed the connection
 * - the code of Node.js for a certificate that was refused (`SELF_SIGNED_CERT_IN_CHAIN`, `CERT_HAS_EXPIRED`, …)
 * - `ERR_PG_CONDUIT_TLS`: the requested TLS, certificates or channel binding were not possible
 * - `ERR_PG_CONDUIT_HOOK`: a password function, `onConnect` or `verify` threw something that cannot be passed on
 * - `ERR_PG_CONDUIT_CONNECTION`: otherwise
 *
 * `cause` is what was thrown, or the last error of the server, if there was one.
 */
export class ConnectionError extends ConduitError {
  constructor(
    message: string,
    options?: {
      cause?: unknown;
      outcome?: Outcome | undefined;
      code?: string | undefined;
      detail?: string | undefined;
      hint?: string | undefined;
      errno?: number | undefined;
      syscall?: string | undefined;
      address?: string | undefined;
      port?: number | undefined;
      hostname?: string | undefined;
      errors?: Error[] | undefined;
    },
  );
  code: string;
  /** The system's error number, negative, as in Node's own errors. */
  errno?: number | undefined;
  /** The call that failed: `connect`, `read`, `write`, `getaddrinfo`. */
  syscall?: string | undefined;
  /** The address, or the path of the unix socket. */
  address?: string | undefined;
  /** The port; a unix socket has none. */
  port?: number | undefined;
  /** The host name that could not be resolved. */
  hostname?: string | undefined;
  /** One error for each address, if there were several. */
  errors?: Error[] | undefined;
}

/** Codes of a {@link TransactionError}. */
export type TransactionErrorCode =
  /** The transaction was rolled back because a statement failed; see `cause`. */
  | 'ERR_PG_CONDUIT_TRANSACTION_ABORTED'
  /** The transaction has ended and accepts no statements. */
  | 'ERR_PG_CONDUIT_TRANSACTION_ENDED'
  /** The server has committed, but no synchronous standby has confirmed it; see `cause`. */
  | 'ERR_PG_CONDUIT_NOT_REPLICATED';

/**
 * A transaction was rolled back although its function did not throw, or it has ended. `outcome` is
 * `'not-run'`, unless BEGIN itself failed. Or it is committed, also that of a single statement, but
 * not confirmed by a synchronous standby, since the wait for it was cancelled: `outcome` is
 * `'unknown'` (PostgreSQL documentation, "Synchronous Replication").
 */
export class TransactionError extends ConduitError {
  code: TransactionErrorCode;
}

/**
 * The query was aborted by its `signal` (`name` is `AbortError`, `cause` is the reason of the signal) or its time
 * limit. `outcome` is `'unknown'` if the server may have finished it, or may still be running it.
 */
export class QueryAbortedError extends ConduitError {
  code: 'ABORT_ERR' | 'ERR_PG_CONDUIT_QUERY_TIMEOUT';
}

/** Codes of a {@link PoolError}. */
export type PoolErrorCode =
  /** `end()` was called. */
  | 'ERR_PG_CONDUIT_POOL_ENDED'
  /** `maxWaiting` queries are already waiting. */
  | 'ERR_PG_CONDUIT_POOL_FULL'
  /** The wait took longer than `connectionTimeoutMillis`. */
  | 'ERR_PG_CONDUIT_POOL_TIMEOUT'
  /** Thrown by `release()` if it was called before. */
  | 'ERR_PG_CONDUIT_RELEASED';

/** The pool did not run the query. */
export class PoolError extends ConduitError {
  code: PoolErrorCode;
}

/**
 * A subscription cannot begin or go on: the server, the publication or the slot is not as it must be, or changes are
 * missing and there is no {@link SubscribeOptions.onGap}. `hint` says what to do.
 */
export class ReplicationError extends ConduitError {
  constructor(message: string, options?: { cause?: unknown; hint?: string | undefined });
  code: 'ERR_PG_CONDUIT_REPLICATION';
}

/**
 * A value of the result cannot be represented, or its parser threw: then the query is rejected with what it threw, and
 * this is its `cause`. The query itself ran, so `outcome` is `'unknown'`.
 */
export class ResultError extends ConduitError {
  constructor(message: string, options?: { cause?: unknown });
  code: 'ERR_PG_CONDUIT_RESULT';
  outcome: 'unknown';
}

/**
 * Fields of the server's errors and notices, under their names in `pg` (PostgreSQL documentation, "Error and
 * Notice Message Fields"). Fields that the server did not send are undefined.
 */
export interface ErrorFields {
  /** `ERROR`, `FATAL`, `NOTICE`, …; may be translated. */
  severity: string | undefined;
  /** More details; may contain values of the row. */
  detail: string | undefined;
  /** A suggestion of the server what to do. */
  hint: string | undefined;
  /** Position in the text of the statement, in characters, starting with 1. */
  position: string | undefined;
  /** Position in `internalQuery`. */
  internalPosition: string | undefined;
  /** The text of a statement that a function ran. */
  internalQuery: string | undefined;
  /** The context: the call stack of functions, or the line of a COPY. */
  where: string | undefined;
  /** The schema of the table, the type or the constraint. */
  schema: string | undefined;
  table: string | undefined;
  column: string | undefined;
  dataType: string | undefined;
  /** The name of the constraint that was violated. */
  constraint: string | undefined;
  /** File, line and function in the source of the server that reported the error. */
  file: string | undefined;
  line: string | undefined;
  routine: string | undefined;
}

export interface DatabaseError extends ErrorFields {}

/**
 * An error that the server reported. `code` is the SQLSTATE (PostgreSQL documentation, appendix A), and `name` is
 * `'error'`, as in `pg`.
 */
export class DatabaseError extends ConduitError {
  /** @param fields by the one-letter codes of the protocol: `{ S: 'ERROR', C: '23505', M: '…' }` */
  constructor(fields: Readonly<Record<string, string>>);
  /** Length of the server's message in bytes, as in `pg`. */
  length: number;
}

// --- The shape of `pg` -----------------------------------------------------------

/** An object that `query()` of a client accepts and returns, besides texts and configs. */
export interface Submittable {
  /** Called by `query()` with {@link Client.connection}. */
  submit(connection: any): any;
}

/**
 * `Query` of `pg`, an argument for `query()` of a client. It emits its rows as events, or calls a callback.
 * Unlike {@link Streamable.stream}, it has no back-pressure.
 */
export class Query<Row = any, Values = any> extends EventEmitter implements Submittable {
  constructor(
    config?: string | SubmittedConfig<Values>,
    callback?: QueryCallback<ResultBuilder<Row>>,
  );
  constructor(
    config?: string | SubmittedConfig<Values>,
    values?: readonly unknown[] | null,
    callback?: QueryCallback<ResultBuilder<Row>>,
  );
  /** As in {@link QueryConfig.text}. */
  text: string;
  /** As in {@link QueryConfig.values}. */
  values?: readonly unknown[] | undefined;
  /** As in {@link QueryConfig.name}. */
  name?: string | undefined;
  /** Called by `query()` of a client. */
  submit(connection: any): Error | null;
  /** A row has arrived. */
  on(event: 'row', listener: Callback<[row: Row, result: ResultBuilder<Row>]>): this;
  /** The result is complete and committed. */
  on(event: 'end', listener: Callback<[result: ResultBuilder<Row>]>): this;
  /** The query failed. */
  on(event: 'error', listener: (error: Error) => void): this;
  /** @hidden as {@link Query.on} */
  once(event: 'row', listener: Callback<[row: Row, result: ResultBuilder<Row>]>): this;
  /** @hidden as {@link Query.on} */
  once(event: 'end', listener: Callback<[result: ResultBuilder<Row>]>): this;
  /** @hidden as {@link Query.on} */
  once(event: 'error', listener: (error: Error) => void): this;
}

/** The config of a {@link Query}. */
export interface SubmittedConfig<Values = any> extends QueryConfig<Values> {
  /** The number of rows to fetch at a time. Default: all. */
  rows?: number | undefined;
}

/** A parameter that the server reported for the session. */
export interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}

/**
 * The socket of a connection, as far as others may use one that belongs to libpq: nothing can be written to it or read from
 * it. Emits `connect`, `ready`, `error` and `close`, as a socket of Node.js.
 */
export interface ConnectionStream extends EventEmitter {
  readonly destroyed: boolean;
  readonly closed: boolean;
  readonly connecting: boolean;
  readonly pending: boolean;
  readonly readyState: 'opening' | 'open' | 'closed';
  readonly readable: boolean;
  readonly writable: boolean;
  readonly encrypted: boolean;
  /** Undefined for a unix socket, and while it is not connected. */
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  /** As if the connection were lost now. What is in flight is rejected with the error, if one is given. */
  destroy(error?: Error): this;
  end(): this;
  destroySoon(): void;
  /** `initialDelay` in milliseconds; 0: as it was. */
  setKeepAlive(enable?: boolean, initialDelay?: number): this;
  /** libpq has done so already. */
  setNoDelay(noDelay?: boolean): this;
  /** Does nothing: see {@link ClientOptions.query_timeout} and {@link ClientOptions.tcp_user_timeout}. */
  setTimeout(timeout: number, callback?: () => void): this;
  ref(): this;
  unref(): this;
  cork(): void;
  uncork(): void;
  /** Throws a {@link StatementRefusedError}. */
  write(...args: any[]): never;
}

/**
 * `client.connection` of `pg`. The actual connection belongs to libpq. It emits `connect`, `sslconnect`, `parameterStatus`,
 * `backendKeyData`, `readyForQuery`, `notice`, `notification`, `errorMessage` (of the connection, not of a query), `error`
 * and `end`; not the messages of single queries.
 */
export class Connection extends EventEmitter {
  constructor(config?: ConnectionConfig);
  readonly stream: Duplex & ConnectionStream;
  /** Closes it when nothing is in flight. Its client, which has not asked for that, takes it for a loss. */
  end(): void;
  ref(): void;
  unref(): void;
  /** The texts of statements that submittables have prepared, by name. */
  parsedStatements: Record<string, string>;
  /** For the `submit()` of a {@link Submittable}, with the connection that it is given; so are the following. */
  parse(query: QueryParse, more?: boolean): void;
  bind(config: BindConfig | null, more?: boolean): void;
  describe(message: MessageConfig, more?: boolean): void;
  execute(config: ExecuteConfig | null, more?: boolean): void;
  close(message: MessageConfig, more?: boolean): void;
  query(text: string): void;
  flush(): void;
  sync(): void;
  /** The server has reported a parameter of the session. */
  on(event: 'parameterStatus', listener: (message: ParameterStatus) => void): this;
  /** @hidden as {@link Connection.on} */
  once(event: 'parameterStatus', listener: (message: ParameterStatus) => void): this;
  /** @hidden as in Node.js */
  on(event: string | symbol, listener: (...args: any[]) => void): this;
  /** @hidden as in Node.js */
  once(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** Defaults of {@link ClientOptions} for the whole process. */
export interface Defaults {
  [name: string]: any;
  /** `localhost`. */
  host?: string | undefined;
  /** 5432. */
  port?: number | undefined;
  /** 10. */
  max?: number | undefined;
  /** See {@link ClientOptions.multiplex} and {@link PoolConfig.multiplex}. */
  multiplex?: 'off' | 'reads' | 'all' | undefined;
  /** Dates are sent in UTC, not in the time zone of the process. Default: false. */
  parseInputDatesAsUTC?: boolean | undefined;
  /** Write-only: `true` returns `bigint` as numbers, in the whole process. See {@link ClientOptions.int8}. */
  parseInt8?: boolean | undefined;
}

/** The {@link Defaults} of the process, as in `pg`. Environment variables override them. */
export const defaults: Defaults;

/** The functions of `pg.utils` and `pg/lib/utils`. */
export const utils: {
  /** Converts a value to what is sent to the server. */
  prepareValue(value: unknown): string | Buffer | null;
  /** Combines the arguments of `query()` in one object. */
  normalizeQueryConfig(
    config: string | QueryConfig,
    values?: readonly unknown[] | QueryCallback,
    callback?: QueryCallback,
  ): QueryConfig & { callback?: QueryCallback | undefined };
  /** See {@link escapeIdentifier}. */
  escapeIdentifier(text: string): string;
  /** See {@link escapeLiteral}. */
  escapeLiteral(text: string): string;
};

// Names that types have in `@types/pg`.

/** {@link ClientOptions}, under its name in `@types/pg`. */
export type ClientConfig = ClientOptions;
/** {@link ClientOptions}, under its name in `@types/pg`. */
export type ConnectionConfig = ClientOptions;
/** {@link Client}, under its name in `@types/pg`. */
export type ClientBase = Client;
/** {@link TypeSource}, under its name in `@types/pg`. */
export type CustomTypesConfig = TypeSource;
/** {@link Field}, under its name in `@types/pg`. */
export type FieldDef = Field;
/** {@link NotificationMessage}, under its name in `@types/pg`. */
export type Notification = NotificationMessage;
/** Any row, under its name in `@types/pg`. */
export type QueryResultRow = Record<string, any>;
/** {@link Result} without its rows, under its name in `@types/pg`. */
export type QueryResultBase = Omit<Result, 'rows'>;
/** As in `@types/pg`. */
export type QueryConfigValues<T> = T extends any[] ? T : never;
/** Returned by {@link Client.getTransactionStatus}, under its name in `@types/pg`. */
export type TransactionStatus = 'I' | 'T' | 'E' | null;
/** The result that listeners of {@link Query} get, under its name in `@types/pg`. */
export type ResultBuilder<Row = any> = Result<Row> & { addRow(row: Row): void };
/** What {@link Connection.parse} takes, under its name in `@types/pg`. */
export interface QueryParse {
  name: string;
  text: string;
  types: string[];
}
/** What {@link Connection.bind} takes, under its name in `@types/pg`. */
export interface BindConfig {
  portal?: string | undefined;
  statement?: string | undefined;
  binary?: string | undefined;
  values?: (Buffer | null | undefined | string)[] | undefined;
  valueMapper?: ((value: any, index: number) => any) | undefined;
}
/** What {@link Connection.execute} takes, under its name in `@types/pg`. */
export interface ExecuteConfig {
  portal?: string | undefined;
  rows?: string | undefined;
}
/** What {@link Connection.describe} takes, under its name in `@types/pg`. */
export interface MessageConfig {
  type: string;
  name?: string | undefined;
}
/** An emitter of errors of clients, as in `@types/pg`. */
export class Events extends EventEmitter {
  /** @hidden as in Node.js */
  on(event: 'error', listener: Callback<[error: Error, client: Client]>): this;
}
/** This package: in `pg` a second driver has this name. */
export const native: typeof import('./index.js') | null;
