import { TooMuchAtOnce } from '../../core/rows/row-warehouse.js';

/** The most parts: of events of a megabyte each, only a few are folded at a time. */
const MOST_PARTS = 64;

/** Repeats work that needs too much memory, on more and smaller parts. */
export async function inParts<T>(work: (parts: number) => Promise<T>): Promise<T> {
  for (let parts = 1; ; parts *= 8) {
    try {
      return await work(parts);
    } catch (error) {
      if (!(error instanceof TooMuchAtOnce) || parts >= MOST_PARTS) throw error;
    }
  }
}
