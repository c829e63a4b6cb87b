'use strict';

// Route handlers in the form that Next.js has for them (app/api/notes/route.js): they get a Request of
// the web, and return a Response. Loaded by server.js; in Next.js by its router.

const { pool } = require('./db');

async function GET() {
  const { rows } = await pool.query('select id, body from note order by id desc limit 20');
  return Response.json(rows);
}

/** @param {Request} request */
async function POST(request) {
  const { body } = await request.json();
  if (typeof body !== 'string') return Response.json({ error: 'no body' }, { status: 400 });
  const { rows } = await pool.query('insert into note (body) values ($1) returning id, body', [
    body,
  ]);
  return Response.json(rows[0], { status: 201 });
}

module.exports = { GET, POST };
