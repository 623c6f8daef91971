type WithoutUndefined<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Returns the fields without `undefined` values: optional fields must be absent instead. */
export function withoutUndefined<T extends object>(fields: T): WithoutUndefined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as WithoutUndefined<T>;
}
