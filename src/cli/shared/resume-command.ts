/**
 * The command line that makes the same thing go on, as it was typed: an npm script where one was used, arguments quoted for
 * a POSIX shell. `args` are those after the command's name. User and password of a database are left out, which a second line says.
 */
export function resumeCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): string {
  const shown = args.map(withoutCredentials);
  const words = shown.map(quote);
  const note = shown.every((word, index) => word === args[index])
    ? ''
    : '\nUser and password are left out of it: put them back, or have them in SEARCHFLOW_WAREHOUSE_URL, PGUSER and PGPASSWORD, or .pgpass.';
  const script = env.npm_lifecycle_event;
  if (script === 'start' && args[0] === 'start') {
    return words.length > 1 ? `npm start -- ${words.slice(1).join(' ')}` : 'npm start';
  }
  if (script === 'searchflow') return `npm run -s searchflow -- ${words.join(' ')}${note}`;
  return `${['searchflow', ...words].join(' ')}${note}`;
}

/** A word of the command line without what logs in to a database. */
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

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
