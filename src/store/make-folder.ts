import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those above it that are missing, with mode 0700. Throws the system's error. Node's own way to do so never
 * ends where a folder that exists takes none, as in `/proc`.
 */
export function makeFolder(dir: string): void {
  const parent = dirname(dir);
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    // It is there, or another process made it meanwhile.
    if (!existsSync(dir) || !statSync(dir).isDirectory()) throw error;
  }
}
