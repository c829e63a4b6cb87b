// What the server tells, by server-sent events, for as long as the page is there: through restarts of the
// server, lost networks and sleep. Used by live.mjs.

/** The server speaks twice a second: so long a silence means that it is gone, or that we slept. */
const SILENCE_MILLIS = 3000;
const RETRY_MILLIS = 1000;

export class Feed {
  #url;
  #handlers;
  /** @type {EventSource} */
  #source;
  #heardAt = 0;

  /**
   * @param {string} url
   * @param {{ hello: Function, sample: Function, load: Function, tick: Function, state: Function }} handlers of each event,
   *   and of `live` and `lost`
   */
  constructor(url, handlers) {
    this.#url = url;
    this.#handlers = handlers;
    this.#open();
    setInterval(() => this.#watch(), RETRY_MILLIS);
  }

  #open() {
    this.#source?.close();
    const source = new EventSource(this.#url);
    this.#source = source;
    this.#heardAt = performance.now();
    for (const name of ['hello', 'sample', 'load', 'tick']) {
      source.addEventListener(name, ({ data }) => {
        if (source !== this.#source) return;
        this.#heardAt = performance.now();
        this.#handlers.state('live');
        this.#handlers[name](JSON.parse(data));
      });
    }
    source.addEventListener('error', () => {
      if (source === this.#source) this.#handlers.state('lost');
    });
  }

  /** An EventSource tries again by itself, but not after every error, and it does not see a silence. */
  #watch() {
    const isSilent = performance.now() - this.#heardAt > SILENCE_MILLIS;
    if (isSilent) this.#handlers.state('lost');
    if (isSilent || this.#source.readyState === EventSource.CLOSED) this.#open();
  }
}
