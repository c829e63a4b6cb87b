'use strict';

// pg-listen: a client of its own for LISTEN, which connects again when it is lost.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Client } = require('pg');
const { default: createSubscriber } = require('pg-listen');
const { NUMBERS, atOnce, useTool } = require('./support/tool');

describe('pg-listen', () => {
  const tool = useTool('pg-listen');
  let subscriber;

  beforeEach(async () => {
    subscriber = createSubscriber(
      { connectionString: tool.url, application_name: 'listens' },
      { retryInterval: 1, paranoidChecking: false },
    );
    await subscriber.connect();
  });

  afterEach(() => subscriber.close());

  it('hears what is notified, many at once, until it does not listen', async () => {
    const heard = [];
    const all = new Promise((resolve) => {
      subscriber.notifications.on('news "quoted"', (payload) => {
        heard.push(payload.i);
        if (heard.length === NUMBERS.length) resolve(undefined);
      });
    });
    await subscriber.listenTo('news "quoted"');
    await subscriber.listenTo('other');
    assert.deepEqual(subscriber.getSubscribedChannels(), ['news "quoted"', 'other']);
    await atOnce((i) => subscriber.notify('news "quoted"', { i, text: "it's" }));
    await all;
    assert.deepEqual(heard, NUMBERS);
    await subscriber.unlisten('news "quoted"');
    await subscriber.notify('news "quoted"', { i: -1 });
    const last = once(subscriber.notifications, 'other');
    await subscriber.notify('other');
    await last;
    assert.equal(heard.length, NUMBERS.length);
  });

  it('listens again after the connection was lost', async () => {
    await subscriber.listenTo('news');
    const client = new Client(tool.url);
    await client.connect();
    const again = once(subscriber.events, 'connected');
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listens'",
    );
    await again;
    const heard = once(subscriber.notifications, 'news');
    await client.query(`notify news, '"hello"'`);
    assert.deepEqual(await heard, ['hello']);
    await client.end();
  });

  it('gives up where nobody answers', async () => {
    const nobody = createSubscriber(
      { host: tool.config.host, port: 1, user: tool.config.user },
      { retryLimit: 2, retryInterval: 1 },
    );
    nobody.events.on('error', () => {});
    await assert.rejects(nobody.connect(), { code: 'ECONNREFUSED' });
    await nobody.close();
  });
});
