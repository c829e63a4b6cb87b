// Types of `pg-conduit/lib/type-overrides`, which is `pg/lib/type-overrides` where this stands in the place of `pg`.

import { TypeOverrides } from '../index.js';

export = TypeOverrides;
