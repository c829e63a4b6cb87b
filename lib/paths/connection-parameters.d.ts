// Types of `pg-conduit/lib/connection-parameters`, which is `pg/lib/connection-parameters` where this
// stands in the place of `pg`.

import { ClientOptions, ConnectionParameters as Parameters } from '../index.js';

declare class ConnectionParameters {
  constructor(config?: string | ClientOptions);
}
interface ConnectionParameters extends Parameters {}

export = ConnectionParameters;
