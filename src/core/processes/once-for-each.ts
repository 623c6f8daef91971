/**
 * Returns a function that calls `make` once for each object, and returns the same result for the same object. The further arguments count
 * at the first call only.
 */
export function onceForEach<Key extends object, Rest extends readonly unknown[], Made>(
  make: (key: Key, ...rest: Rest) => Made,
): (key: Key, ...rest: Rest) => Made {
  const made = new WeakMap<Key, { readonly it: Made }>();
  return (key, ...rest) => {
    const known = made.get(key) ?? { it: make(key, ...rest) };
    made.set(key, known);
    return known.it;
  };
}
