type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The fields that are there: an absent one and `undefined` are not the same to a type with optional fields. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}
