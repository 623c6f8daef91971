import { shellWord } from '../../core/text/shell-word.js';

/**
 * Returns the typed command line, which resumes the same work: with the npm script if the user used the script, and quoted
 * for a POSIX shell. `args`: the arguments after the command's name. User and password of a database are left out; a second
 * line says so.
 */
export function resumeCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): string {
  const shown = args.map(withoutCredentials);
  const words = shown.map(shellWord);
  const note = shown.every((word, index) => word === args[index])
    ? ''
    : '\nUser and password are left out. Add them, or set SEARCHFLOW_WAREHOUSE_URL, SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or .pgpass.';
  const script = env.npm_lifecycle_event;
  if (script === 'start' && args[0] === 'start') {
    return words.length > 1 ? `npm start -- ${words.slice(1).join(' ')}` : 'npm start';
  }
  if (script === 'searchflow') return `npm run -s searchflow -- ${words.join(' ')}${note}`;
  return `${[script === 'npx' ? 'npx searchflow' : 'searchflow', ...words].join(' ')}${note}`;
}

/** Returns an argument without the credentials of a database. */
function withoutCredentials(word: string): string {
  const [, flag = '', url = ''] = /^(--[\w-]+=)?(postgres(?:ql)?:\/\/.*)$/is.exec(word) ?? [];
  if (!URL.canParse(url)) return word;
  const address = new URL(url);
  const { username, password, searchParams } = address;
  const secret = ['user', 'password', 'sslpassword'].filter((name) => searchParams.has(name));
  if (username === '' && password === '' && secret.length === 0) return word;
  address.username = '';
  address.password = '';
  for (const name of secret) searchParams.delete(name);
  return `${flag}${address.href}`;
}
