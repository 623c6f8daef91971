import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/index.js';
import { expectAll } from '../../support/events/expect-all.js';
import { WalkSetting } from '../../support/events/walk-setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());

const from = '2025-01-01T00:00:00.000Z';
const to = '2025-02-01T00:00:00.000Z';

let setting: WalkSetting;
afterEach(() => setting.close());
const open = async (events: SandboxOptions['events'] = {}, more: Partial<SandboxOptions> = {}) => {
  setting = await WalkSetting.open(temporal, { count: 1200, from, to, ...events }, more);
  return setting;
};

it('a walk loads only the given types, as a stream of its own', async () => {
  await open();
  const types = ['webset.item.created', 'webset.deleted'];
  expect(await (await setting.sync({ types })).result()).toMatchObject({
    stream: `sync ${[...types].sort().join(',')}`,
  });
  const found = await setting.query<{ type: string }>('SELECT DISTINCT type FROM events ORDER BY type');
  expect(found.map(({ type }) => type)).toEqual([...types].sort());
  expect(await (await setting.sync()).result()).toMatchObject({ events: 1200 });
  await expectAll(setting);
});
