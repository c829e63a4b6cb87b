'use strict';

// The model of notifications: what was sent, when, and what each subscription has heard. The clock
// counts events, so that "before" has a meaning. Filled by actions/notifications.js, read by round.js.

/**
 * @typedef {object} Note
 * @property {string} channel
 * @property {number} calledAt
 * @property {number} settledAt Infinity: not yet
 * @property {import('./ledger').Unit} unit what was told of it
 */

class Subscriber {
  /** @type {{ payload: string, at: number }[]} */
  heard = [];
  /** When it was told that it may have missed some. @type {number[]} */
  gaps = [];
  listensAt = Infinity;
  endsAt = Infinity;
  /** What was settled before is heard by now. */
  completeAt = -Infinity;

  /** @param {Notices} notices @param {string} name @param {string} channel */
  constructor(notices, name, channel) {
    this.notices = notices;
    this.name = name;
    this.channel = channel;
  }

  /** @param {string} payload */
  hear(payload) {
    this.heard.push({ payload, at: this.notices.now() });
  }

  /** @param {ReadonlyMap<string, Note>} notes */
  findFaults(notes) {
    const faults = [];
    const fault = (text) => faults.push(`${this.name} on ${this.channel} has ${text}`);
    const known = new Map();
    let latestCall = -Infinity;
    for (const { payload, at } of this.heard) {
      const note = notes.get(payload);
      if (at > this.endsAt) fault(`heard ${payload} after its end`);
      if (known.has(payload)) fault(`heard ${payload} twice`);
      known.set(payload, at);
      if (note === undefined || note.channel !== this.channel) {
        fault(`heard ${payload}, which nobody has sent there`);
        continue;
      }
      if (note.unit.told === 'absent') fault(`heard ${payload}, which was told as not sent`);
      // One that is doubtful may be sent after nobody has waited for it any longer.
      const isSettled = note.unit.told === 'committed' && note.settledAt < latestCall;
      if (isSettled) fault(`heard ${payload} behind one that was sent later`);
      latestCall = Math.max(latestCall, note.calledAt);
    }
    for (const [payload, note] of notes) {
      if (note.channel !== this.channel || known.has(payload)) continue;
      const isSent = note.unit.told === 'committed';
      const isInTime = note.calledAt > this.listensAt && note.settledAt < this.completeAt;
      if (isSent && isInTime && !this.#mayHaveMissed(note, notes)) fault(`not heard ${payload}`);
    }
    return faults;
  }

  /** A loss lies between what it heard last and the gap that it was told of. @param {Note} note @param {ReadonlyMap<string, Note>} notes */
  #mayHaveMissed(note, notes) {
    return this.gaps.some((gapAt) => {
      if (note.calledAt > gapAt) return false;
      const before = this.heard.filter(({ at }) => at < gapAt);
      return !before.some(({ payload }) => {
        const other = notes.get(payload);
        return other !== undefined && note.settledAt < other.calledAt;
      });
    });
  }
}

class Notices {
  /** @type {Map<string, Note>} by payload */
  #notes = new Map();
  /** @type {Subscriber[]} */
  #subscribers = [];
  #clock = 0;

  /** The time, which goes on. */
  now() {
    return ++this.#clock;
  }

  /**
   * A notification is about to be sent.
   * @param {string} channel
   * @param {number} id
   * @param {import('./ledger').Unit} unit
   */
  send(channel, id, unit) {
    const note = { channel, calledAt: this.now(), settledAt: Infinity, unit };
    this.#notes.set(String(id), note);
    return note;
  }

  /** @param {string} name @param {string} channel */
  subscribe(name, channel) {
    const subscriber = new Subscriber(this, name, channel);
    this.#subscribers.push(subscriber);
    return subscriber;
  }

  /** All that was sent is settled. @returns {string[]} faults */
  close() {
    const faults = this.#subscribers.flatMap((one) => one.findFaults(this.#notes));
    this.#subscribers = [];
    this.#notes.clear();
    return faults;
  }
}

module.exports = { Notices };
