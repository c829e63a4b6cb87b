'use strict';

// The columns that copyRows() writes to: the query for them, and what follows from its answer. Used by rows-role.js.

const { escapeIdentifier, escapeLiteral } = require('../base');
const { findEncoders } = require('./binary-encoders');

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {string} type OID of the type by which values are written: of an enum text, of a domain that of its base
 * @property {boolean} binary whether a binary COPY, and one of text behind it, do what one of text does
 * @property {string | null} expected the type itself, where a text may say that the column must have it
 *
 * What is known of them.
 * @typedef {object} Columns
 * @property {readonly (number | undefined)[]} types OIDs, where they are known
 * @property {import('./binary-encoders').Encoder[] | undefined} encoders of the binary format, if that may be used
 * @property {string | undefined} guard what makes the server refuse a COPY if the types are others by then
 */

/** FirstNormalObjectId of PostgreSQL: a type with a lower OID is the same in each database, and is never dropped. */
const FIRST_OWN_OID = 16384;

/**
 * Only one COPY, of text, will do for other kinds than tables, with triggers of statements, and for columns that the
 * server would refuse. COPY has WHERE since PostgreSQL 12, and reading a column there takes the right to do so.
 * @param {string} target
 * @param {readonly string[]} names
 */
function describeText(target, names) {
  return `select a.attname::text as name,
  (case t.typtype when 'e' then 25 when 'd' then t.typbasetype else t.oid end)::text as type,
  c.relkind in ('r', 'p') and a.attgenerated = ''
    and pg_catalog.has_table_privilege(c.oid, 'insert')
    and not exists (select from pg_catalog.pg_trigger g where g.tgrelid = c.oid and g.tgtype & 1 = 0)
    as binary,
  case when t.oid < ${FIRST_OWN_OID} and pg_catalog.has_column_privilege(c.oid, a.attnum, 'select')
    and pg_catalog.current_setting('server_version_num')::int >= 120000
    then t.typname::text end as expected
from pg_catalog.pg_class c
  join pg_catalog.pg_attribute a on a.attrelid = c.oid
  join pg_catalog.pg_type t on t.oid = a.atttypid
where c.oid = pg_catalog.to_regclass(${escapeLiteral(target)})
  and a.attname in (${names.map(escapeLiteral).join(', ')})
  and a.attnum > 0 and not a.attisdropped`;
}

/**
 * A condition that the server checks when it reads the text, with the table locked as COPY does it, and drops then, as
 * it is always true: that the array of a column's values has this type and no other.
 * @param {readonly Column[]} columns
 */
function guardText(columns) {
  const checks = columns.map(
    ({ name, expected }) =>
      `pg_catalog.array_fill(${escapeIdentifier(name)}, null) operator(pg_catalog.=) ` +
      `null::pg_catalog.${escapeIdentifier(String(expected))}[]`,
  );
  return ` where case when true then true else ${checks.join(' and ')} end`;
}

/**
 * @param {readonly string[]} names
 * @param {readonly Column[]} rows the answer, in any order
 * @returns {Columns}
 */
function readColumns(names, rows) {
  const found = names.map((name) => rows.find((column) => column.name === name));
  const types = found.map((column) => column && Number(column.type));
  const isTable = found.every((column) => column?.binary);
  const isGuardable = isTable && found.every((column) => column?.expected);
  return {
    types,
    encoders: isTable ? findEncoders(types) : undefined,
    guard: isGuardable ? guardText(/** @type {Column[]} */ (found)) : undefined,
  };
}

module.exports = { describeText, readColumns };
