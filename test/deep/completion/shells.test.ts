import { execFileSync } from 'node:child_process';
import { beforeAll, it } from 'vitest';
import { expectCompletion } from '../../support/cli/type-in-shell.js';

beforeAll(() => {
  for (const shell of ['zsh', 'fish']) {
    try {
      execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    } catch {
      throw new Error(`This test needs ${shell}. To install it:\n  apt-get install zsh fish`);
    }
  }
});

it.each(['zsh', 'fish'] as const)(
  '%s completes command lines with the installed package, and runs nothing of a line',
  async (shell) => {
    await expectCompletion(shell);
  },
);
