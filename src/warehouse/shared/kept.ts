/** A value that the first `get` makes, and another `get` makes again after a failure or `drop`, which returns the value if there is one. */
export function kept<T>(make: () => Promise<T>) {
  let value: Promise<T> | null = null;
  return {
    get(): Promise<T> {
      value ??= make().catch((error: unknown) => {
        value = null;
        throw error;
      });
      return value;
    },
    drop(): Promise<T> | null {
      const dropped = value;
      value = null;
      return dropped;
    },
  };
}
