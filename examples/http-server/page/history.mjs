// The samples that the page shows, oldest first, with a gap where the server has told nothing. Filled by
// live.mjs from the feed.

/** What charts show: no more than there is to be seen. */
const SPANS = [10, 15, 20, 30, 45];

/** @typedef {import('../live/sampler').Sample} Sample */
/** @typedef {Partial<Sample> & { at: number, isGap?: boolean }} Moment */

export class History {
  /** @type {Moment[]} */
  moments = [];
  #intervalMillis = 0;
  windowSeconds = 60;

  /** What the server has kept; from before that, as before it was restarted, ours stays. */
  greet({ history, intervalMillis, windowSeconds }) {
    this.#intervalMillis = intervalMillis;
    this.windowSeconds = windowSeconds;
    const first = history.length > 0 ? history[0].at : Infinity;
    this.moments = this.moments.filter(({ at }) => at < first);
    for (const sample of history) this.add(sample);
  }

  /** @param {Sample} sample */
  add(sample) {
    const last = this.moments.at(-1);
    if (last && sample.at - last.at > 3 * this.#intervalMillis) {
      this.moments.push({ at: last.at + this.#intervalMillis, isGap: true });
    }
    this.moments.push(sample);
    const oldest = sample.at - this.windowSeconds * 1000;
    while (this.moments[0].at < oldest) this.moments.shift();
  }

  /** As it is now: what is drawn stays as it was drawn. */
  copy() {
    const copy = new History();
    copy.moments = [...this.moments];
    copy.windowSeconds = this.windowSeconds;
    return copy;
  }

  /** @returns {number} when the newest one was taken */
  get now() {
    return this.moments.at(-1)?.at ?? Date.now();
  }

  /** Where a chart of all of it begins and ends, in seconds. @returns {[first: number, last: number]} */
  get range() {
    const now = this.now / 1000;
    const first = this.moments.length > 0 ? this.moments[0].at / 1000 : now;
    return [now - (SPANS.find((span) => now - first <= span) ?? this.windowSeconds), now];
  }

  /** In seconds. */
  get times() {
    return this.moments.map(({ at }) => at / 1000);
  }

  /** @param {(moment: Moment) => number | null} read @returns {(number | null)[]} */
  column(read) {
    return this.moments.map((moment) => (moment.isGap ? null : read(moment)));
  }
}

/** Of charts that show a history. */
export const LIVE = {
  group: 'live',
  label: (at, now) => (at === now ? 'now' : `−${now - at} s`),
};
