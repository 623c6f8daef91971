type WithoutUndefined<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The fields that are there: an absent one and `undefined` are not the same to a type with optional fields. */
export function withoutUndefined<T extends object>(fields: T): WithoutUndefined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as WithoutUndefined<T>;
}
