'use strict';

// Texts that are assembled with their values in them differ in nothing but literals. What their words tell is the same,
// so that it is found out once for all of them (traits.js). Used by registry.js for each text that was not seen before.

const { Traits } = require('./traits');

/** To look at a longer one costs more than it saves. */
const MAX_LENGTH = 2048;

/** Statements without their literals, of which more is known. */
const MAX_TRAITS = 1024;

/** What begins a statement in which no literal is code, or names what the statement does. */
const FIRST_WORD = /^\s*(?:select|insert|update|delete|with|values)\b/i;

/** Functions whose literal says what they do. */
const TELLING = /nextval|currval|setval|current_setting|set_config/i;

const MINUS = '-'.charCodeAt(0);
const ASTERISK = '*'.charCodeAt(0);
const SLASH = '/'.charCodeAt(0);
const DOLLAR = '$'.charCodeAt(0);
const AMPERSAND = '&'.charCodeAt(0);
const QUOTE = "'".charCodeAt(0);
const DOUBLE_QUOTE = '"'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);

/** Kinds of characters. This one is of what is not ASCII, or controls something. */
const NONE = 0;
const OTHER = 1;
const LETTER = 2;
const UNDERSCORE = 3;
const DIGIT = 4;
/** May begin something that contains more than it seems to. */
const SPECIAL = 5;

const KINDS = new Uint8Array(256);
KINDS.fill(OTHER, 32, 127);
for (const character of '\t\n\r') KINDS[character.charCodeAt(0)] = OTHER;
for (const letter of 'abcdefghijklmnopqrstuvwxyz') {
  KINDS[letter.charCodeAt(0)] = LETTER;
  KINDS[letter.toUpperCase().charCodeAt(0)] = LETTER;
}
KINDS['_'.charCodeAt(0)] = UNDERSCORE;
KINDS.fill(DIGIT, ZERO, ZERO + 10);
for (const character of '\'"$-*') KINDS[character.charCodeAt(0)] = SPECIAL;
// A statement ends.
KINDS[';'.charCodeAt(0)] = NONE;

/** @param {number} code */
function isWord(code) {
  const kind = KINDS[code];
  return kind === LETTER || kind === DIGIT || kind === UNDERSCORE;
}

/** Whether a quote behind it belongs to it: E'…', U&"…", "a""b". @param {number} code */
function isPrefix(code) {
  return KINDS[code] === LETTER || code === AMPERSAND || code === DOUBLE_QUOTE;
}

/** What is left of a text without its literals: each number is 0, each string is empty. */
class Rest {
  /** The text in UTF-8, and a character that ends whatever it is in. */
  #text = Buffer.alloc(3 * MAX_LENGTH + 1);
  #left = Buffer.alloc(3 * MAX_LENGTH);
  #textLength = 0;
  #length = 0;
  hash = 0;
  /** Whether there were any. */
  hasLiterals = false;

  /**
   * @param {string} string
   * @returns {boolean} whether it is surely the same for each text that differs in the contents of literals only. Not
   *   where there are comments, dollar quotes, strings with a prefix, backslashes, or several statements
   */
  read(string) {
    if (string.length > MAX_LENGTH || string.includes('\\')) return false;
    const text = this.#text;
    const left = this.#left;
    const length = text.write(string);
    text[length] = 0;
    let written = 0;
    let hasLiterals = false;
    let hash = 0;
    /** The character before, of the text and of the rest. */
    let before = 0;
    for (let at = 0; at < length;) {
      let code = text[at];
      let next = at + 1;
      const kind = KINDS[code];
      if (kind === DIGIT && !isWord(before) && before !== DOLLAR) {
        const end = endOfDigits(text, next);
        if (!isWord(text[end])) {
          hasLiterals = true;
          code = ZERO;
          next = end;
        }
      } else if (kind === SPECIAL) {
        if (code === QUOTE) {
          next = endOfString(text, next, length);
          if (next < 0 || isPrefix(before)) return false;
          left[written++] = QUOTE;
          hasLiterals = true;
        } else if (code === DOUBLE_QUOTE) {
          next = endOfName(text, next);
          if (next < 0 || isPrefix(before)) return false;
          for (let each = at; each < next - 1; ++each) {
            left[written++] = text[each];
            hash = (Math.imul(hash, 31) + text[each]) | 0;
          }
        } else if (code === MINUS ? before === MINUS : code === ASTERISK && before === SLASH) {
          return false;
        } else if (code === DOLLAR && KINDS[text[next]] !== DIGIT) {
          return false;
        }
      } else if (kind === NONE) {
        return false;
      }
      left[written++] = code;
      hash = (Math.imul(hash, 31) + code) | 0;
      before = code;
      at = next;
    }
    this.#textLength = length;
    this.#length = written;
    this.hasLiterals = hasLiterals;
    this.hash = hash;
    return true;
  }

  /** @param {Uint8Array} left @returns {boolean} whether it is this one */
  equals(left) {
    const own = this.#left;
    const length = this.#length;
    if (left.length !== length) return false;
    for (let at = 0; at < length; ++at) if (left[at] !== own[at]) return false;
    return true;
  }

  /** Of the text with its literals. */
  get textHash() {
    const text = this.#text;
    const length = this.#textLength;
    let hash = 0;
    for (let at = 0; at < length; ++at) hash = (Math.imul(hash, 31) + text[at]) | 0;
    return hash;
  }

  get bytes() {
    return new Uint8Array(this.#left.subarray(0, this.#length));
  }

  toString() {
    return this.#left.toString('latin1', 0, this.#length);
  }
}

/** @param {Uint8Array} text @param {number} start behind the first digit */
function endOfDigits(text, start) {
  let end = start;
  while (KINDS[text[end]] === DIGIT) ++end;
  return end;
}

/**
 * @param {Uint8Array} text @param {number} start behind its first quote @param {number} length
 * @returns {number} behind its last one; -1 if there is none
 */
function endOfString(text, start, length) {
  for (let at = start; at < length; ++at) {
    if (text[at] !== QUOTE) continue;
    if (text[at + 1] !== QUOTE) return at + 1;
    ++at;
  }
  return -1;
}

/**
 * @param {Uint8Array} text @param {number} start behind its first quote
 * @returns {number} behind its last one; -1 if there is none, or something else may begin in it
 */
function endOfName(text, start) {
  for (let at = start; ; ++at) {
    const code = text[at];
    if (code === DOUBLE_QUOTE) return at + 1;
    if (KINDS[code] === NONE || KINDS[code] === SPECIAL) return -1;
  }
}

const rest = new Rest();

/** @param {string} left without literals @returns {boolean} whether it tells what each text does that it is left of */
function tellsAll(left) {
  return FIRST_WORD.test(left) && !TELLING.test(left);
}

/**
 * @param {string} text
 * @returns {string | undefined} the same for each text that differs from it in the contents of literals only, and tells
 *   the same; undefined if that is not sure
 */
function withoutLiterals(text) {
  if (!rest.read(text)) return undefined;
  const left = rest.toString();
  return tellsAll(left) ? left : undefined;
}

/** The traits of texts, which those share that differ in their literals only. */
class SharedTraits {
  /** By the hash of what is left. @type {Map<number, { left: Uint8Array, traits: Traits | undefined }>} */
  #known = new Map();

  /** @param {string} text @returns {Traits} perhaps those of other texts, too */
  find(text) {
    // Of most statements with parameters there is one text.
    if (!rest.read(text) || !rest.hasLiterals) return new Traits(text);
    const known = this.#known.get(rest.hash);
    const { traits } = known !== undefined && rest.equals(known.left) ? known : this.#add();
    return traits ?? new Traits(text);
  }

  /** @returns {number} a hash of the text of which find() has given traits that others share */
  get textHash() {
    return rest.textHash;
  }

  /** What was read. */
  #add() {
    const left = rest.toString();
    const known = { left: rest.bytes, traits: tellsAll(left) ? new Traits(left) : undefined };
    if (this.#known.size === MAX_TRAITS) this.#known.clear();
    this.#known.set(rest.hash, known);
    return known;
  }
}

module.exports = { SharedTraits, withoutLiterals };
