import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { workflowNames } from '../../../src/core/rows/job-names.js';

const workflowsPath = fileURLToPath(new URL('../../../dist/workflows/index.js', import.meta.url));

it('the workflows bundle with nothing ignored, small, and without zod', async () => {
  const warnings: string[] = [];
  const logger = new DefaultLogger('WARN', ({ message }) => warnings.push(message));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger, ignoreModules: [] });
  expect(warnings).toEqual([]);
  const script = code.slice(0, code.lastIndexOf('//# sourceMappingURL'));
  for (const name of Object.values(workflowNames)) expect(script).toContain(name);
  expect(script).not.toContain('node_modules/zod');
  expect(script.length).toBeLessThan(1_500_000);
});
