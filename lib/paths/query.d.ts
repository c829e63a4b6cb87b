// Types of `pg-conduit/lib/query`: `pg/lib/query` where this package replaces `pg`.

import { Query } from '../index.js';

export = Query;
