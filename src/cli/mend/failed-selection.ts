import type { FailedSelection } from '../../worker/config/runtime-types.js';

/** The flags `--tag` and `--row`. */
export interface FailedFlags {
  readonly tag?: readonly string[];
  readonly row?: readonly string[];
}

/** The most rows that a command names by number. */
const MOST_ROWS = 1000;

/** Returns the failed rows that the flags name; adds a sentence to `mistakes` for each invalid flag. */
export function readFailedSelection({ tag, row }: FailedFlags, mistakes: string[]): FailedSelection {
  if (tag !== undefined && row !== undefined)
    mistakes.push('--tag and --row exclude each other. Run the command once for the tags and once for the rows.');
  for (const text of tag ?? []) if (text.trim() === '') mistakes.push('--tag: an empty text is no error tag.');
  for (const text of row ?? [])
    if (!/^\d{1,9}$/.test(text) || Number(text) < 1)
      mistakes.push(`--row: '${text}' must be the number of a row, from 1. Repeat the flag for several rows.`);
  if ((row?.length ?? 0) > MOST_ROWS) mistakes.push(`--row: at most ${MOST_ROWS} rows. Name more rows by their --tag.`);
  if (row !== undefined) return { rows: [...new Set(row.map(Number))] };
  return tag === undefined ? {} : { tags: [...new Set(tag)] };
}
