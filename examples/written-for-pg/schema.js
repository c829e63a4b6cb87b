'use strict';

// The tables as Drizzle knows them; migrations/ makes them.

const { relations } = require('drizzle-orm');
const { integer, jsonb, pgTable, serial, text, timestamp } = require('drizzle-orm/pg-core');

const accounts = pgTable('accounts', { id: serial('id').primaryKey(), email: text('email') });

const notes = pgTable('notes', {
  id: serial('id').primaryKey(),
  accountId: integer('account_id'),
  body: text('body'),
  tags: text('tags').array(),
  detail: jsonb('detail'),
  madeAt: timestamp('made_at', { withTimezone: true }),
});

module.exports = {
  accounts,
  notes,
  accountRelations: relations(accounts, ({ many }) => ({ notes: many(notes) })),
  noteRelations: relations(notes, ({ one }) => ({
    account: one(accounts, { fields: [notes.accountId], references: [accounts.id] }),
  })),
};
