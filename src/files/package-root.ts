import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the path of a file of this package, from the folder that has the `package.json`. Modules of the command are bundled, so a path
 * relative to a module would be another one in the bundle.
 */
export function inPackage(...path: readonly string[]): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, ...path);
}
