import { TooMuchAtOnce } from '../../core/rows/warehouse-errors.js';

/** Maximum number of parts. With this many parts, only a few events are folded at a time even if each event has a megabyte. */
const MOST_PARTS = 64;

/** Runs `work`. If `work` needs too much memory, repeats it with more and smaller parts. */
export async function inParts<T>(work: (parts: number) => Promise<T>): Promise<T> {
  for (let parts = 1; ; parts *= 8) {
    try {
      return await work(parts);
    } catch (error) {
      if (!(error instanceof TooMuchAtOnce) || parts >= MOST_PARTS) throw error;
    }
  }
}
