// Client: methods, properties and events.

import { expectAssignable, expectError, expectType } from 'tsd';
import {
  Client,
  ConnectionError,
  types,
  type Description,
  type NoticeMessage,
  type NotificationMessage,
  type TypeParser,
} from '../..';

declare const client: Client;

expectType<Promise<Client>>(client.connect());
expectType<void>(
  client.connect((error, connected) => {
    expectType<Error | null>(error);
    expectType<Client | undefined>(connected);
  }),
);
expectType<void>(client.connect((error) => expectType<Error | null>(error)));
expectType<Promise<void>>(client.end());
expectType<void>(client.end((error) => expectType<Error>(error)));

expectType<number>(client.processID);
expectType<string | undefined>(client.user);
expectType<string | undefined>(client.database);
expectType<string>(client.host);
expectType<number>(client.port);
expectError((client.processID = 1));

expectType<void>(client.ref());
expectType<void>(client.unref());
expectType<string>(client.escapeIdentifier('a'));
expectType<string>(client.escapeLiteral('a'));
expectError(client.escapeIdentifier(1));

expectType<void>(client.setTypeParser(types.builtins.INT8, (text) => BigInt(text)));
expectType<void>(client.setTypeParser(20, 'text', Number));
expectType<void>(client.setTypeParser(20, null));
expectType<TypeParser<any>>(client.getTypeParser(20));
expectType<TypeParser<any>>(client.getTypeParser(20, 'text'));
expectError(client.setTypeParser('int8', Number));
expectError(client.setTypeParser(20, 'json', Number));
expectError(client.release());

expectType<Client>(client.on('connect', () => {}));
client.on('error', (error) => expectType<ConnectionError>(error));
client.once('notice', (notice) => expectType<NoticeMessage>(notice));
client.addListener('notification', (message) => expectType<NotificationMessage>(message));
client.prependListener('drain', () => {});
client.prependOnceListener('end', () => {});
client.off('end', () => {});
client.removeListener('end', () => {});
expectAssignable<NodeJS.EventEmitter>(client);
expectError(client.on('nonsense', () => {}));
expectError(client.on('error', (error: string) => error));

declare const notification: NotificationMessage;
expectType<string>(notification.channel);
expectType<string>(notification.payload);
expectType<number>(notification.processId);
expectType<number>(notification.length);

declare const notice: NoticeMessage;
expectType<string | undefined>(notice.message);
expectType<string | undefined>(notice.severity);
expectType<string | undefined>(notice.code);

// People wrap methods in classes of their own.
class Traced extends Client {
  override connect(): Promise<Client>;
  override connect(callback: (...args: any[]) => void): void;
  override connect(): any {
    return super.connect();
  }
}
expectAssignable<Client>(new Traced());
expectType<Promise<Description>>(client.describe('select $1::int as one'));
