// Types of `pg-conduit/lib/defaults`: `pg/lib/defaults` where this package replaces `pg`.

import { defaults } from '../index.js';

export = defaults;
