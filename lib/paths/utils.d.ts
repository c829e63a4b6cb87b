// Types of `pg-conduit/lib/utils`, which is `pg/lib/utils` where this stands in the place of `pg`.

import { utils } from '../index.js';

export = utils;
