/** Runs `work` for each item, at most `width` at a time. Rejects with the first failure after all started work has ended. */
export async function mapConcurrent<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  let failed = false;
  const workUntilNoneLeft = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined && !failed; item = left.shift()) {
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: width }, workUntilNoneLeft));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
