// Types of `pg-conduit/lib/client`: `pg/lib/client` where this package replaces `pg`.

import { Client } from '../index.js';

export = Client;
