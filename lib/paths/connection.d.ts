// Types of `pg-conduit/lib/connection`: `pg/lib/connection` where this package replaces `pg`.

import { Connection } from '../index.js';

export = Connection;
