// The load of the server: what runs, how to begin one, and what the last one has found. Used by live.mjs.

import { byId, element } from './dom.mjs';
import { several } from './format.mjs';

const LOCAL = ['127.0.0.1', '[::1]', 'localhost'];

export class Load {
  #text = byId('load-text');
  #last = byId('load-last');
  #run = byId('run');
  #route = byId('route');
  #progress = byId('progress');
  #isLocal = LOCAL.includes(location.hostname);
  #seconds = 0;
  /** @type {{ route: string, connections: number, seconds: number, endsAt: number } | undefined} */
  #running = undefined;
  /** So many samples in a row, since a load ended, saw queries. */
  #busy = 0;
  #isKnown = false;
  #told = '';

  constructor() {
    this.#run.addEventListener('click', () => this.#begin());
    setInterval(() => this.#count(), 250);
  }

  greet({ routes, button, load }) {
    const chosen = this.#route.value;
    this.#route.replaceChildren(
      ...routes.map((route) => element('option', { value: route }, [route])),
    );
    if (routes.includes(chosen)) this.#route.value = chosen;
    this.#seconds = button.seconds;
    byId('load-controls').hidden = !this.#isLocal;
    this.#isKnown = true;
    this.change(load);
  }

  /** @param {any} load as the server describes it */
  change({ running, last }) {
    this.#busy = 0;
    this.#running = running && { ...running, endsAt: performance.now() + running.leftMillis };
    if (last) {
      const { route, connections, seconds, outcomes } = last;
      const failures = outcomes.reduce((sum, outcome) => sum + outcome.failures, 0);
      this.#last.textContent =
        `The last one: GET ${route} on ${several(connections, 'HTTP connection')} for ${seconds} s, ` +
        (failures === 0 ? 'none failed.' : `${several(failures, 'request')} failed.`);
    }
    this.#show();
  }

  /** @param {number} queries a second, whoever asks for them */
  tell(queries) {
    this.#busy = queries > 0 ? this.#busy + 1 : 0;
    this.#show();
  }

  /** The server is not there, or is again. @param {boolean} isThere */
  connect(isThere) {
    this.#isKnown = isThere;
    if (!isThere) this.#running = undefined;
    this.#show();
  }

  #show() {
    const isRunning = this.#running !== undefined;
    this.#run.disabled = isRunning || !this.#isKnown;
    this.#route.disabled = this.#run.disabled;
    this.#progress.hidden = !isRunning;
    this.#count();
    this.#tellOnce(...this.#describe());
  }

  /** @returns {(Node | string)[]} */
  #describe() {
    if (!this.#isKnown) return ['A load can be run when the server is back.'];
    if (this.#running) {
      const { route, connections } = this.#running;
      const how = `on ${several(connections, 'HTTP connection')}, both servers in turns`;
      return [`autocannon asks for ${route} ${how}.`];
    }
    if (this.#busy > 1) return ['The server answers requests that were not begun here.'];
    const command = `npx autocannon -c 64 -d 30 ${location.origin}/db`;
    const how = this.#isLocal ? 'Run a load here, or in a terminal: ' : 'Run in a terminal: ';
    return ['No load is running. ', how, element('code', {}, [command])];
  }

  /** What is the same is not read out again. @param {(Node | string)[]} parts */
  #tellOnce(...parts) {
    const text = parts.map((part) => part.textContent ?? part).join('');
    if (text === this.#told) return;
    this.#told = text;
    this.#text.replaceChildren(...parts);
  }

  #count() {
    if (!this.#running) {
      this.#run.textContent = `Run load for ${this.#seconds} s`;
      return;
    }
    const { seconds, endsAt } = this.#running;
    const left = Math.max(0, (endsAt - performance.now()) / 1000);
    this.#progress.max = seconds;
    this.#progress.value = seconds - left;
    this.#run.textContent = `${Math.ceil(left)} s left`;
  }

  async #begin() {
    this.#run.disabled = true;
    try {
      const route = encodeURIComponent(this.#route.value);
      const response = await fetch(`/live/load?route=${route}`, { method: 'POST' });
      // Its begin is told to all pages.
      if (!response.ok) this.#tellOnce(`No load: ${(await response.json()).error}.`);
    } catch {
      this.#tellOnce('No load: the server is away.');
    }
    this.#run.disabled = this.#running !== undefined;
  }
}
