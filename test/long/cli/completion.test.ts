import { it } from 'vitest';
import { expectCompletion } from '../../support/cli/type-in-shell.js';

it('bash completes command lines with the installed package, and runs nothing of a line', async () => {
  await expectCompletion('bash');
});
