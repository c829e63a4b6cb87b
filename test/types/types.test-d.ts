// Parsers of values, and quoting.

import { expectAssignable, expectError, expectType } from 'tsd';
import {
  TypeOverrides,
  defaults,
  escapeIdentifier,
  escapeLiteral,
  types,
  type TypeParser,
  type TypeSource,
} from '../..';

defaults.ssl = { rejectUnauthorized: false };
defaults.parseInputDatesAsUTC = true;
defaults.poolSize = 5;
expectError((defaults.host = 5));

expectType<void>(types.setTypeParser(types.builtins.NUMERIC, Number));
expectType<void>(types.setTypeParser(types.builtins.NUMERIC, 'text', (text) => text.length));
expectType<void>(types.setTypeParser(17, 'binary', (bytes) => bytes.byteLength));
expectType<void>(types.setTypeParser(17, null));
expectType<TypeParser<any>>(types.getTypeParser(17));
expectType<number>(types.builtins.INT8);
expectType<any[]>(types.arrayParser.create('{1,2}', Number).parse());
expectError(types.builtins.NONSENSE);
expectError(types.setTypeParser(17));
expectError(types.setTypeParser(17, 'binary', (text: string) => text));
expectError(types.getTypeParser(17, 'hex'));
expectAssignable<TypeSource>(types);

const overrides = new TypeOverrides();
new TypeOverrides(types);
new TypeOverrides(overrides);
expectAssignable<TypeSource>(overrides);
expectType<void>(overrides.setTypeParser(20, BigInt));
expectType<void>(overrides.setTypeParser(20, 'text', null));
expectType<TypeParser<any>>(overrides.getTypeParser(20, 'text'));
expectType<TypeParser<any> | null | undefined>(overrides.getOverrides('text')[20]);
expectType<TypeParser | null | undefined>(overrides.text[20]);
expectError(new TypeOverrides({}));
expectError(overrides.setTypeParser(20, 'hex', Number));

expectType<string>(escapeIdentifier('name'));
expectType<string>(escapeLiteral('text'));
expectError(escapeIdentifier());
