/** Returns a word as it is typed in a POSIX shell: quoted if a shell would read it in another way. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export const commandLine = (...words: readonly string[]): string => ['searchflow', ...words.map(shellWord)].join(' ');

/** Returns what a command does and, on a line of its own, the command line to copy. */
export const toDo = (text: string, ...words: readonly string[]): string => `${text}:\n  ${commandLine(...words)}`;
