'use strict';

// SQL that the tests of results share: a table, and values of a type as rows and as arrays.

/** A table of which columns and rows are known. */
const ITEMS = `
  create table items (id int4 primary key, label varchar(20), price numeric(10, 2));
  insert into items values (1, 'one', 1.10), (2, 'zwei – ü', null), (3, null, 3);`;

const quote = (text) => (text === null ? 'null' : `'${text.replaceAll("'", "''")}'`);

/** A row for each text, with the text as a value of the type. */
function selectEach(type, texts) {
  const rows = [...texts, null].map((text, index) => `(${index}, ${quote(text)}::text)`);
  return `select n, v::${type} as v from (values ${rows.join(', ')}) as given (n, v) order by n`;
}

/** The same values as arrays: flat, nested, empty, with a lower bound of their own. */
function selectArrays(type, texts) {
  const values = [...texts, null].map((text) => `${quote(text)}::text::${type}`).join(', ');
  const first = `${quote(texts[0])}::text::${type}`;
  return `select array[${values}] as flat, array[[${values}], [${values}]] as nested,
    array[[[${first}], [null::${type}]], [[null::${type}], [${first}]]] as deep, array[]::${type}[] as empty,
    array_fill(${first}, array[2], array[-3]) as bounds, null::${type}[] as none`;
}

module.exports = { ITEMS, quote, selectArrays, selectEach };
