// Types of `pg-conduit/lib/defaults`, which is `pg/lib/defaults` where this stands in the place of `pg`.

import { defaults } from '../index.js';

export = defaults;
