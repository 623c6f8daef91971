/**
 * Batches requests that wait for the same transaction. `serve` takes all waiting requests when its transaction starts, and
 * returns their answers in the same order. If `serve` fails, all these requests fail.
 */
export function batched<Request, Answer>(
  serve: (take: () => readonly Request[]) => Promise<readonly Answer[]>,
): (request: Request) => Promise<Answer> {
  interface Waiting {
    readonly request: Request;
    resolve(answer: Answer): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  const serveAll = async (): Promise<void> => {
    let taken: Waiting[] | null = null;
    // `serve` calls this function again if `serve` retries the transaction.
    const take = (): Waiting[] => {
      if (taken === null) [taken, waiting] = [waiting, []];
      return taken;
    };
    try {
      const answers = await serve(() => take().map(({ request }) => request));
      for (const [index, one] of take().entries()) one.resolve(answers[index] as Answer);
    } catch (error) {
      for (const one of take()) one.reject(error);
    }
  };
  return (request) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      if (waiting.length === 1) void serveAll();
    });
}
