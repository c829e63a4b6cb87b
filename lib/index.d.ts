// The public types, written by hand. They say what lib/index.js exports does; test/types/ checks them, and
// `npm run docs:api` makes docs/api of them: what a reader of that needs to know stands in the comments.

/**
 * Begin with {@link Pool} and {@link PoolOptions}; a {@link Client} is one connection. Both run queries
 * ({@link Queryable}), transactions ({@link Transactional}), streams and COPY ({@link Streamable}). A query is a
 * text and values, or a {@link QueryConfig}, and gives a {@link Result}. Every error is a {@link ConduitError}
 * with a {@link ConduitError.code} and an {@link ConduitError.outcome}.
 *
 * Made from lib/index.d.ts by `npm run docs:api`; the guides are the other pages of docs/.
 * @packageDocumentation
 */

// `tsc --init` has no types but those that somebody asks for.
/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';

// --- Options --------------------------------------------------------------------

/** How a `bigint` (int8) column arrives. */
export type Int8Mode = 'string' | 'number' | 'bigint';

/**
 * Keywords of libpq that pass through as they are. Their meaning and defaults, environment variables
 * (`PGHOST`, `PGSSLMODE`, …), the password file and the service file included, are those of the
 * PostgreSQL documentation, "Parameter Key Words".
 */
export interface LibpqOptions {
  /** Address of the host, so that no name is looked up; `host` is then what a certificate is checked for. */
  hostaddr?: string | undefined;
  /** Name of a section in the service file. */
  service?: string | undefined;
  /** Password file. Default: `~/.pgpass`. */
  passfile?: string | undefined;
  /** Shown in `pg_stat_activity` and in the server's log. */
  application_name?: string | undefined;
  /** The same, where `application_name` is not given. */
  fallback_application_name?: string | undefined;
  /** Command-line options for the server: `'-c search_path=app -c work_mem=64MB'`. */
  options?: string | undefined;
  /** Seconds for each host that is tried. See also `connectionTimeoutMillis`, which limits the whole. */
  connect_timeout?: number | string | undefined;
  /** Whether TLS is used and what is verified. libpq's default: `prefer`. */
  sslmode?: TlsMode | undefined;
  /** Name of a file with the certificates of the authorities to trust, or `system`. */
  sslrootcert?: string | undefined;
  /** Name of a file with the client's certificate. */
  sslcert?: string | undefined;
  /** Name of a file with the client's key. */
  sslkey?: string | undefined;
  /** What decrypts `sslkey`. */
  sslpassword?: string | undefined;
  /** Whether a client certificate is sent. libpq's default: `allow`. */
  sslcertmode?: 'disable' | 'allow' | 'require' | undefined;
  /** Name of a file with revoked certificates. */
  sslcrl?: string | undefined;
  /** Name of a folder with revoked certificates. */
  sslcrldir?: string | undefined;
  /** `'1'` (libpq's default) to name the host in the TLS handshake, `'0'` not to. */
  sslsni?: number | string | undefined;
  /** `direct` starts with TLS and spares a round trip; needs PostgreSQL 17 and `sslmode: 'require'` or more. */
  sslnegotiation?: 'postgres' | 'direct' | undefined;
  /** libpq's default: `TLSv1.2`. */
  ssl_min_protocol_version?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** libpq's default: no limit. */
  ssl_max_protocol_version?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** Ties SCRAM authentication to the TLS connection. libpq's default: `prefer`. */
  channel_binding?: 'disable' | 'prefer' | 'require' | undefined;
  /** Methods of authentication to accept, separated by commas: `'scram-sha-256'`. */
  require_auth?: string | undefined;
  /** Operating system's user that must own the server behind a unix socket. */
  requirepeer?: string | undefined;
  /** Which of several hosts will do. libpq's default: `any`. */
  target_session_attrs?:
    'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby' | undefined;
  /** `random` to try several hosts, or a host's addresses, in random order. libpq's default: `disable`. */
  load_balance_hosts?: 'disable' | 'random' | undefined;
  /** `'0'` turns TCP keepalives off. See also `keepAlive`. */
  keepalives?: number | string | undefined;
  /** Seconds without traffic before a keepalive is sent. See also `keepAliveInitialDelayMillis`. */
  keepalives_idle?: number | string | undefined;
  /** Seconds between keepalives. */
  keepalives_interval?: number | string | undefined;
  /** Lost keepalives after which the connection is lost. */
  keepalives_count?: number | string | undefined;
  /** Milliseconds that sent bytes may stay unacknowledged before the connection is lost. */
  tcp_user_timeout?: number | string | undefined;
}

/** `no-verify` is what `pg` calls `require`: encrypted, and not verified. */
export type TlsMode =
  'disable' | 'allow' | 'prefer' | 'require' | 'no-verify' | 'verify-ca' | 'verify-full';

/** Texts in PEM, as `tls.connect()` takes them. */
export type Pem = string | Uint8Array;

/** What `ssl` takes. The server is verified, its name included, unless `rejectUnauthorized` is false. */
export interface TlsOptions {
  /** Certificates of the authorities to trust. Default: the system's. */
  ca?: Pem | Pem[] | undefined;
  /** The client's certificate, and those of its chain behind it. */
  cert?: Pem | [Pem] | undefined;
  /** The key of `cert`. */
  key?: Pem | [Pem | { pem: Pem; passphrase?: string | undefined }] | undefined;
  /** What decrypts `key`. */
  passphrase?: string | undefined;
  /** Lists of revoked certificates, one for each authority of the chain; needs `ca`. */
  crl?: Pem | Pem[] | undefined;
  /** The name that is verified, and sent in the handshake. Default: `host`. */
  servername?: string | undefined;
  /** `false`: the server is not verified, and `ca` not used. Default: true. */
  rejectUnauthorized?: boolean | undefined;
  /** As others write it. */
  require?: true | undefined;
  /** Default: `TLSv1.2`. */
  minVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** Default: no limit. */
  maxVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | undefined;
}

/**
 * What `new Client()` takes. A value out of its range does not throw: it rejects `connect()` and
 * queries with an {@link OptionError}. A name that nobody knows is told in a process warning.
 */
export interface ClientOptions extends LibpqOptions {
  /**
   * `postgresql://user:password@host:port/database?sslmode=…`, or `host=… dbname=…`. What stands in it
   * wins over the other options.
   */
  connectionString?: string | undefined;
  /**
   * A name, an address, the folder of a unix socket, or several separated by commas, which are tried in
   * that order. Default: `PGHOST`, else `localhost`.
   */
  host?: string | undefined;
  /** One port, or several separated by commas. Default: `PGPORT`, else 5432. */
  port?: number | string | undefined;
  /** Name of the role. Default: `PGUSER`, else the system's user. */
  user?: string | undefined;
  /** Default: `PGDATABASE`, else the name of the user. */
  database?: string | undefined;
  /**
   * A function is asked at each connect, and given what it is for. What gives nothing leaves it to the
   * password file. Default: `PGPASSWORD`, else the password file, `~/.pgpass`.
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
   * Other texts are values of `sslmode`. With an object certificates and keys are given as texts; files
   * are named in {@link LibpqOptions.sslrootcert} and its kin. Where {@link LibpqOptions.sslmode} says
   * something else, the stricter of the two counts. Default: libpq's, `prefer`: encrypted if the server can,
   * and not verified.
   */
  ssl?: boolean | TlsMode | TlsOptions | undefined;
  /** Only UTF-8 is possible: the server converts. */
  client_encoding?: 'UTF8' | 'utf8' | 'UTF-8' | 'utf-8' | 'unicode' | 'auto' | '' | undefined;
  /** TCP keepalives. Default: libpq's, on. */
  keepAlive?: boolean | undefined;
  /** Milliseconds without traffic before the first keepalive, rounded to seconds. Default: the system's. */
  keepAliveInitialDelayMillis?: number | undefined;
  /**
   * Milliseconds after which `query()` rejects with a {@link QueryAbortedError}, whether the server still
   * works on it or not; see {@link QueryConfig.timeoutMillis}. 0 and false: no limit. Default: 0.
   *
   * The driver's own statements (`BEGIN`, `COMMIT`, `ROLLBACK`, what resets a session) have the same limit.
   * Past it their connection is closed. Without it they have 150 seconds, and `COMMIT` has no limit.
   */
  query_timeout?: number | false | undefined;
  /** Milliseconds; the server cancels a statement that takes longer. Default: the server's. */
  statement_timeout?: number | false | undefined;
  /** Milliseconds; the server cancels a statement that waits longer for a lock. Default: the server's. */
  lock_timeout?: number | false | undefined;
  /** Milliseconds; the server ends a session that idles longer in a transaction. Default: the server's. */
  idle_in_transaction_session_timeout?: number | false | undefined;
  /**
   * Milliseconds for making a connection; in a pool also for the wait of a query or of `connect()`
   * until a connection is there. 0: no limit. Default: 0.
   */
  connectionTimeoutMillis?: number | undefined;
  /** Parsers of result values. Default: {@link types}. */
  types?: TypeSource | undefined;
  /**
   * What `bigint` (int8) columns become. `'number'` rejects what is beyond 2^53 with a
   * {@link ResultError}. Default: `'string'`, as in `pg`.
   */
  int8?: Int8Mode | undefined;
  /**
   * `'string'`: `date` columns, and arrays of it, arrive as the server writes them, which no time zone of
   * the process can shift. Default: `'date'`, as in `pg`, midnight there.
   */
  date?: 'date' | 'string' | undefined;
  /**
   * `'string'`: `timestamp` and `timestamptz` columns, and arrays of them, arrive as the server writes them,
   * with their microseconds. Default: `'date'`, as in `pg`, with milliseconds.
   */
  timestamp?: 'date' | 'string' | undefined;
  /**
   * `'string'`: the elements of `numeric[]` arrive as texts, with all of their digits, as `numeric` does by
   * itself. Default: `'number'`, as in `pg`.
   */
  numericArrays?: 'number' | 'string' | undefined;
  /**
   * Arrays of enums, domains, rows and types of extensions arrive as arrays, not as texts (`'{sad,happy}'`).
   * The first connection asks `pg_type` for them, and an answer with a type that was made since is completed
   * by asking again; a stream gives such a one as text. Parsers of elements are those of the option `types`. Default:
   * false, as in `pg`.
   */
  fetchTypes?: boolean | undefined;
  /**
   * `:name` in the text stands for a value when the values are an object: `query('select :id::int', { id: 1 })`.
   * The server gets `$1`; names that are not in the text are passed over, a missing value rejects with a
   * {@link ParameterError}. Inside of brackets write `a[1 : :last]`: a colon right behind a value is that of a slice.
   * Default: false.
   */
  namedParameters?: boolean | undefined;
  /**
   * Errors of queries have their text in `query`, as it was sent, never the values. Default: false, as in `pg`.
   */
  queryInErrors?: boolean | undefined;
  /** Whether statements are prepared at all; `false` for poolers that cannot. Default: true. */
  prepare?: boolean | undefined;
  /** At which use of a text it is prepared. Default: 2. */
  prepareThreshold?: number | undefined;
  /** Prepared statements of one connection, at most. Default: 256. */
  statementCacheSize?: number | undefined;
  /** Length of their texts together, in characters. Default: 1048576. */
  statementCacheBytes?: number | undefined;
  /**
   * Seconds after which a prepared statement is prepared anew at its next use, less up to a fifth; 0 or Infinity:
   * never. PostgreSQL fixes the types of parameters when it prepares: if another session changes the type of a
   * column, this is how long values may still be stored as the old type has them, where no error tells. Default: 30.
   */
  statementMaxAgeSeconds?: number | undefined;
  /** false: SCRAM is not tied to TLS. See {@link LibpqOptions.channel_binding}. Default: libpq's, prefer. */
  enableChannelBinding?: boolean | undefined;
  /** What makes the promises of `connect()`, `query()` and `end()`. Default: Node's. */
  Promise?: PromiseConstructorLike | undefined;
  /** Without effect: all clients pipeline. */
  pipeline?: boolean | undefined;
  /** Without effect: what travels in binary is decided for each statement, and values are the same. */
  binary?: boolean | undefined;
  /**
   * How many iterations of its hash a server may ask for when it checks a password by SCRAM; they are computed
   * in one piece, 100,000 in some 0.1 s. 0: no limit. Without effect on a libpq of the system. Default: 100000, as in
   * `pg`.
   */
  scramMaxIterations?: number | undefined;
}

/** What a connection is made with, under the names of `pg`. */
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
 * Which queries of a pool's callers may share a Sync with others of the same text on the same connection: at most 32 of
 * them, expected to cost the server 2 ms together. A text is a candidate once it has been run with
 * success, while it is known to cost the server 1 ms at most, and with 128 KiB of values at most. All
 * of them are answered at the Sync; if one fails, each is run again by itself.
 * - off: none
 * - reads: those that only read, by their text and by the catalog of the database
 * - all: those that write, too. Their locks are held until the Sync
 */
export type SyncGroupMode = 'off' | 'reads' | 'all';

/** What `new Pool()` takes. */
export interface PoolOptions extends ClientOptions {
  /** Connections, at most. Default: 10. */
  max?: number | undefined;
  /** The same, where `max` is not given. */
  poolSize?: number | undefined;
  /** Connections that stay open though idle. They are opened as they are needed. Default: 0. */
  min?: number | undefined;
  /**
   * Where {@link Pool.read} connects: a connection string, or options that differ from those of the pool.
   * Standbys are preferred, and taken in random order, unless it says otherwise.
   */
  replicas?: string | PoolOptions | undefined;
  /**
   * Milliseconds that a read with {@link QueryConfig.after} waits for a standby; then the primary is
   * asked. Default: 1000
   */
  catchUpMillis?: number | undefined;
  /** Queries in flight on one connection, at most; more of them wait. Default: 1024. */
  maxInFlight?: number | undefined;
  /**
   * Queries and `connect()` calls that may wait for a connection, which they also do while all run
   * something slow; one more is rejected with a {@link PoolError}. Default: Infinity.
   */
  maxWaiting?: number | undefined;
  /**
   * Which queries of {@link Pool.query} may share a Sync. Default: `'reads'`. See {@link SyncGroupMode}.
   */
  syncGroup?: SyncGroupMode | undefined;
  /** Milliseconds after which an idle connection is closed. 0: never. Default: 10000. */
  idleTimeoutMillis?: number | null | undefined;
  /**
   * Awaited with each new connection before others have it, as for `SET`. If it fails, the connection is
   * closed, and who waits for it is rejected with that error.
   */
  onConnect?: ((client: Client) => unknown) | undefined;
  /** The same with a callback, after `onConnect`. The first call counts; a promise that is returned may reject. */
  verify?: Callback<[client: Client, callback: (error?: any) => void]> | undefined;
  /** Told of connections that come and go. */
  log?: ((message: string, ...more: any[]) => void) | undefined;
  /** The class of its clients, which must extend {@link Client} and pass on what its constructor is given. */
  Client?: (new (config?: any) => Client) | undefined;
  /**
   * Uses after which a connection is replaced, each query on it while it is shared, and each loan (`connect()`,
   * `transaction()`, `stream()`, …); 0: never. Default: Infinity.
   */
  maxUses?: number | undefined;
  /** Seconds after which a connection is replaced, less up to a tenth. 0: never. Default: 0. */
  maxLifetimeSeconds?: number | undefined;
  /** Whether the process may end while connections are idle. Default: false. */
  allowExitOnIdle?: boolean | undefined;
  /**
   * Milliseconds after which a connection that was borrowed, by `connect()` or `transaction()`, and not
   * given back is told in a process warning (`PoolLeakWarning`) with the stack of the borrowing. 0: never.
   * So are a {@link Pool.end} that waits for so long (without this option: 10 s), and a pool that was idle for so
   * long, is not ended, and is all that keeps the process alive.
   * Default: 0.
   */
  leakWarningMillis?: number | undefined;
  /**
   * What is run when a client is released whose session was changed. `''`: nothing, the next borrower
   * finds what the last one has left. Default: `DISCARD ALL`.
   */
  resetQuery?: string | undefined;
}

// --- Queries and results -----------------------------------------------------------

/** For `:name`, see {@link ClientOptions.namedParameters}. */
export type NamedValues = Readonly<Record<string, unknown>>;

/** For `$1`, `$2`, …, in their order; or by name. */
export type QueryValues = readonly unknown[] | NamedValues;

/** A query as one object. */
export interface QueryConfig<Values = any> {
  /** One statement, with `$1`, `$2`, … for its values. */
  text: string;
  /**
   * One for each `$n`. `null` and `undefined` are NULL, a Date or an array becomes PostgreSQL's syntax for
   * it, a Buffer or typed array is sent as bytes, other objects as JSON or as their `toPostgres(prepare)`
   * says. A function, a symbol and an invalid Date reject with a {@link ParameterError}. With
   * {@link ClientOptions.namedParameters}: an object with one for each `:name`, or such an array.
   */
  values?: QueryValues | undefined;
  /**
   * Prepares the statement at its first use. On one client a name must always stand for the same text
   * (else: {@link ParameterError}).
   */
  name?: string | undefined;
  /** `'array'` makes each row an array. */
  rowMode?: 'array' | null | undefined;
  /** Parsers for this query alone. */
  types?: TypeSource | undefined;
  /** Whether this query may be prepared. Default: that of the client or pool. */
  prepare?: boolean | undefined;
  /** Whether it may share a Sync, if it runs on a pool. Default: that of the pool. */
  syncGroup?: SyncGroupMode | undefined;
  /** For {@link Pool.read} alone: it sees what was written up to this {@link Pool.walPosition}. */
  after?: string | undefined;
  /**
   * Gives the query up with a {@link QueryAbortedError}: what waits is taken out, what runs is cancelled at
   * the server. On a pool the query gets a connection to itself for that. Those of a batch:
   * {@link BatchOptions}.
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Milliseconds until the query is given up with a {@link QueryAbortedError}. On a shared connection
   * it is `'unknown'`, its rows are discarded, and it goes on at the server while others wait for theirs.
   * See also {@link ClientOptions.statement_timeout}. 0: no limit. Default: `query_timeout`. For `query()` only.
   */
  timeoutMillis?: number | undefined;
  /** The same as `timeoutMillis`, under the name that it has in `pg`; 0 and false: that of the client. */
  query_timeout?: number | false | undefined;
  /** `'extended'`: a text of several statements is an error, whatever its values. */
  queryMode?: 'extended' | undefined;
}

/** A query whose rows are arrays. */
export interface QueryArrayConfig<Values = any> extends QueryConfig<Values> {
  rowMode: 'array';
}

/** One column, as the server describes it. Frozen. */
export interface Field {
  /** As in the result: the name of the column, or what stands behind AS. */
  readonly name: string;
  /** OID of the table; 0 when it is not a table's column. */
  readonly tableID: number;
  /** Attribute number of the column, or 0. */
  readonly columnID: number;
  /** OID of the type. */
  readonly dataTypeID: number;
  /** Bytes; negative for variable width. */
  readonly dataTypeSize: number;
  /** `atttypmod` of the column, such as the length of a `varchar` and 4; -1 for none. */
  readonly dataTypeModifier: number;
  /** What parsers get. */
  readonly format: 'text';
}

/** What a query resolves to. */
export class Result<Row = any> {
  /** @param rowMode whether rows are arrays: `'array'` or true */
  constructor(rowMode?: string | boolean | null, types?: TypeSource);
  /** First word of the command tag. After an empty statement null, of which `@types/pg` says nothing either. */
  command: string;
  /** Rows that the command tag counts; null where it counts none. */
  rowCount: number | null;
  /** 0 after INSERT. Else null, of which `@types/pg` says nothing either. */
  oid: number;
  /**
   * Objects by the names of the columns, of which the last one counts where two are the same; or arrays,
   * with `rowMode: 'array'`.
   */
  rows: Row[];
  /** The columns, also where there are no rows. */
  fields: Field[];
  /** Whether the query was made with `rowMode: 'array'`. */
  rowAsArray: boolean;
}

/** {@link Result}, under the name that it has in the types of `pg`. */
export type QueryResult<Row = any> = Result<Row>;

/** What a query with `rowMode: 'array'` resolves to. */
export interface QueryArrayResult<Row extends any[] = any[]> extends Result<Row> {}

/**
 * A function that is called with `Args`: a callback, or a listener of an event. Its parameters may be given narrower
 * types, such as those of `@types/pg`: `(error: Error, result) => …`, `(client: PoolClient) => …`.
 */
export type Callback<Args extends readonly unknown[]> = { call(...args: Args): void }['call'];

/** As Node's own callbacks: with an error, `result` is undefined. */
export type QueryCallback<R = Result> = Callback<[error: Error | null, result: R]>;

/** What can run queries: a {@link Client}, a {@link PoolClient} or a {@link Pool}. */
export interface Queryable {
  /** With a callback in the object: it is called, and there is no promise. */
  query<Row = any, Values = any>(
    config: QueryConfig<Values> & { callback: QueryCallback<Result<Row>> },
  ): void;
  /** An object of `pg`'s kind, such as those of pg-cursor and pg-query-stream; on a {@link Client} only. */
  query<T extends Submittable>(submittable: T): T;
  /** With `rowMode: 'array'`, for rows that are arrays. */
  query<Row extends any[] = any[], Values = any>(
    config: QueryArrayConfig<Values>,
    values?: QueryValues | null,
    options?: QueryOptions | null,
  ): Promise<QueryArrayResult<Row>>;
  /**
   * Runs one statement. A text of several without values (`'select 1; select 2'`) resolves to an array of
   * results, as in `pg`; on a pool it has a connection to itself, and must not leave a transaction open.
   *
   * It never throws: the promise is rejected, or the callback called, with one of
   * - {@link DatabaseError}: what the server said; `code` is the SQLSTATE
   * - {@link ParameterError}: the text or a value cannot be sent
   * - {@link ResultError}: a value that came back has no JavaScript value as asked
   * - {@link ConnectionError}: no connection, or it was lost; see {@link ConduitError.outcome}
   * - {@link OptionError}: what the client or pool was made with is wrong
   * - {@link StatementRefusedError}: this statement cannot run here
   * - {@link PoolError}: the pool has ended, is full, or the wait was too long
   * - {@link QueryAbortedError}: its `signal` or its time limit
   *
   * It settles when the server has finished the statement and its commit, not before: at its Sync, as the
   * protocol calls it (PostgreSQL documentation, "Pipelining" in "Message Flow").
   * @param config an SQL text, or an object with it
   * @param values one for each `$n`, as in {@link QueryConfig.values}
   * @param options when it is given up
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
   * Runs statements behind one Sync, in one round trip: all are committed, and their results given out in
   * their order, or none. Rejects with the first error, as {@link Queryable.query} does; the error's `index`
   * says which statement it was, if it was one. Nothing is sent when one of them cannot be, or begins or
   * ends a transaction.
   * @typeParam Shape how many queries there are, as far as it is known: there are as many results
   * @typeParam Inferred for nothing: with one type argument it is one of the other two forms that is meant
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
  /** With the type of the rows, one for all: `batch<User>([…])`. */
  batch<Row>(
    queries: readonly (string | QueryConfig)[],
    options?: BatchOptions | null,
  ): Promise<Result<Row>[]>;
}

/** The queries of a batch: as many as `Shape` has elements. */
export type BatchQueries<Shape extends readonly unknown[]> = {
  readonly [Index in keyof Shape]: string | QueryConfig;
};

/** A result for each query of a batch, in their order. */
export type BatchResults<Shape extends readonly unknown[]> = {
  -readonly [Index in keyof Shape]: Result;
};

/** When all of a batch is given up, with a {@link QueryAbortedError}. */
export interface BatchOptions {
  /** As {@link QueryConfig.signal}. */
  signal?: AbortSignal | null | undefined;
  /** Milliseconds, 0 for none. Default: the option `query_timeout`. As {@link QueryConfig.timeoutMillis}. */
  timeoutMillis?: number | undefined;
}

/**
 * What {@link Queryable.query} takes behind the values, in place of a callback: when the query is given up, as by
 * {@link QueryConfig.signal} and {@link QueryConfig.timeoutMillis}, which count after these.
 */
export interface QueryOptions extends BatchOptions {}

// --- Transactions ------------------------------------------------------------------

/**
 * What {@link Transactional.transaction} takes behind its function. A wrong value or an unknown name rejects
 * with an {@link OptionError}.
 */
export interface TransactionOptions {
  /** Default: the server's, `'read committed'` unless it was configured otherwise. */
  isolationLevel?:
    'read uncommitted' | 'read committed' | 'repeatable read' | 'serializable' | undefined;
  /** Default: the server's, false. */
  readOnly?: boolean | undefined;
  /** With `'serializable'` and `readOnly`: waits at its begin until no conflict is possible. */
  deferrable?: boolean | undefined;
  /** When to run the function once more. */
  retry?: TransactionRetry | undefined;
}

/** When {@link Transactional.transaction} runs its function once more. */
export interface TransactionRetry {
  /**
   * After serialization failures (40001) and deadlocks (40P01), so many times at most. The function must
   * do nothing but what a ROLLBACK undoes. Default: 0.
   */
  serialization?: number | undefined;
}

/**
 * What the function of a transaction gets. Statements may be sent without awaiting each other; nothing of
 * the transaction is committed when one of them fails, whether its error was caught or not. While a stream,
 * cursor or COPY is open it takes nothing else. What is read may be left early: a savepoint takes back
 * that statement alone.
 */
export interface Transaction extends Queryable, Streamable {
  /** As {@link Client.cursor}. */
  cursor<Row = any>(
    text: string | QueryConfig,
    values?: QueryValues | null,
    options?: CursorOptions | null,
  ): Cursor<Row>;

  /**
   * A savepoint: when the function throws or a statement in it fails, all since then is undone, and the
   * outer transaction goes on. The outer one takes no statements while it is open.
   */
  transaction<T>(fn: (transaction: Transaction) => T | PromiseLike<T>): Promise<T>;
  /** See {@link escapeIdentifier}. */
  escapeIdentifier(text: string): string;
  /** See {@link escapeLiteral}. */
  escapeLiteral(text: string): string;
}

/** What can run transactions: a {@link Client}, a {@link PoolClient} or a {@link Pool}. */
export interface Transactional {
  /**
   * Runs the function in a transaction: BEGIN is sent with its first statement, COMMIT when it is done,
   * ROLLBACK when it throws. Resolves to what the function returns. Rejects with
   * - what the function throws
   * - {@link DatabaseError}: COMMIT has failed, for example for a deferred constraint
   * - {@link TransactionError}: a statement has failed, and the function did not throw
   * - {@link ConnectionError}: the connection was lost; `outcome` is `'unknown'` if that was during COMMIT
   * - {@link OptionError}, {@link ParameterError}: wrong arguments
   * - {@link PoolError}: no connection to be had
   */
  transaction<T>(
    fn: (transaction: Transaction) => T | PromiseLike<T>,
    options?: TransactionOptions | null,
  ): Promise<T>;
}

// --- Rows as they come, and COPY ----------------------------------------------------

/** What {@link Client.cursor} takes behind the values. */
export interface CursorOptions {
  /** As {@link QueryConfig.signal}, which counts after this. */
  signal?: AbortSignal | null | undefined;
}

/** What {@link Streamable.stream} takes behind the values. */
export interface StreamOptions extends CursorOptions {
  /** Rows that may wait for the reader, from 1 on. Default: 256. */
  batchSize?: number | undefined;
}

/** What `for await` takes from a stream. */
export interface StreamIterator<T> extends AsyncIterableIterator<T>, AsyncDisposable {
  [Symbol.asyncIterator](): StreamIterator<T>;
}

/** The rows of a statement. Destroy it, or leave its `for await`, to cancel the rest. */
export interface RowStream<Row = any> extends Readable {
  /** Description of the columns; empty before the first rows have come. */
  readonly fields: Field[];
  /**
   * The next row of those that have come, or null.
   * @param size without meaning for rows
   */
  read(size?: number): Row | null;
  /** All rows at once; `query()` does that with less. */
  toArray(options?: { signal?: AbortSignal | undefined }): Promise<Row[]>;
  [Symbol.asyncIterator](): StreamIterator<Row>;
  /** Each row, as it comes. The other events are those of Node's `Readable`. */
  on(event: 'data', listener: (row: Row) => void): this;
  /** @hidden as in Node.js */
  on(event: 'end' | 'close' | 'readable' | 'pause' | 'resume', listener: () => void): this;
  /** @hidden as in Node.js */
  on(event: 'error', listener: (error: Error) => void): this;
  /** @hidden as in Node.js */
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** The data of a COPY … FROM STDIN. Destroyed before its end, nothing of it lasts. */
export interface CopyFromStream extends Writable {
  /** Rows that the server has taken; null before `finish`. */
  readonly rowCount: number | null;
}

/** The data of a COPY … TO STDOUT, as Buffers that end anywhere. */
export interface CopyToStream extends Readable {
  [Symbol.asyncIterator](): StreamIterator<Buffer>;
}

/** What has data that come or go as streams: a {@link Client}, a {@link PoolClient} or a {@link Pool}. */
export interface Streamable {
  /**
   * One statement's rows as they come; the server is stopped while nobody reads. It has the connection to
   * itself until its end. It never throws: the stream is destroyed with what {@link Queryable.query} would
   * reject with, or by `signal`. Without `timeoutMillis`.
   */
  stream<Row = any>(
    text: string | QueryConfig,
    values?: QueryValues | null,
    options?: StreamOptions | null,
  ): RowStream<Row>;

  /**
   * @param text one COPY … FROM STDIN. The stream finishes when all is committed; an error in the data
   *   destroys it at once, with a system libpq at their end
   */
  copyFrom(text: string): CopyFromStream;

  /** @param text one COPY … TO STDOUT */
  copyTo(text: string): CopyToStream;

  /**
   * Rows of values into a table, by COPY: all of them, or none; in its binary format as far as the types
   * of the columns and the values allow. Values as in {@link QueryConfig.values}, except that bytes are for
   * `bytea` columns only. Rejects with what the iterable throws, and as
   * {@link Queryable.query} does.
   * @param table its name, `'schema.name'`, or both in an array, where a dot is part of a name; taken as they
   *   are, upper and lower case differ
   * @param columns their names
   * @param rows arrays of as many values
   */
  copyRows(
    table: string | readonly [name: string] | readonly [schema: string, name: string],
    columns: readonly string[],
    rows: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>,
  ): Promise<{ rowCount: number }>;
}

/** What {@link Client.cursor} returns. Nothing else runs on the client before it has ended or is closed. */
export interface Cursor<Row = any> {
  /**
   * Fewer rows than `count` are the last ones of a statement that has succeeded, none means the end. Reads
   * at once are served in their order.
   * Rejects as {@link Queryable.query} does, and with a RangeError for a `count` below 1.
   */
  read(count: number): Promise<Row[]>;
  /**
   * Cancels what is left, once the reads that were asked for have their rows (a `signal` ends one that takes
   * too long). Resolves when the connection can be used again.
   */
  close(): Promise<void>;
  /** The same as {@link Cursor.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

// --- Client ----------------------------------------------------------------------

/** What the server says beside the result. It belongs to the connection, not to one query. */
export interface NoticeMessage extends ErrorFields {
  name: 'notice';
  message: string | undefined;
  /** SQLSTATE. */
  code: string | undefined;
}

/** What NOTIFY sent to a channel that this session listens on. */
export interface NotificationMessage {
  name: 'notification';
  /** Characters of channel and payload together. */
  length: number;
  /** Process id of the server's backend that sent it. */
  processId: number;
  channel: string;
  /** Empty when NOTIFY had none. */
  payload: string;
}

/** Events of a {@link Client} and what their listeners get. */
export interface ClientEvents {
  /** It is connected, and may be used. */
  connect: [];
  /** The connection was lost; its queries are rejected already. Without a listener nothing happens. */
  error: [error: ConnectionError];
  /** Nothing is in flight any more. */
  drain: [];
  /** The server has said something beside a result, such as RAISE NOTICE. */
  notice: [notice: NoticeMessage];
  /** Somebody has notified a channel that this session listens on. */
  notification: [message: NotificationMessage];
  /** The connection is closed, whatever the reason. */
  end: [];
}

export interface Client extends Queryable, Transactional, Streamable {}

/**
 * One connection. It connects once; after {@link Client.end} make a new one. Queries that are started
 * together travel together; each is a transaction of its own, unless BEGIN was sent.
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

  /** Process id of the server's backend; 0 before {@link Client.connect}. */
  readonly processID: number;
  /** Name of the role that it connects as. */
  readonly user: string | undefined;
  /** Name of the database. */
  readonly database: string | undefined;
  /** As given, of several all, separated by commas. */
  readonly host: string;
  /** The first. */
  readonly port: number;
  /** What stands in the options, until a password function has been asked. */
  readonly password: string | ((...args: any[]) => unknown) | null;
  /** Whether the connection is encrypted. */
  readonly ssl: boolean;
  /** What it was made with, as `pg` has it; the password is not enumerable. */
  readonly connectionParameters: ConnectionParameters;
  /** Tells of the server's parameters. */
  readonly connection: Connection;
  /** For tracing tools that wrap `query()`: what they have asked right now; else empty. */
  readonly queryQueue: readonly any[];

  /** As the server said last: idle, in a transaction, in a failed one; null while something is in flight. */
  getTransactionStatus(): 'I' | 'T' | 'E' | null;

  /**
   * Resolves to the client, as in `pg`. Rejects with a {@link ConnectionError}, a {@link DatabaseError} when the
   * server refused, an {@link OptionError}, or with what the password function threw. Queries that were made
   * before wait for it. Takes {@link ClientOptions.connectionTimeoutMillis} at most.
   */
  connect(): Promise<Client>;
  connect(callback: Callback<[error: Error | null, client: Client | undefined]>): void;

  /**
   * One statement's rows, so many at a time; the server is stopped between the reads. It never throws: each
   * {@link Cursor.read} rejects.
   *
   * @example
   * ```js
   * import { Client } from 'pg-conduit';
   *
   * const client = new Client(process.env.DATABASE_URL);
   * await client.connect();
   * const cursor = client.cursor('select i from generate_series(1, $1) as i', [1000]);
   * console.log(await cursor.read(2)); // [ { i: 1 }, { i: 2 } ]
   * await cursor.close(); // the rest is not wanted
   * await client.end();
   * ```
   */
  cursor<Row = any>(
    text: string | QueryConfig,
    values?: QueryValues | null,
    options?: CursorOptions | null,
  ): Cursor<Row>;

  /**
   * Asks the server to cancel what it runs for this client, which then rejects with 57014, unless it was
   * quicker. Resolves when nothing can be hit by it any more; what is sent meanwhile waits. Rejects with a
   * {@link ConnectionError} when the server cannot be asked within 2 s.
   */
  cancel(): Promise<void>;

  /** Finishes what is in flight, then closes the connection. */
  end(): Promise<void>;
  end(callback: Callback<[error?: Error | null]>): void;

  /** The same as {@link Client.end}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;

  /**
   * A parser of this client alone.
   * @param parser null returns to the parser underneath
   */
  setTypeParser(oid: number, parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'text', parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'binary', parser: TypeParser<Buffer> | null): void;
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;

  /** See {@link escapeIdentifier}. */
  escapeIdentifier(text: string): string;
  /** See {@link escapeLiteral}. */
  escapeLiteral(text: string): string;

  /** The connection keeps the process alive, which is the default. */
  ref(): void;
  /** The connection does not keep the process alive. */
  unref(): void;

  /** Listens to one of the {@link ClientEvents}. `once()`, `off()` and their kin: as in Node.js. */
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

/** A client of a pool, lent to one borrower until {@link PoolClient.release}. */
export interface PoolClient extends Client {
  /**
   * Gives the client back. An open transaction is rolled back and a changed session is reset.
   * @param error true or an error: the connection is not to be used again, and is closed now
   * @throws {PoolError} `ERR_PG_CONDUIT_RELEASED` the second time
   */
  release(error?: Error | boolean): void;
  /** {@link PoolClient.release}, unless it was called; for `using`. */
  [Symbol.dispose](): void;
  /** {@link PoolClient.release}, unless it was called; for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Where a notification came from. */
export interface NotificationSource {
  channel: string;
  /** Process id of the server's backend that sent it. */
  processId: number;
}

/** Notifications may have been missed: the server was not listening for a while. */
export interface NotificationGap {
  channel: string;
  /** Why the connection was lost. */
  error: Error;
}

/** What {@link Pool.listen} takes behind its handler. */
export interface ListenOptions {
  /**
   * Called when the server listens again after the connection was lost: what was sent meanwhile is lost,
   * so look for what you may have missed. What is sent from now on comes.
   */
  onGap?: ((gap: NotificationGap) => void) | undefined;
}

/** What {@link Pool.listen} resolves to. */
export interface Subscription {
  readonly channel: string;
  /**
   * Ends it: from this call on the handler is not called any more. Resolves when the server does not listen
   * for it any more. It needs no `this`, and may be called again.
   */
  readonly unlisten: () => Promise<void>;
  /** {@link Subscription.unlisten}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Events of a {@link Pool} and what their listeners get. */
export interface PoolEvents {
  /** A connection was opened. */
  connect: [client: Client];
  /** A client was lent. */
  acquire: [client: PoolClient];
  /** A borrower gave a client back. */
  release: [error: Error | boolean | undefined, client: PoolClient];
  /** A connection was closed. */
  remove: [client: Client];
  /**
   * A connection was lost; its queries are rejected already. Without a listener nothing happens. For the
   * connection of {@link Pool.listen} also why it cannot be made again, once for each reason.
   */
  error: [error: ConnectionError | DatabaseError, client: Client];
}

/** Counts of a pool, or of one of its connections. */
export interface QueryCounters {
  /** Statements sent, those that were sent again included. */
  queries: number;
  /** Parse messages sent for the statement cache. */
  parses: number;
  /** Sync messages sent; fewer than queries where several share one. */
  syncs: number;
  /** Times that what was collected was written out. */
  flushes: number;
  /** Times that the socket had something to be read or could be written again. */
  wakeups: number;
}

/** One connection of a pool, as it is now, and its counts since it was opened. */
export interface ConnectionStats extends QueryCounters {
  /** Number of the connection in this process. */
  id: number;
  /** Process id of the server's backend; 0 while connecting. */
  processID: number;
  /**
   * - connecting: not yet usable
   * - shared: takes queries of everybody
   * - reserved: takes no new ones, since a borrower waits for it
   * - exclusive: lent
   * - leaving: is closed once nothing is in flight
   */
  state: 'connecting' | 'shared' | 'reserved' | 'exclusive' | 'leaving';
  /** Queries that were submitted and have not settled. */
  inFlight: number;
  /** Milliseconds that those are expected to cost the server; not what the network takes. */
  expectedMillis: number;
  /** Statements that it has prepared: {@link ClientOptions.statementCacheSize} at most. */
  preparedStatements: number;
  /** Commands and Syncs that were sent and not answered. */
  pending: number;
}

/** What {@link Pool.stats} returns: sums since the pool was made, closed connections included. */
export interface PoolStats extends QueryCounters {
  /** As {@link Pool.totalCount}. */
  totalCount: number;
  /** As {@link Pool.idleCount}. */
  idleCount: number;
  /** As {@link Pool.waitingCount}. */
  waitingCount: number;
  /** Of all connections together. */
  statementCache: {
    /** Executions whose text was in the cache. */
    hits: number;
    /** Executions whose text was not: it was parsed. */
    misses: number;
    /** Statements that made room for others. */
    evictions: number;
  };
  /** Those that are there now. */
  connections: ConnectionStats[];
}

export interface Pool extends Queryable, Transactional, Streamable {}

/**
 * Connections, opened as they are needed. Queries of {@link Pool.query} share them with those of other callers
 * (docs/pooling-and-pipelining.md); what needs a connection to itself gets one.
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
  constructor(config?: string | PoolOptions | null, ClientClass?: new (config?: any) => Client);

  /** What it was made with, and the defaults of pg-pool. Secrets are not enumerable. */
  readonly options: PoolOptions & {
    max: number;
    min: number;
    maxUses: number;
    allowExitOnIdle: boolean;
    maxLifetimeSeconds: number;
    idleTimeoutMillis: number;
  };
  /** Whether {@link Pool.end} is done. */
  readonly ended: boolean;
  /** Connections that have outlived `maxLifetimeSeconds`, and are not closed yet. */
  readonly expiredCount: number;
  /** The option of that name, or a function that does nothing. */
  readonly log: (message: string, ...more: any[]) => void;
  /** The class of its clients. */
  readonly Client: new (config?: any) => Client;
  /** What makes its promises. */
  readonly Promise: PromiseConstructorLike;

  /** Connections, those that are being opened included. */
  readonly totalCount: number;
  /** Connections with nothing in flight that are not lent. */
  readonly idleCount: number;
  /** Queries and `connect()` calls that have no connection yet. */
  readonly waitingCount: number;
  /** Whether {@link Pool.end} was called. */
  readonly ending: boolean;

  /**
   * A client of one's own, until its {@link PoolClient.release}. Waits until one is free,
   * {@link ClientOptions.connectionTimeoutMillis} at most. Rejects with a {@link PoolError}, or with what
   * {@link Client.connect} rejects with.
   */
  connect(): Promise<PoolClient>;
  connect(
    callback: Callback<
      [error: Error | undefined, client: PoolClient | undefined, release: PoolClient['release']]
    >,
  ): void;

  /**
   * Calls the handler for each notification on a channel, in the order in which the server sends them.
   * All channels share one connection beside those of the pool. It is made again when it is lost, for as
   * long as anybody listens; see {@link ListenOptions.onGap}. It keeps the process alive, except with
   * {@link PoolOptions.allowExitOnIdle}. What a handler throws is an uncaught exception.
   *
   * Resolves when the server listens. Rejects with a {@link ParameterError}, a {@link PoolError}, or with
   * what {@link Client.connect} rejects with; but while others listen already it waits for a server that
   * went away, {@link ClientOptions.connectionTimeoutMillis} at most.
   * @param channel taken as it is, upper and lower case differ; 63 bytes of UTF-8 at most
   */
  listen(
    channel: string,
    handler: (payload: string, source: NotificationSource) => void,
    options?: ListenOptions,
  ): Promise<Subscription>;

  /**
   * Sends a notification, on a shared connection and in a transaction of its own. Resolves when it is
   * committed; rejects as {@link Queryable.query} does.
   * @param payload less than 8000 bytes. Default: empty
   */
  notify(channel: string, payload?: string): Promise<void>;

  /**
   * The pool of the option `replicas`, for what only reads; it ends with this one. Without that option it
   * is this pool itself. Nothing else goes there, whatever its text.
   */
  readonly read: Pool;

  /**
   * How far it was written until now, as an LSN: for the `after` of a read that is to see it. To be asked
   * when what was written is committed.
   */
  walPosition(): Promise<string>;

  /** Counts and states, as they are now: docs/performance.md says how to read them. */
  stats(): PoolStats;

  /**
   * Takes nothing more, finishes what is in flight and what waits, waits for the clients that are lent,
   * and closes all connections. The second call rejects with a {@link PoolError}.
   */
  end(): Promise<void>;
  end(callback: Callback<[error?: Error | null]>): void;

  /** {@link Pool.end}, or the wait for it if it was called; for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;

  /** Listens to one of the {@link PoolEvents}. `once()`, `off()` and their kin: as in Node.js. */
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

/** The two formats of the protocol. */
export type TypeFormat = 'text' | 'binary';

/** Makes a JavaScript value of what the server sent; never called for NULL. */
export type TypeParser<Input = string> = (value: Input) => any;

/** Whatever has parsers: {@link types}, a {@link TypeOverrides}, a {@link Client} or your own. */
export interface TypeSource {
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;
}

/** OIDs of the types that come with PostgreSQL, by name. */
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

/** The parsers of the process: those of the package `pg-types`, which `pg` uses too. */
export const types: {
  /**
   * Results get text; a parser for `'binary'` is kept, but nothing calls it.
   * @param parser null for none: the text itself
   * @throws {TypeError} for an oid, format or parser that is none
   */
  setTypeParser(oid: number, parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'text', parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'binary', parser: TypeParser<Buffer> | null): void;
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;
  readonly builtins: TypeOids;
  readonly arrayParser: {
    /** @param transform for each element that is not NULL */
    create(text: string, transform?: TypeParser): { parse(): any[] };
  };
};

/** Parsers of its own first, then those of another source: for `types` in options and queries. */
export class TypeOverrides implements TypeSource {
  /** @param userTypes what to ask for all others; default: {@link types} */
  constructor(userTypes?: TypeSource | null);
  /** Its own parsers of text, by OID. */
  text: Record<number, TypeParser | null | undefined>;
  /** Kept as in `pg`; nothing calls them. */
  binary: Record<number, TypeParser<Buffer> | null | undefined>;
  /** Its own parsers of a format. Default: text. */
  getOverrides(format?: string): Record<number, TypeParser<any> | null | undefined>;
  /** @param parser null returns to the parser underneath */
  setTypeParser(oid: number, parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'text', parser: TypeParser | null): void;
  setTypeParser(oid: number, format: 'binary', parser: TypeParser<Buffer> | null): void;
  getTypeParser(oid: number, format?: TypeFormat): TypeParser<any>;
}

// --- Quoting -----------------------------------------------------------------------

/** The name in double quotes, for the places of SQL that take no parameter: names of tables and columns. */
export function escapeIdentifier(name: string): string;

/** The text as a string literal, for the places of SQL that take no parameter, such as those of DDL. */
export function escapeLiteral(text: string): string;

// --- Errors ------------------------------------------------------------------------

/**
 * What became of the query:
 * - not-run: nothing of it lasts. It was never sent, was skipped, or failed and was rolled back
 * - unknown: it was sent and the server's answer is incomplete or cannot be read. It may have been
 *   committed, so do not simply repeat it
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
  /** What became of the query; of what is no query's error, `'not-run'`. */
  outcome: Outcome;
  /** The error underneath, if there is one. */
  cause?: unknown;
  /** More of what happened, if there is more. */
  detail: string | undefined;
  /** What to do, where that is known. */
  hint: string | undefined;
  /** Text of the query that it is about, with {@link ClientOptions.queryInErrors}. */
  query?: string | undefined;
}

/** The value of an option is wrong, or what it asks for cannot be had. */
export class OptionError extends ConduitError {
  constructor(message: string, options?: { cause?: unknown });
  code: 'ERR_PG_CONDUIT_OPTION';
}

/** A query's text or parameter cannot be sent. */
export class ParameterError extends ConduitError {
  constructor(message: string, options?: { cause?: unknown });
  code: 'ERR_PG_CONDUIT_PARAMETER';
}

/** A statement that may not run where it was sent; the message says what to call instead. */
export class StatementRefusedError extends ConduitError {
  constructor(message: string);
  code: 'ERR_PG_CONDUIT_REFUSED';
}

/**
 * No connection could be made, or it was lost, or it is closed. `code` is the system's
 * (`ECONNREFUSED`, `ENOTFOUND`, `ECONNRESET`, `ETIMEDOUT`, …) where there is one, else
 * `ERR_PG_CONDUIT_TLS` if TLS, the certificates or the channel binding that were asked for could not be
 * had, `ERR_PG_CONDUIT_HOOK` if a password function, `onConnect` or `verify` has thrown something that
 * cannot be passed on itself, else `ERR_PG_CONDUIT_CONNECTION`. `cause` holds what was thrown, or the server's last words, if there were any.
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
  /** The system's number of it, negative, as in Node's own errors. */
  errno?: number | undefined;
  /** What failed: `connect`, `read`, `write`, `getaddrinfo`. */
  syscall?: string | undefined;
  /** What was tried: an address, or the path of a unix socket. */
  address?: string | undefined;
  /** Of the address; a unix socket has none. */
  port?: number | undefined;
  /** What could not be found. */
  hostname?: string | undefined;
  /** Of each address, if there were several. */
  errors?: Error[] | undefined;
}

/** Codes of a {@link TransactionError}. */
export type TransactionErrorCode =
  /** It was rolled back, since a statement has failed; see `cause`. */
  | 'ERR_PG_CONDUIT_TRANSACTION_ABORTED'
  /** It has ended and takes no statements. */
  | 'ERR_PG_CONDUIT_TRANSACTION_ENDED';

/**
 * A transaction was rolled back though its function did not throw, or has ended. `outcome` is
 * `'not-run'`, unless BEGIN itself has failed.
 */
export class TransactionError extends ConduitError {
  code: TransactionErrorCode;
}

/**
 * The caller has given up waiting, by the query's `signal` (name `AbortError`, `cause` the signal's reason)
 * or its time limit. `outcome` is `'unknown'` when the server may be done with it, or still runs it.
 */
export class QueryAbortedError extends ConduitError {
  code: 'ABORT_ERR' | 'ERR_PG_CONDUIT_QUERY_TIMEOUT';
}

/** Codes of a {@link PoolError}. */
export type PoolErrorCode =
  /** `end()` was called. */
  | 'ERR_PG_CONDUIT_POOL_ENDED'
  /** As many are waiting as `maxWaiting` allows. */
  | 'ERR_PG_CONDUIT_POOL_FULL'
  /** The wait took longer than `connectionTimeoutMillis`. */
  | 'ERR_PG_CONDUIT_POOL_TIMEOUT'
  /** Thrown by `release()`: it was called before. */
  | 'ERR_PG_CONDUIT_RELEASED';

/** The pool did not run it. */
export class PoolError extends ConduitError {
  code: PoolErrorCode;
}

/**
 * A value that the server sent cannot be represented, or its parser threw (then `cause`). The query
 * itself was run, so `outcome` is `'unknown'`.
 */
export class ResultError extends ConduitError {
  constructor(message: string, options?: { cause?: unknown });
  code: 'ERR_PG_CONDUIT_RESULT';
  outcome: 'unknown';
}

/**
 * Fields of the server's errors and notices, under their names in `pg` (PostgreSQL documentation, "Error and
 * Notice Message Fields"). Those that the server has not sent are undefined.
 */
export interface ErrorFields {
  /** `ERROR`, `FATAL`, `NOTICE`, …, perhaps translated. */
  severity: string | undefined;
  /** More of it, perhaps with values of the row. */
  detail: string | undefined;
  /** What to do, as the server sees it. */
  hint: string | undefined;
  /** Position in the statement's text, in characters, from 1. */
  position: string | undefined;
  /** Position in `internalQuery`. */
  internalPosition: string | undefined;
  /** A statement that a function has made. */
  internalQuery: string | undefined;
  /** Where it happened: the stack of functions, or the line of a COPY. */
  where: string | undefined;
  /** Of the table, the type or the constraint. */
  schema: string | undefined;
  table: string | undefined;
  column: string | undefined;
  dataType: string | undefined;
  /** The constraint that was violated: by it an application tells which rule it was. */
  constraint: string | undefined;
  /** File, line and function of the server's source that has reported it. */
  file: string | undefined;
  line: string | undefined;
  routine: string | undefined;
}

export interface DatabaseError extends ErrorFields {}

/**
 * What the server said. `code` is the SQLSTATE (PostgreSQL documentation, appendix A), and `name` is
 * `'error'`, as in `pg`.
 */
export class DatabaseError extends ConduitError {
  /** @param fields by the one-letter codes of the protocol: `{ S: 'ERROR', C: '23505', M: '…' }` */
  constructor(fields: Readonly<Record<string, string>>);
  /** Bytes of the server's message, as in `pg`. */
  length: number;
}

// --- The shape of `pg` -----------------------------------------------------------

/** What `query()` of a client takes besides texts and configs, and returns. */
export interface Submittable {
  /** Called by `query()` with {@link Client.connection}. */
  submit(connection: any): any;
}

/**
 * `Query` of `pg`, to be given to `query()` of a client: tells of its rows by events, or calls back.
 * {@link Streamable.stream} holds the server when nobody reads; this does not.
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
  /** One row, as it comes. */
  on(event: 'row', listener: Callback<[row: Row, result: ResultBuilder<Row>]>): this;
  /** All is there, and committed. */
  on(event: 'end', listener: Callback<[result: ResultBuilder<Row>]>): this;
  /** It has failed. */
  on(event: 'error', listener: (error: Error) => void): this;
  /** @hidden as {@link Query.on} */
  once(event: 'row', listener: Callback<[row: Row, result: ResultBuilder<Row>]>): this;
  /** @hidden as {@link Query.on} */
  once(event: 'end', listener: Callback<[result: ResultBuilder<Row>]>): this;
  /** @hidden as {@link Query.on} */
  once(event: 'error', listener: (error: Error) => void): this;
}

/** What {@link Query} takes. */
export interface SubmittedConfig<Values = any> extends QueryConfig<Values> {
  /** Rows that are asked for at a time; without it all of them. */
  rows?: number | undefined;
}

/** What the server says of its session when it is connected. */
export interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}

/** `client.connection` of `pg`, as far as others look at it: the connection itself is libpq's. */
export class Connection extends EventEmitter {
  /** Texts of what submittables have prepared, by their names. */
  parsedStatements: Record<string, string>;
  /** The server has told a parameter of the session. */
  on(event: 'parameterStatus', listener: (message: ParameterStatus) => void): this;
  /** @hidden as {@link Connection.on} */
  once(event: 'parameterStatus', listener: (message: ParameterStatus) => void): this;
  /** @hidden as in Node.js */
  on(event: string | symbol, listener: (...args: any[]) => void): this;
  /** @hidden as in Node.js */
  once(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** {@link ClientOptions} that count for whoever says nothing else, set for the whole process. */
export interface Defaults {
  [name: string]: any;
  /** `localhost`. */
  host: string;
  /** 5432. */
  port: number;
  /** 10. */
  max: number;
  /** Dates are sent in UTC, and not in the time zone of the process. Default: false. */
  parseInputDatesAsUTC?: boolean | undefined;
  /** Only to be set: `true` makes numbers of `bigint` for everybody. See {@link ClientOptions.int8}. */
  parseInt8?: boolean | undefined;
}

/** As in `pg`: {@link Defaults} of the process. What the environment says wins over them. */
export const defaults: Defaults;

/** What `pg` has under this name and in `pg/lib/utils`. */
export const utils: {
  /** What a value becomes on its way to the server. */
  prepareValue(value: unknown): string | Buffer | null;
  /** The arguments of `query()` as one object. */
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
/** {@link PoolOptions}, under its name in `@types/pg`. */
export type PoolConfig = PoolOptions;
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
/** What {@link Client.getTransactionStatus} returns, under its name in `@types/pg`. */
export type TransactionStatus = 'I' | 'T' | 'E' | null;
/** What listeners of {@link Query} get, under its name in `@types/pg`. */
export type ResultBuilder<Row = any> = Result<Row> & { addRow(row: Row): void };
