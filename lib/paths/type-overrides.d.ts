// Types of `pg-conduit/lib/type-overrides`: `pg/lib/type-overrides` where
// this package replaces `pg`.

import { TypeOverrides } from '../index.js';

export = TypeOverrides;
