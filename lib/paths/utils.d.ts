// Types of `pg-conduit/lib/utils`: `pg/lib/utils` where this package replaces `pg`.

import { utils } from '../index.js';

export = utils;
