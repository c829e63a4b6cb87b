'use strict';

// Cuts SQL into tokens, as far as is needed to tell statements apart: by PostgreSQL's rules for
// comments, literals and quoted names. Used in this folder, by named-parameters.js and by
// copy/copy.js.

/** NAMEDATALEN: a longer word is no keyword. */
const WORD_LIMIT = 63;

/** @param {number} code */
function isSpace(code) {
  return code === 32 || (code >= 9 && code <= 13);
}

/** @param {number} code -1 past the end */
function isWordStart(code) {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code >= 128;
}

/** @param {number} code */
function isWordPart(code) {
  return isWordStart(code) || (code >= 48 && code <= 57) || code === 36;
}

const NOT_ASCII = /[^ -~]/;

/**
 * A name in upper case. For PostgreSQL ı, ſ and ß are letters of their own: no name with one of them is a keyword, or a
 * built-in function.
 * @param {string} name
 */
function upperCase(name) {
  if (!NOT_ASCII.test(name)) return name.toUpperCase();
  return Array.from(name, (letter) => {
    const upper = letter.toUpperCase();
    return NOT_ASCII.test(letter) && !NOT_ASCII.test(upper) ? letter : upper;
  }).join('');
}

/**
 * Cuts SQL into words, quoted names and single characters; string literals and comments are
 * skipped. Goes forward only, so that reading any text is linear in its length.
 */
class Scanner {
  /** @param {string} text @param {number} [end] */
  constructor(text, end = text.length) {
    this.text = text;
    this.end = end;
    this.position = 0;
    /** The quoted name that next() has met last, as written between its quotes. */
    this.quotedName = '';
    /**
     * Whether the server may see other tokens. A backslash before a quote hides the quote where
     * standard_conforming_strings is off; a name written as U&"…" has escapes.
     */
    this.isDoubtful = false;
  }

  /** The code at `position + ahead`, -1 from the end on. @param {number} [ahead] */
  peek(ahead = 0) {
    const position = this.position + ahead;
    return position < this.end ? this.text.charCodeAt(position) : -1;
  }

  /** Skips white space and comments. */
  skipBlank() {
    for (;;) {
      const code = this.peek();
      if (isSpace(code)) {
        this.position += 1;
      } else if (code === 45 && this.peek(1) === 45) {
        this.skipLineComment();
      } else if (code === 47 && this.peek(1) === 42) {
        this.skipBlockComment();
      } else {
        return;
      }
    }
  }

  /** Skips a block comment. It may contain comments, unlike in C. */
  skipBlockComment() {
    let depth = 0;
    while (this.position < this.end) {
      const code = this.peek();
      const next = this.peek(1);
      if (code === 47 && next === 42) {
        depth += 1;
        this.position += 2;
      } else if (code === 42 && next === 47) {
        depth -= 1;
        this.position += 2;
        if (depth === 0) return;
      } else {
        this.position += 1;
      }
    }
  }

  /** Reads a word in upper case, or returns '' when there is none here. */
  word() {
    const start = this.position;
    if (!isWordStart(this.peek())) return '';
    while (isWordPart(this.peek())) this.position += 1;
    return upperCase(this.text.slice(start, Math.min(this.position, start + WORD_LIMIT)));
  }

  /** Skips blanks and reads a word. */
  nextWord() {
    this.skipBlank();
    return this.word();
  }

  /**
   * Skips a literal or quoted name, to the end of the text if it is not closed.
   * @param {number} quote
   * @param {boolean} backslashes whether a backslash hides what follows
   */
  skipQuoted(quote, backslashes) {
    this.position += 1;
    for (let code = this.peek(); code !== -1; code = this.peek()) {
      if (code === 39 && quote === 39 && !backslashes && this.peek(-1) === 92) {
        this.isDoubtful = true;
      }
      if (code === quote && this.peek(1) !== quote) {
        this.position += 1;
        return;
      }
      this.position += code === quote || (backslashes && code === 92) ? 2 : 1;
    }
  }

  /** Skips an E'…' literal. A literal behind it on a later line continues it, with backslashes. */
  skipEscaped() {
    for (;;) {
      this.skipQuoted(39, true);
      const end = this.position;
      this.skipContinuationBlank();
      const hasNewline = /[\n\r]/.test(this.text.slice(end, this.position));
      if (this.peek() === 39 && hasNewline) continue;
      this.position = end;
      return;
    }
  }

  /** Skips white space and line comments: a block comment ends a literal. */
  skipContinuationBlank() {
    for (let code = this.peek(); code !== -1; code = this.peek()) {
      if (isSpace(code)) this.position += 1;
      else if (code === 45 && this.peek(1) === 45) this.skipLineComment();
      else return;
    }
  }

  /** Skips -- to the end of the line, which a lone carriage return ends too. */
  skipLineComment() {
    this.position += 2;
    for (let at = this.peek(); at !== -1 && at !== 10 && at !== 13; at = this.peek()) {
      this.position += 1;
    }
  }

  /** Skips a dollar-quoted string, or just the dollar when it begins none (as in $1). */
  skipDollarQuoted() {
    const start = this.position;
    this.position += 1;
    if (isWordStart(this.peek())) {
      while (isWordPart(this.peek()) && this.peek() !== 36) this.position += 1;
    }
    if (this.peek() !== 36) return;
    this.position += 1;
    const tag = this.text.slice(start, this.position);
    const close = this.text.indexOf(tag, this.position);
    this.position = close === -1 ? this.end : Math.min(close + tag.length, this.end);
  }

  /**
   * The next token: a word in upper case, `"` for a quoted name, `'` for a string literal, or one
   * character; '' at the end.
   * @param {boolean} [intoDollars] whether to read what is inside of dollar quotes too
   * @returns {string}
   */
  next(intoDollars = false) {
    this.skipBlank();
    const start = this.position;
    const code = this.peek();
    if (code === -1) return '';
    if (code === 39) {
      this.skipQuoted(39, false);
      return "'";
    }
    if (code === 34) {
      this.skipQuoted(34, false);
      this.quotedName = this.text.slice(start + 1, this.position - 1);
      return '"';
    }
    if (code === 36 && !intoDollars) {
      this.skipDollarQuoted();
      return "'";
    }
    const word = this.word();
    if (word === 'E' && this.peek() === 39) {
      this.skipEscaped();
      return "'";
    }
    if (word === 'U' && this.peek() === 38 && this.peek(1) === 34) {
      this.position += 1;
      this.isDoubtful = true;
      return this.next();
    }
    if (word !== '') return word;
    this.position += 1;
    // Digits stay together, or the end of 1e5 would be taken for a word.
    if (code >= 48 && code <= 57) while (isWordPart(this.peek())) this.position += 1;
    return this.text[start];
  }

  /** next(), with a quoted lower-case name as the word that means the same. */
  nextName(intoDollars = false) {
    const token = this.next(intoDollars);
    if (token !== '"' || this.quotedName !== this.quotedName.toLowerCase()) return token;
    return upperCase(this.quotedName);
  }
}

/**
 * Reads a COPY as far as the word or the literal that says where the data come from or go to.
 * @param {Scanner} scanner behind COPY
 * @returns {{ direction: 'FROM' | 'TO' | '', target: string }} the token behind the direction
 */
function readCopyTarget(scanner) {
  let depth = 0;
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    if (token === '(') depth += 1;
    else if (token === ')') depth -= 1;
    else if (depth === 0 && (token === 'FROM' || token === 'TO')) {
      return { direction: token, target: scanner.next() };
    }
  }
  return { direction: '', target: '' };
}

module.exports = { Scanner, isWordPart, isWordStart, readCopyTarget, upperCase };
