'use strict';

// What happened: the history of each action, the faults that were found, and counts for the summary.

const HISTORY_LENGTH = 400;
const MAX_FAULTS = 12;

/** One thing that a client does, from its begin to its end. */
class Entry {
  /** @type {string[]} */
  history = [];
  startedAt = performance.now();
  isOver = false;
  hasFault = false;

  /** @param {Journal} journal @param {string} name @param {string} kind */
  constructor(journal, name, kind) {
    this.journal = journal;
    this.name = name;
    this.kind = kind;
  }

  /** @param {string} text */
  log(text) {
    const { history } = this;
    history.push(`${this.journal.millis()} ${text}`);
    if (history.length > HISTORY_LENGTH) history.splice(1, 1);
  }

  /** @param {string} message */
  fault(message) {
    this.hasFault = true;
    this.log(`FAULT ${message}`);
    this.journal.fault(`${this.name} ${this.kind}: ${message}`, this);
  }
}

class Journal {
  /** @type {{ message: string, entry?: Entry }[]} */
  faults = [];
  faultCount = 0;
  /** @type {Map<string, Map<string, number>>} by kind, then by outcome */
  counts = new Map();
  /** @type {Set<Entry>} */
  running = new Set();
  /** What was done to connections. @type {string[]} */
  weather = [];
  #startedAt = performance.now();
  /** @type {() => void} */
  onFault = () => {};

  millis() {
    return `${(performance.now() - this.#startedAt).toFixed(1)} ms`;
  }

  /** @param {string} name @param {string} kind */
  begin(name, kind) {
    const entry = new Entry(this, name, kind);
    this.running.add(entry);
    return entry;
  }

  /** @param {Entry} entry */
  end(entry) {
    entry.isOver = true;
    this.running.delete(entry);
  }

  /** @param {string} kind @param {string} outcome @param {number} [more] */
  count(kind, outcome, more = 1) {
    let outcomes = this.counts.get(kind);
    if (outcomes === undefined) this.counts.set(kind, (outcomes = new Map()));
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + more);
  }

  /** @param {string} text */
  noteWeather(text) {
    this.weather.push(`${this.millis()} ${text}`);
    if (this.weather.length > HISTORY_LENGTH) this.weather.shift();
  }

  /** @param {string} message @param {Entry} [entry] */
  fault(message, entry) {
    ++this.faultCount;
    if (this.faults.length < MAX_FAULTS) {
      this.faults.push({ message: `${this.millis()} ${message}`, entry });
    }
    this.onFault();
  }

  /** The faults and what led to them. */
  describeFaults() {
    const lines = ['What was done to connections at last:', ...this.weather.slice(-40).map(indent)];
    /** @type {Set<Entry | undefined>} */
    const told = new Set([undefined]);
    for (const { message, entry } of this.faults) {
      lines.push(`FAULT ${message}`);
      if (!told.has(entry)) lines.push(...entry.history.map(indent));
      told.add(entry);
    }
    const more = this.faultCount - this.faults.length;
    if (more > 0) lines.push(`and ${more} more`);
    return lines.join('\n');
  }

  /** A line for each kind of action. */
  summary() {
    const kinds = [...this.counts].sort(([a], [b]) => a.localeCompare(b));
    return kinds.map(([kind, outcomes]) => {
      const parts = [...outcomes].sort(([, a], [, b]) => b - a).map(([name, n]) => `${n} ${name}`);
      return `  ${kind}: ${parts.join(', ')}`;
    });
  }
}

/** @param {string} line */
function indent(line) {
  return `    ${line}`;
}

module.exports = { Journal };
