// Types of `pg-conduit/lib/client`, which is `pg/lib/client` where this stands in the place of `pg`.

import { Client } from '../index.js';

export = Client;
