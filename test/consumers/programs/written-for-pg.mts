// What people write in TypeScript for `pg`: it compiles with @types/pg, and so it has to with ours.

import type { ConnectionOptions } from 'node:tls';

import pg, {
  Client,
  Connection,
  DatabaseError,
  Events,
  Pool,
  Query,
  Result,
  TypeOverrides as Overrides,
  defaults,
  native,
  types,
  type BindConfig,
  type ClientBase,
  type ClientConfig,
  type ConnectionConfig,
  type CustomTypesConfig,
  type Defaults,
  type ExecuteConfig,
  type FieldDef,
  type MessageConfig,
  type Notification,
  type PoolClient,
  type PoolConfig,
  type PoolOptions,
  type QueryArrayConfig,
  type QueryArrayResult,
  type QueryConfig,
  type QueryConfigValues,
  type QueryParse,
  type QueryResult,
  type QueryResultBase,
  type QueryResultRow,
  type ResultBuilder,
  type Submittable,
  type TransactionStatus,
} from 'pg';
import TypeOverrides from 'pg/lib/type-overrides';

interface User {
  id: number;
  email: string | null;
}

// Options come from the environment, by conditions, and from objects of their own.
const fromEnvironment: PoolConfig = {
  connectionString: process.env.DATABASE_URL,
  host: process.env.PGHOST,
  password: process.env.PGPASSWORD,
  application_name: process.env.APP,
  ssl: process.env.CA ? { ca: process.env.CA, rejectUnauthorized: true } : undefined,
  max: process.env.CI ? 2 : undefined,
  idleTimeoutMillis: null,
  statement_timeout: false,
  log: (...messages) => console.log(...messages),
  onConnect: (client) => void client.query('set timezone to utc'),
  verify: (client, done) => client.query('select 1', (error) => done(error)),
  Promise,
};
const clientConfig: ClientConfig = { ...fromEnvironment, password: async () => 'secret' };
const pool = new Pool(fromEnvironment);
const client = new Client(clientConfig);
const other = new pg.Pool({ Client: class extends Client {}, allowExitOnIdle: true, maxUses: 9 });
new Client(process.env.DATABASE_URL);
new Client();
defaults.poolSize = 5;
defaults.parseInt8 = true;
defaults.user = undefined;

// Connecting
const connected: Client = await client.connect();
client.connect((error: Error) => console.error(error?.stack));
const lent: PoolClient = await pool.connect();
pool.connect((error, borrowed, done) => {
  if (error) throw error;
  borrowed?.query('select 1', () => done());
});
pool.connect((error: Error | undefined, borrowed?: PoolClient, done?: (how?: any) => void) =>
  done?.(error ?? borrowed),
);
lent.release(true);
lent.release(new Error('not again'));

// Queries
async function find<Row extends QueryResultRow, Values extends unknown[]>(
  on: Pool | ClientBase,
  text: string,
  values?: QueryConfigValues<Values>,
): Promise<Row[]> {
  const result: QueryResult<Row> = await on.query<Row, Values>(text, values);
  return result.rows;
}
const [user] = await find<User, [number]>(pool, 'select * from users where id = $1', [1]);
console.log(user?.email ?? 'nobody');
const config: QueryConfig<[number]> = { text: 'select $1', values: [1], name: process.env.NAME };
const { rows, rowCount, fields, command, oid }: QueryResult<User> = await client.query(config);
const summary: string = command + (rowCount ?? 0) + oid.toFixed() + rows.length;
const columns: FieldDef[] = fields;
console.log(summary, columns[0]?.dataTypeID);
pool.query('select 1').then(({ rows: [first] }) => first.anything);
pool.query<User>('select 1', [1], (error, result) => {
  if (error) throw error;
  for (const { email } of result.rows) console.log(email?.length);
});
client.query('select 1', (error: Error, result: QueryResult<User>) => [error, result.rows]);
const [users, counts] = await Promise.all([
  pool.query<User>('select * from users'),
  pool.query<{ count: string }>('select count(*) from users'),
]);
console.log(users.rows[0]?.id, counts.rows[0]?.count);
const inArrays: QueryArrayConfig = { text: 'select 1, 2', rowMode: 'array' };
const arrays: QueryArrayResult<[number, number]> = await pool.query<[number, number]>(inArrays);
console.log(arrays.rows[0]?.[1].toFixed());
pool.query({ text: 'select 1', rowMode: 'array' }).then((result) => result.rows[0]?.[0]);
const run: (text: string, values?: any[]) => Promise<QueryResult> = (text, values) =>
  pool.query(text, values);
type Answer = Awaited<ReturnType<typeof run>>;
const nobody: Answer = new Result('array', types);

// Query, and what there is of its kind
const query = new Query<User>('select * from users', (error, result) => [error, result.rows]);
query.on('row', (row: User, result?: ResultBuilder<User>) => result?.addRow(row));
query.on('end', (result: ResultBuilder<User>) => console.log(result.rowCount));
query.on('error', (error: Error) => console.error(error));
const submittable: Submittable = client.query(query);
console.log(submittable, nobody.rows);

// Events
pool.on('connect', (opened: PoolClient) => opened.query('set search_path = app'));
pool.on('acquire', (borrowed) => borrowed.release());
pool.on('remove', (closed: PoolClient) => closed.removeAllListeners());
pool.on('release', (error: Error, given: PoolClient) => console.log(error, given));
pool.on('error', (error, lost) => console.error(error.message, lost.getTransactionStatus()));
client.on('error', (error: Error) => console.error(error.stack));
client.on('notice', (notice) => console.log(notice.severity, notice.message));
client.on('notification', ({ channel, payload }: Notification) => {
  const text: string | undefined = payload;
  console.log(channel, text);
});
client.on('end', () => client.removeAllListeners('error'));
client.connection.on('parameterStatus', (message) => message);

// Parsers
const parsers: CustomTypesConfig = { getTypeParser: () => (value: string) => value };
const overrides = new TypeOverrides(parsers);
overrides.setTypeParser(types.builtins.INT8, BigInt);
client.setTypeParser(20, (value) => BigInt(value));
types.setTypeParser(types.builtins.NUMERIC, 'text', parseFloat);
types.setTypeParser(1082, (value: string) => value);
pool.query({ text: 'select 1', types: new Overrides(types) });

// Errors
try {
  await connected.query('insert into users values (1)');
} catch (error) {
  if (!(error instanceof DatabaseError)) throw error;
  const code: string | undefined = error.code;
  console.log(code, error.constraint, error.detail?.length, error.table, error.position);
}

// The rest
const status: TransactionStatus = client.getTransactionStatus();
console.log(status, client.user, client.host, client.port.toFixed(), client.ssl);
console.log(pool.options.max.toFixed(), pool.totalCount, pool.idleCount, pool.waitingCount);
console.log(pool.ended, pool.ending, pool.expiredCount, pg.escapeIdentifier('a'));
console.log(client.escapeLiteral('a'), other.listenerCount('error'));
class Audited extends Pool {
  override connect(): Promise<any>;
  override connect(callback: (...args: any[]) => void): void;
  override connect(callback?: any): any {
    return callback ? super.connect(callback) : super.connect();
  }
}
await new Audited().end();
client.end((error: Error) => console.error(error));
pool.end(() => console.log('ended'));

// Callbacks and listeners whose parameters have no types of their own
client.query('select 1', (failure) => console.log(failure.stack));
client.end((failure) => console.log(failure.stack));
pool.query('select 1', [], (failure, result) => console.log(failure.message, result.rows));
client.query({ text: 'select 1', rowMode: 'array' }, (failure, result) => {
  console.log(failure.message, result.rows[0]?.[0]);
});
pool.on('error', (failure, lost: PoolClient) => lost.release(failure));
pool.on('connect', (opened) => opened.release());
pool.on('acquire', (borrowed) => borrowed.release());
pool.on('remove', (closed) => closed.release());
pool.on('release', (failure, given) => [failure.message, given.release]);
const onError: (failure: Error, lost: PoolClient) => void = console.error;
pool.on('error', onError).on('remove', (closed: Client) => closed.end());

// What a client shows, and takes
const secret: string | undefined = client.password;
client.password = 'another';
client.ssl = true;
client.database = undefined;
const pipelines: boolean = client.pipeline;
client.pauseDrain();
client.resumeDrain();
client.copyFrom('copy t from stdin').end();
console.log(secret, pipelines);
pool.options.max = 20;
pool.options.idleTimeoutMillis = null;
pool.options = { ...pool.options, max: 3 };

// Options from elsewhere
const tlsOptions: ConnectionOptions = { key: ['key'], checkServerIdentity: () => undefined };
new Client({ ssl: tlsOptions, client_encoding: process.env.ENCODING, pipeline: true });
const withDefaults: Defaults = { poolSize: 3, reapIntervalMillis: 5, binary: true, ssl: true };
Object.assign(defaults, withDefaults);
const asConnection: ConnectionConfig = clientConfig;
const kept: PoolOptions = pool.options;
const always: number = kept.max + kept.maxUses + kept.maxLifetimeSeconds;
const exits: boolean = kept.allowExitOnIdle;
console.log(asConnection, always, exits);

// Submittables of one's own
class Plain implements Submittable {
  submit = (connection: Connection): void => {
    const parse: QueryParse = { name: '', text: 'select 1', types: [] };
    const bind: BindConfig = {
      portal: '',
      values: [null, 'a', Buffer.alloc(1)],
      valueMapper: (one) => one,
    };
    const execute: ExecuteConfig = { portal: '', rows: '5' };
    const message: MessageConfig = { type: 'P' };
    connection.parse(parse, true);
    connection.bind(bind, true);
    connection.describe(message, true);
    connection.execute(execute, true);
    connection.close(message, false);
    connection.query('select 1');
    connection.flush();
    connection.sync();
    connection.end();
    connection.stream.destroy();
  };
}
const plain: Plain = client.query(new Plain());
console.log(plain, new Connection(clientConfig).listenerCount('end'));
class Bus extends Events {}
new Bus().on('error', (failure: Error, where: Client) => console.error(failure, where.host));

// Names of types
const dateOid: number = types.builtins.DATE;
const kinds: typeof types.builtins = types.builtins;
const builder: ResultBuilder<User> = await client.query<User>('select 1').then((result) => {
  const built: ResultBuilder<User> = Object.assign(result, { addRow: () => {} });
  return built;
});
const base: QueryResultBase = builder;
interface Counted extends QueryResultBase {
  count: number;
}
interface Building extends ResultBuilder<User> {
  done: boolean;
}
interface Mine extends QueryConfig<[number]> {
  label: string;
}
class Repository implements Pick<ClientBase, 'query'> {
  query = client.query.bind(client) as ClientBase['query'];
}
console.log(dateOid, kinds.INT8, base.command, new Repository(), pg.native?.Client, native?.Pool);
console.log({} as Counted, {} as Building, {} as Mine);
class Wrapped extends Client {
  override connect(): Promise<any>;
  override connect(callback: any): void;
  override connect(callback?: any): any {
    return callback ? super.connect(callback) : super.connect();
  }
}
const other2: ClientBase = new Wrapped(clientConfig);
other2.on('error', (failure) => failure.stack).on('notice', ({ severity }) => severity);
const made: () => Promise<PoolClient> = () => pool.connect();
const parsersOfMine: CustomTypesConfig = {
  getTypeParser(id: number, format?: any) {
    return types.getTypeParser(id, format);
  },
};
const {
  rows: [only],
} = await pool.query<{ n: string }>({ text: 'select 1 as n', types: parsersOfMine });
console.log(only?.n, made);
