// What people write in TypeScript for `pg`: it compiles with @types/pg, and so it has to with ours.

import pg, {
  Client,
  DatabaseError,
  Pool,
  Query,
  Result,
  TypeOverrides as Overrides,
  defaults,
  types,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  type FieldDef,
  type Notification,
  type PoolClient,
  type PoolConfig,
  type QueryArrayConfig,
  type QueryArrayResult,
  type QueryConfig,
  type QueryConfigValues,
  type QueryResult,
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
