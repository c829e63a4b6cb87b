// Types of `pg-conduit/lib/stream`: `pg/lib/stream` where this package replaces `pg`.

import { Duplex } from 'node:stream';
import { ConnectionOptions } from 'node:tls';

/** A socket that is not connected. */
export function getStream(ssl?: unknown): Duplex;
/** A socket with TLS. */
export function getSecureStream(options: ConnectionOptions): Duplex;
