import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { workflowSource } from '../../../dist/worker/host/worker-host.js';

it('a worker of the build uses the workflow bundle of the build, and bundles nothing when it starts', () => {
  const { workflowBundle } = workflowSource();
  expect(workflowBundle).toEqual({ codePath: expect.stringMatching(/dist\/worker\/workflow-bundle\.js$/) });
  expect(existsSync((workflowBundle as { readonly codePath: string }).codePath)).toBe(true);
});
