import { resolve } from 'node:path';

/** The state folder of a process: SEARCHFLOW_STATE_DIR, or `.searchflow` in the working folder. */
export const stateDirOf = (env: Readonly<Record<string, string | undefined>>, cwd: string): string =>
  resolve(cwd, env.SEARCHFLOW_STATE_DIR || '.searchflow');
