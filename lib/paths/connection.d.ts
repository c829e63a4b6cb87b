// Types of `pg-conduit/lib/connection`, which is `pg/lib/connection` where this stands in the place of `pg`.

import { Connection } from '../index.js';

export = Connection;
