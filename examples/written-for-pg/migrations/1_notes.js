'use strict';

exports.up = (pgm) => {
  pgm.createTable('accounts', {
    id: 'id',
    email: { type: 'text', notNull: true, unique: true },
  });
  pgm.createTable('notes', {
    id: 'id',
    account_id: { type: 'integer', notNull: true, references: 'accounts' },
    body: { type: 'text', notNull: true },
    tags: { type: 'text[]', notNull: true, default: '{}' },
    detail: { type: 'jsonb' },
    made_at: { type: 'timestamptz', notNull: true, default: pgm.func('now()') },
  });
  pgm.createIndex('notes', ['account_id', 'made_at']);
  pgm.sql(`
    insert into accounts (email) select 'user' || i || '@example.com' from generate_series(1, 50) i;
    insert into notes (account_id, body, tags, detail, made_at)
      select 1 + i % 50, 'Note ' || i, array['n' || i % 7, 'ü'], jsonb_build_object('i', i, 'half', i / 2.0),
        timestamptz '2026-01-01 00:00:00Z' + i * interval '1 minute'
      from generate_series(1, 2000) i`);
};

exports.down = (pgm) => {
  pgm.dropTable('notes');
  pgm.dropTable('accounts');
};
