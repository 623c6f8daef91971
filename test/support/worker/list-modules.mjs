// node --import list-modules.mjs …: appends the path of each module that is loaded by `import` to the file `LIST_MODULES`.
import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.env.LIST_MODULES) register(import.meta.url);

/** Module hook. */
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  if (found.url.startsWith('file:')) appendFileSync(process.env.LIST_MODULES, `${new URL(found.url).pathname}\n`);
  return found;
}
