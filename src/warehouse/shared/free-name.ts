/** A name that is not taken yet; names that differ only in case are one name to a database. */
export function freeName(
  wanted: string,
  taken: ReadonlySet<string>,
  next: (name: string, number: number) => string,
): string {
  let name = wanted;
  for (let number = 2; taken.has(name.toLowerCase()); number++) name = next(wanted, number);
  return name;
}
