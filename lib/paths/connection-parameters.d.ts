// Types of `pg-conduit/lib/connection-parameters`: `pg/lib/connection-parameters` where
// this package replaces `pg`.

import { ClientOptions, ConnectionParameters as Parameters } from '../index.js';

declare class ConnectionParameters {
  constructor(config?: string | ClientOptions);
}
interface ConnectionParameters extends Parameters {}

export = ConnectionParameters;
