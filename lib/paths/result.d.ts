// Types of `pg-conduit/lib/result`: `pg/lib/result` where this package replaces `pg`.

import { Result } from '../index.js';

export = Result;
