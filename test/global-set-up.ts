import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * Builds `dist` where it is older than `src`, for tests that start real processes. After `npm test`'s own set-up there
 * is nothing to do; run alone, a test of sources must not wait for the rest to compile, so a failed build is only said.
 */
export default function setUp(): void {
  const script = fileURLToPath(new URL('../scripts/set-up.mjs', import.meta.url));
  const { status } = spawnSync(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.stderr.write('Going on with what dist holds.\n');
}
