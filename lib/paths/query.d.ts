// Types of `pg-conduit/lib/query`, which is `pg/lib/query` where this stands in the place of `pg`.

import { Query } from '../index.js';

export = Query;
