import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/index.js';
import { WalkSetting } from '../../support/events/walk-setting.js';
import { walkTests } from '../../support/events/walk-tests.js';
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

walkTests({ sync: [], backfill: ['oldest'], late: ['newest'] }, () => setting, open);
