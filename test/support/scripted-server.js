'use strict';

// A server that says what a test tells it to. Left alone it is a sane one, which answers each query
// with its own parameters, so that a row that reaches the wrong caller shows. A test changes what it
// says at the start (`handshake`), to an SSLRequest (`tls`), or to queries (`reply`); each of these
// takes effect with the next connection, or the next turn.

const { pbkdf2Sync, createHash, createHmac, randomBytes } = require('node:crypto');
const m = require('./messages');
const { Relay } = require('./relay');

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;

/** A row for each number; its first column is the first parameter. */
const ECHO = 'select $1::int4 as i, $2::text as t';
const NO_COLUMNS = [];
const ECHO_COLUMNS = [
  { name: 'i', oid: m.OID.int4 },
  { name: 't', oid: m.OID.text },
];

/** What a statement answers. @typedef {{ columns: m.Column[], rows: any[][], tag: string }} Answer */

/**
 * What the driver has said until it waits: up to a Sync, a Query, the end of its COPY.
 * @typedef {object} Turn
 * @property {number} number counted from 1 on each connection
 * @property {string} last type of the message that ends it
 * @property {string[]} texts of the statements that it executes
 * @property {Session} session
 */

const LETTER = (bytes) => String.fromCharCode(bytes[0]);

const PROCESS_ID = 4242;
/** What the driver asks about poolers: that is no turn of a test's. */
const ASKS_PROCESS = 'select pg_catalog.pg_backend_pid()';

/** What a sane one says after authentication. */
const SESSION_START = [
  m.parameterStatus('server_version', '15.3'),
  m.parameterStatus('client_encoding', 'UTF8'),
  m.parameterStatus('server_encoding', 'UTF8'),
  m.parameterStatus('standard_conforming_strings', 'on'),
  m.parameterStatus('integer_datetimes', 'on'),
  m.backendKeyData(PROCESS_ID, 'key!'),
  m.ready(),
];

/** What the driver asks by itself. @type {Record<string, () => Answer>} */
const OWN_STATEMENTS = {
  [ASKS_PROCESS]: () => ({
    columns: [{ name: 'pg_backend_pid', oid: m.OID.int4 }],
    rows: [[String(PROCESS_ID)]],
    tag: 'SELECT 1',
  }),
  "SELECT pg_catalog.current_setting('extra_float_digits')": () => ({
    columns: [{ name: 'current_setting', oid: m.OID.text }],
    rows: [['1']],
    tag: 'SELECT 1',
  }),
};

class Session {
  #server;
  #socket;
  #rest = Buffer.alloc(0);
  #handshake;
  #cutAt;
  /** Bytes that have been said. */
  said = 0;
  #isOver = false;
  #isStarted = false;
  #turns = 0;
  /** @type {Map<string, string>} texts of prepared statements */
  #prepared = new Map();
  /** Of the turn so far. @type {Buffer[]} */
  #answers = [];
  /** @type {string[]} */
  #texts = [];
  #bound = { name: '', values: [], isBinary: false };

  /** @param {ScriptedServer} server @param {import('node:net').Socket} socket */
  constructor(server, socket) {
    this.#server = server;
    this.#socket = socket;
    this.#handshake = [...server.handshake];
    this.#cutAt = server.cutAt;
    server.cutAt = Infinity;
    socket.setNoDelay(true);
    if (this.#cutAt === 0) this.end(server.cutBy);
    this.#listen();
  }

  #listen() {
    this.#socket.on('data', (bytes) => this.#read(bytes));
  }

  /** @param {Buffer | Buffer[] | undefined} said */
  say(said) {
    if (said === undefined || this.#isOver) return;
    const bytes = Array.isArray(said) ? Buffer.concat(said) : said;
    const left = this.#cutAt - this.said;
    this.said += bytes.length;
    if (bytes.length < left) {
      this.#socket.write(bytes);
      return;
    }
    this.#isOver = true;
    this.#socket.write(bytes.subarray(0, left), () => this.end(this.#server.cutBy));
  }

  /** @param {'end' | 'reset'} [how] */
  end(how = 'end') {
    this.#isOver = true;
    if (how === 'end') this.#socket.end();
    else this.#socket.resetAndDestroy();
  }

  /** What was said waits to be read. */
  get isFull() {
    return this.#socket.writableLength > 0;
  }

  /** Reads nothing any more. */
  pause() {
    this.#socket.pause();
  }

  /** @param {Buffer} bytes */
  #read(bytes) {
    if (this.#isOver) return;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const isFirst = !this.#isStarted;
      const head = isFirst ? 0 : 1;
      if (this.#rest.length < head + 4) return;
      const end = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < end) return;
      const type = isFirst ? '' : LETTER(this.#rest);
      const body = this.#rest.subarray(head + 4, end);
      this.#rest = this.#rest.subarray(end);
      if (isFirst) this.#start(body);
      else this.#take(type, body);
    }
  }

  /** @param {Buffer} body */
  #start(body) {
    const code = body.readInt32BE(0);
    if (code === CANCEL_REQUEST) {
      ++this.#server.cancels;
      this.end();
    } else if (code === SSL_REQUEST || code === GSS_REQUEST) {
      this.say(this.#server.tls);
      if (this.#server.secure !== undefined) this.#secure(this.#server.secure);
    } else {
      this.#isStarted = true;
      ++this.#server.count;
      this.say(this.#handshake.shift()?.(body));
    }
  }

  /** @param {(socket: import('node:net').Socket) => any} secure */
  #secure(secure) {
    this.#socket.removeAllListeners('data');
    this.#socket = secure(this.#socket);
    this.#socket.on('error', () => {});
    this.#listen();
  }

  /** @param {string} type @param {Buffer} body */
  #take(type, body) {
    if (type === 'p' && this.#handshake.length > 0) {
      this.say(this.#handshake.shift()?.(body));
      return;
    }
    switch (type) {
      case 'P': {
        const { name, text } = m.readParse(body);
        this.#prepared.set(name, text);
        this.#answers.push(m.PARSE_COMPLETE);
        break;
      }
      case 'B':
        this.#bound = m.readBind(body);
        this.#answers.push(m.BIND_COMPLETE);
        break;
      case 'D':
      case 'E':
        this.#execute(type, this.#prepared.get(this.#bound.name) ?? '');
        break;
      case 'C':
        this.#answers.push(m.CLOSE_COMPLETE);
        break;
      case 'Q':
        this.#query(body.toString('utf8', 0, body.length - 1));
        this.#endTurn(type);
        break;
      case 'S':
        this.#answers.push(m.ready());
        this.#endTurn(type);
        break;
      case 'c':
        this.#answers.push(m.commandComplete('COPY 1'), m.ready());
        this.#endTurn(type);
        break;
      case 'f':
        this.#answers.push(
          m.errorMessage({ S: 'ERROR', V: 'ERROR', C: '57014', M: 'COPY failed' }),
        );
        this.#answers.push(m.ready());
        this.#endTurn(type);
        break;
      case 'X':
        this.end();
        break;
      default:
    }
  }

  /** @param {string} text */
  #answerTo(text) {
    return this.#server.statements[text] ?? OWN_STATEMENTS[text] ?? echo;
  }

  /** @param {string} type @param {string} text */
  #execute(type, text) {
    const { values, isBinary } = this.#bound;
    if (text === '') {
      this.#answers.push(type === 'D' ? m.NO_DATA : m.EMPTY_QUERY);
      if (type === 'E') this.#texts.push(text);
      return;
    }
    const { columns, rows, tag } = this.#answerTo(text)(values, isBinary, type);
    if (type === 'D') {
      const format = isBinary ? 1 : 0;
      this.#answers.push(columns.length > 0 ? m.rowDescription(columns, format) : m.NO_DATA);
    } else {
      this.#texts.push(text);
      this.#answers.push(...rows.map((row) => m.dataRow(row)), m.commandComplete(tag));
    }
  }

  /** A text by the simple protocol: of several statements each has its own text as the row. @param {string} text */
  #query(text) {
    this.#texts.push(text);
    if (/^copy .* from stdin/i.test(text)) {
      this.#answers.push(m.copyResponse('G'));
      return;
    }
    if (/^copy .* to stdout/i.test(text)) {
      const rows = ['one\n', 'two\n'].map((row) => m.message('d', Buffer.from(row)));
      this.#answers.push(m.copyResponse('H'), ...rows, m.COPY_DONE, m.commandComplete('COPY 2'));
    } else if (text === '') {
      this.#answers.push(m.EMPTY_QUERY);
    } else if (!text.includes(';')) {
      const { columns, rows, tag } = this.#answerTo(text)([], false, 'Q');
      if (columns.length > 0) this.#answers.push(m.rowDescription(columns, 0));
      this.#answers.push(...rows.map((row) => m.dataRow(row)), m.commandComplete(tag));
    } else {
      for (const statement of text.split(';')) {
        this.#answers.push(m.rowDescription([{ name: 'text', oid: m.OID.text }]));
        this.#answers.push(m.dataRow([statement.trim()]), m.commandComplete('SELECT 1'));
      }
    }
    this.#answers.push(m.ready());
  }

  /** @param {string} last */
  #endTurn(last) {
    const sane = this.#answers;
    const texts = this.#texts;
    this.#answers = [];
    this.#texts = [];
    if (texts.length === 1 && texts[0] === ASKS_PROCESS) {
      this.say(sane);
      return;
    }
    this.say(this.#server.reply(sane, { number: ++this.#turns, last, texts, session: this }));
  }
}

class ScriptedServer extends Relay {
  /** Connections so far, cancel requests apart. */
  count = 0;
  cancels = 0;
  /** What is said to an SSLRequest or GSSENCRequest. */
  tls = Buffer.from('N');
  /** What makes TLS of a socket then. @type {((socket: import('node:net').Socket) => any) | undefined} */
  secure = undefined;
  /**
   * What is said to the startup message, and to each answer that the driver gives then.
   * @type {((body: Buffer) => Buffer | Buffer[])[]}
   */
  handshake = [() => [m.AUTHENTICATION_OK, ...SESSION_START]];
  /**
   * What the driver gets for a turn.
   * @type {(sane: Buffer[], turn: Turn) => Buffer | Buffer[] | undefined}
   */
  reply = (sane) => sane;
  /** Answers to texts of a test's own. @type {Record<string, (values: any[], isBinary: boolean, type: string) => Answer>} */
  statements = {};
  /** After so many bytes the next connection ends: by its end, or by a reset. */
  cutAt = Infinity;
  /** @type {'end' | 'reset'} */
  cutBy = 'end';
  /** @type {Set<Session>} */
  sessions = new Set();

  /** Sane again, from now on. */
  recover() {
    const { tls, secure, handshake, reply } = new ScriptedServer();
    Object.assign(this, { tls, secure, handshake, reply });
  }

  /** @param {Record<string, any>} [given] */
  options(given) {
    return super.options({ user: 'somebody', database: 'd', options: undefined, ...given });
  }

  /** @param {import('node:net').Socket} socket */
  receive(socket) {
    const session = new Session(this, socket);
    this.sessions.add(session);
    socket.on('close', () => this.sessions.delete(session));
  }

  /** Says something that nobody has asked for, on each connection. @param {Buffer} bytes */
  say(bytes) {
    for (const session of this.sessions) session.say(bytes);
  }
}

/** @param {(Buffer | null)[]} values @param {boolean} isBinary @returns {Answer} */
function echo(values, isBinary) {
  if (values.length === 0) return { columns: NO_COLUMNS, rows: [], tag: 'INSERT 0 1' };
  const [number, text = null] = values;
  const i = isBinary ? m.int32(Number(number)) : number;
  return { columns: ECHO_COLUMNS, rows: [[i, text]], tag: 'SELECT 1' };
}

/**
 * A handshake that asks for a password by SCRAM-SHA-256.
 * @param {string} password
 * @param {{ iterations?: number, last?: (signature: string) => string }} [how] what it says last
 */
function scram(password, { iterations = 4096, last = (signature) => `v=${signature}` } = {}) {
  let clientFirst = '';
  let serverFirst = '';
  const salt = randomBytes(16);
  return [
    () => m.authentication(10, Buffer.concat([m.cstring('SCRAM-SHA-256'), Buffer.alloc(1)])),
    (body) => {
      clientFirst = body.toString().slice(body.indexOf('n=,'));
      serverFirst = `r=${/r=(.*)/.exec(clientFirst)?.[1]}server,s=${salt.toString('base64')},i=${iterations}`;
      return m.authentication(11, Buffer.from(serverFirst));
    },
    (body) => {
      const [withoutProof, proof] = body.toString().split(',p=');
      const said = [clientFirst, serverFirst, withoutProof].join(',');
      const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
      const sign = (key, text) => createHmac('sha256', key).update(text).digest();
      const clientKey = sign(salted, 'Client Key');
      const expected = sign(createHash('sha256').update(clientKey).digest(), said).map(
        (byte, index) => byte ^ clientKey[index],
      );
      if (proof !== Buffer.from(expected).toString('base64')) return m.errorMessage(WRONG_PASSWORD);
      const signature = sign(sign(salted, 'Server Key'), said).toString('base64');
      return [
        m.authentication(12, Buffer.from(last(signature))),
        m.AUTHENTICATION_OK,
        ...SESSION_START,
      ];
    },
  ];
}

const WRONG_PASSWORD = { S: 'FATAL', V: 'FATAL', C: '28P01', M: 'wrong password' };

module.exports = { ECHO, SESSION_START, ScriptedServer, WRONG_PASSWORD, scram };
