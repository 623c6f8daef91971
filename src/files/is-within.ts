import { isAbsolute, relative, sep } from 'node:path';

/** Whether a path is the folder itself or below it. Both are absolute and without links, see `realPath`. */
export function isWithin(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || !(rest === '..' || rest.startsWith(`..${sep}`) || isAbsolute(rest));
}
