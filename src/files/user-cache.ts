import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

export const homeOf = (env: Environment): string => env.HOME || env.USERPROFILE || homedir();

/** The user's folder for files that can be made again, on this platform. */
export function userCache(env: Environment): string {
  const { platform } = process;
  if (platform === 'win32' && env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'searchflow');
  if (platform === 'darwin') return join(homeOf(env), 'Library', 'Caches', 'searchflow');
  // By the XDG rules a relative path in the variable is ignored.
  const xdg = env.XDG_CACHE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(homeOf(env), '.cache'), 'searchflow');
}
