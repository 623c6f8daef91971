import { expect, it } from 'vitest';
import * as workflows from '../../../src/workflows/index.js';

it('each workflow has a versioning behaviour', () => {
  for (const [name, workflow] of Object.entries(workflows))
    expect((workflow as { workflowDefinitionOptions?: unknown }).workflowDefinitionOptions, name).toBeTypeOf(
      'function',
    );
});
