// Types of `pg-conduit/lib/result`, which is `pg/lib/result` where this stands in the place of `pg`.

import { Result } from '../index.js';

export = Result;
