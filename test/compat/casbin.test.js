'use strict';

// casbin-pg-adapter: policies on a pool, in a table that its own node-pg-migrate, an old one, has made.

const assert = require('node:assert/strict');
const { newEnforcer, newModelFromString } = require('casbin');
const { default: PostgresAdapter } = require('casbin-pg-adapter');
const { MANY, atOnce, useTool } = require('./support/tool');

const MODEL = `
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act`;

describe('casbin-pg-adapter', () => {
  const tool = useTool('casbin-pg-adapter');
  let adapter;

  before(async () => {
    adapter = await PostgresAdapter.newAdapter({ connectionString: tool.url, max: 5 });
  });

  tool.close(() => adapter.close());

  const open = () => newEnforcer(newModelFromString(MODEL), adapter);

  it('keeps policies and roles for the next enforcer', async () => {
    const first = await open();
    await first.addPolicy('admin', 'data', 'write');
    await first.addPolicy('reader', "o'data", 'read');
    await first.addPolicy('reader', 'data', 'read');
    await first.addGroupingPolicy('alice', 'admin');
    const second = await open();
    assert.equal(await second.enforce('alice', 'data', 'write'), true);
    assert.equal(await second.enforce('alice', "o'data", 'read'), false);
    await second.removePolicy('admin', 'data', 'write');
    assert.equal(await (await open()).enforce('alice', 'data', 'write'), false);
  });

  it('reads a part of them, and replaces all', async () => {
    const enforcer = await newEnforcer(newModelFromString(MODEL));
    enforcer.setAdapter(adapter);
    await enforcer.loadFilteredPolicy({ p: ['reader', 'data'] });
    assert.deepEqual(await enforcer.getPolicy(), [['reader', 'data', 'read']]);
    adapter.enabledFiltered(false);
    const all = await open();
    await all.savePolicy();
    assert.equal((await (await open()).getPolicy()).length, 2);
  });

  it('adds many at once', async () => {
    const enforcer = await open();
    await atOnce((i) => enforcer.addPolicy('many', `${i}`, 'read'));
    const policies = await (await open()).getFilteredPolicy(0, 'many');
    assert.equal(policies.length, MANY);
  });
});
