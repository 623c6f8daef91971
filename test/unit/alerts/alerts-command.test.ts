import { expect, it } from 'vitest';
import { testAlerts } from '../../../src/cli/limits.js';
import type { Runtime } from '../../../src/worker/runtime/runtime.js';
import { fakeContext, fakeRuntime } from '../../support/cli/fake-runtime.js';

const commanded = (receivers: Awaited<ReturnType<Runtime['testAlerts']>>, flags = {}) =>
  fakeContext(fakeRuntime({ testAlerts: async () => receivers }).runtime, { flags });

it('alerts test names each receiver, and fails if one does not accept the alert', async () => {
  const { context, out } = commanded([
    { receiver: 'webhook', error: null },
    { receiver: 'command', error: 'the program ended with exit code 1: \u001b[31mno' },
  ]);
  expect(await testAlerts(context)).toBe(1);
  expect(out()).toMatch(/^webhook: accepted the test alert\ncommand: did not accept the test alert: the program ended/);
  expect(out()).not.toContain('\u001b');
  const json = commanded([{ receiver: 'webhook', error: null }], { json: true });
  expect(await testAlerts(json.context)).toBe(0);
  expect(JSON.parse(json.out())).toEqual({ kind: 'alertTest', receivers: [{ receiver: 'webhook', error: null }] });
});
