/** A name that is not taken yet; names that differ only in case are one name to a database. */
export function freeName(
  wanted: string,
  taken: ReadonlySet<string>,
  next: (name: string, turn: number) => string,
): string {
  let name = wanted;
  for (let turn = 2; taken.has(name.toLowerCase()); turn++) name = next(wanted, turn);
  return name;
}
