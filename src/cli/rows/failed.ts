import type { FailedOutput } from '../../api/outputs/index.js';
import type { RetryHelp } from '../../core/purchase/retry-help.js';
import { nearest } from '../../core/text/nearest.js';
import { shellWord } from '../../core/text/shell-word.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { count, dollars, some } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';

/** Rows that are listed by default, and at most. */
const USUAL_ROWS = 20;
const MOST_ROWS = 1000;
/** Most characters of a tag, of a unit and of a message in the list. */
const TAG_SHOWN = 60;
const UNIT_SHOWN = 80;
const MESSAGE_SHOWN = 160;

export interface FailedFlags {
  readonly tag?: readonly string[];
  readonly limit?: string;
  readonly json?: boolean;
}

/** `searchflow failed JOB`: lists the failed rows of a job. Starts nothing. */
export async function failed(context: Context, job: string, flags: FailedFlags): Promise<ExitCode> {
  const { tag: tags = [], json = false } = flags;
  const mistakes: string[] = [];
  const limit = readLimit(flags.limit, mistakes);
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: false, bounded: true }, async ({ runtime }) => {
    const found = await runtime.rows.failed(job, { tags, limit });
    if (json) context.terminal.data(JSON.stringify(found));
    else if (found.rows > 0) context.terminal.data(failedText(found));
    if (found.rows === 0)
      context.terminal.note(
        tags.length === 0
          ? `No loaded row of ${printable(found.job)} has failed.`
          : noTagText(await runtime.rows.failed(job, { tags: [], limit: 0 }), tags),
      );
    return exitCodes.ok;
  });
}

function readLimit(text: string | undefined, mistakes: string[]): number {
  const limit = text === undefined ? USUAL_ROWS : /^\d{1,4}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(limit <= MOST_ROWS))
    mistakes.push(`--limit: ${printable(text ?? '')} is not a whole number from 0 to ${MOST_ROWS}.`);
  return limit;
}

/** Says that no row failed with these tags. */
function noTagText({ job, byTag }: FailedOutput, tags: readonly string[]): string {
  const known = byTag.flatMap(({ tag }) => tag ?? []);
  const meant = tags.flatMap((tag) => nearest(tag, known) ?? []).map((tag) => printable(tag));
  const list = known.slice(0, 10).map((tag) => printable(tag));
  const next =
    known.length === 0
      ? 'No loaded row has failed.'
      : meant.length > 0
        ? `Did you mean ${meant.join(', ')}?`
        : `The tags of failed rows are ${list.join(', ')}${known.length > list.length ? ', …' : ''}.`;
  return `No failed row of ${printable(job)} has the tag ${tags.map((tag) => printable(tag)).join(' or ')}. ${next}`;
}

const tagText = (tag: string | null): string => printable(tag ?? '(no tag)', TAG_SHOWN);
/** Dollars of a row as text. */
export const priceText = (amount: number): string => dollars(Math.round(amount * 1e6));
const retryWords = { free: 'free', charged: 'may be charged again', none: 'cannot help' } as const;

/** Returns whether a retry can help, with the reason. */
export const retryText = ({ retry, why }: RetryHelp): string => `${retryWords[retry]}: ${why}`;

function failedText({ job, byTag, rows, listed }: FailedOutput): string {
  const table = columns([
    ['tag', 'rows', 'units', 'cost'],
    ...byTag.map((one) => [tagText(one.tag), count(one.rows), count(one.units), priceText(one.dollars)]),
  ]);
  const width = Math.max(...table.map((line) => line.length));
  const notes = ['retry', ...byTag.map(retryText)];
  const more = rows - listed.length;
  const retried = byTag.filter(({ retry }) => retry !== 'none').reduce((sum, one) => sum + one.rows, 0);
  const first = listed[0]?.row ?? null;
  return [
    ...table.map((line, nth) => `${line.padEnd(width)}  ${notes[nth]}`),
    ...(listed.length === 0 ? [] : ['', ...listed.flatMap(rowLines)]),
    ...(more > 0 && listed.length > 0 ? [`… and ${some(more, 'more row')} (--limit, --tag)`] : []),
    ...(retried === 0
      ? []
      : ['', `A retry can help ${some(retried, 'row')}. To plan it:`, `  searchflow retry ${shellWord(job)}`]),
    ...(first === null ? [] : ['To trace a row:', `  searchflow trace ${shellWord(job)} --row ${first}`]),
  ].join('\n');
}

function rowLines(row: FailedOutput['listed'][number]): string[] {
  const { message, unit, input } = row;
  const least = row.dollarsAreWhole ? '' : 'at least ';
  const unknown = row.unknownDollars > 0 ? `, possibly ${priceText(row.unknownDollars)} more` : '';
  const tries =
    row.status === 'invalid'
      ? 'never sent'
      : `${some(row.attempts, 'attempt')}, ${least}${priceText(row.dollars)}${unknown}`;
  // The data of a forgotten row is gone.
  const isEmpty = !unit && input.every((cell) => cell === null);
  const shown = isEmpty ? '(no data)' : printable(unit ?? input.map((cell) => cell ?? '').join(', '), UNIT_SHOWN);
  return [
    `row ${count(row.row ?? 0)}  ${tagText(row.tag)}  ${tries}  ${shown}`,
    ...(message ? [`    ${printable(message, MESSAGE_SHOWN)}`] : []),
  ];
}
