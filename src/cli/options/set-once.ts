/** Records which flag or argument sets a field; adds a sentence to `mistakes` if another flag or argument has set that field. */
export function setOnce(setters: Map<string, string>, field: string, flag: string, mistakes: string[]): void {
  const first = setters.get(field);
  if (first === flag) mistakes.push(`${flag} sets ${field} twice. Pass it once.`);
  else if (first !== undefined) mistakes.push(`${first} and ${flag} both set ${field}. Pass one of them.`);
  setters.set(field, flag);
}
