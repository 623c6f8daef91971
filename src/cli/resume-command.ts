/**
 * The command line that makes the same thing go on, as it was typed: an npm script where one was used, arguments quoted for
 * a POSIX shell. `args` are those after the command's name.
 */
export function resumeCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): string {
  const words = args.map(quote);
  const script = env.npm_lifecycle_event;
  if (script === 'start' && args[0] === 'start') {
    return words.length > 1 ? `npm start -- ${words.slice(1).join(' ')}` : 'npm start';
  }
  if (script === 'searchflow') return `npm run -s searchflow -- ${words.join(' ')}`;
  return ['searchflow', ...words].join(' ');
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
