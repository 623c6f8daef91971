/**
 * Returns a word as it is typed in a POSIX shell: quoted if a shell would read it in another way. Every printed command quotes its arguments
 * with this function.
 */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
