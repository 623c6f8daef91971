import { CsvError } from '../rows/index.js';

/** Waits for a step of DuckDB. The step itself goes on after the limit, in ms, until its process ends. */
export async function withLimit<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const shown = Math.round(limitMs / 1000);
      reject(
        new CsvError(
          'sql-too-slow',
          `The query returned no row for ${shown} s and was stopped: make it faster, for example with a WHERE; nothing was bought`,
        ),
      );
    }, limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
