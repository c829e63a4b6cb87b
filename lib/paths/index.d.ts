// Types of `pg-conduit/lib/index`: `pg/lib/index` where this package replaces `pg`.

export * from '../index.js';
