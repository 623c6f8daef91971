import type { FailedOutput } from '../../api/outputs/index.js';
import { CodedError } from '../../core/errors/coded-error.js';
import { nearest } from '../../core/text/nearest.js';
import { shellWord } from '../../core/text/shell-word.js';
import type { FailedJob, FailedRow } from '../../worker/runtime/failed-rows.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { count, dollars, some } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';
import { retryText, unitText } from './row-text.js';

/** Rows that are listed by default, and at most. */
const USUAL_ROWS = 20;
const MOST_ROWS = 1000;
/** Most characters of a unit and of a message in the list. */
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
    if (found.problem !== null)
      throw new CodedError(
        'warehouse-unusable',
        `The failed rows of ${printable(found.job)} cannot be read now: ${found.problem}.`,
      );
    if (json) context.terminal.data(JSON.stringify(failedData(found)));
    else if (found.groups.length > 0) context.terminal.data(failedText(found));
    if (found.groups.length === 0)
      context.terminal.note(await noneText(found, tags, () => runtime.rows.failed(job, { tags: [], limit: 0 })));
    return exitCodes.ok;
  });
}

function readLimit(text: string | undefined, mistakes: string[]): number {
  if (text === undefined) return USUAL_ROWS;
  const limit = /^\d{1,4}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (limit <= MOST_ROWS) return limit;
  mistakes.push(`--limit: ${printable(text)} is not a whole number from 0 to ${MOST_ROWS}.`);
  return 0;
}

/** Says that no row failed, or none with these tags. */
async function noneText({ job }: FailedJob, tags: readonly string[], all: () => Promise<FailedJob>): Promise<string> {
  if (tags.length === 0) return `No loaded row of ${printable(job)} has failed.`;
  const known = (await all()).groups.flatMap(({ tag }) => tag ?? []);
  const meant = tags.flatMap((tag) => nearest(tag, known) ?? []);
  const list = known.slice(0, 10).map((tag) => printable(tag));
  const next =
    known.length === 0
      ? ' No loaded row has failed.'
      : meant.length > 0
        ? ` Did you mean ${meant.map((tag) => printable(tag)).join(', ')}?`
        : ` The tags of failed rows are ${list.join(', ')}${known.length > list.length ? ', …' : ''}.`;
  return `No failed row of ${printable(job)} has the tag ${tags.map((tag) => printable(tag)).join(' or ')}.${next}`;
}

function failedText(found: FailedJob): string {
  const { groups, rows } = found;
  const all = groups.reduce((sum, group) => sum + group.rows, 0);
  const table = columns([
    ['tag', 'rows', 'units', 'cost'],
    ...groups.map((group) => [
      printable(group.tag ?? '(no tag)', 60),
      ...[count(group.rows), count(group.units), dollars(group.costMicros)],
    ]),
  ]);
  const [head = '', ...lines] = table;
  const width = Math.max(...table.map((line) => line.length));
  return [
    `${head.padEnd(width)}  retry`,
    ...lines.map((line, nth) => `${line.padEnd(width)}  ${retryText(groups[nth] as FailedJob['groups'][number])}`),
    ...(rows.length === 0 ? [] : ['', ...rows.flatMap((row) => rowLines(row))]),
    ...(rows.length < all && rows.length > 0 ? [`… and ${some(all - rows.length, 'more row')} (--limit, --tag)`] : []),
    ...nextLines(found),
  ].join('\n');
}

function rowLines(row: FailedRow): string[] {
  const { row: number, tag, message, attempts, paidMicros, costIsWhole, unknownMicros } = row;
  const cost = [
    `${costIsWhole ? '' : 'at least '}${dollars(paidMicros)}`,
    ...(unknownMicros > 0 ? [`possibly ${dollars(unknownMicros)} more`] : []),
  ].join(', ');
  const tries = row.status === 'invalid' ? 'never sent' : `${some(attempts, 'attempt')}, ${cost}`;
  return [
    `row ${count(number ?? 0)}  ${printable(tag ?? '(no tag)', 60)}  ${tries}  ${unitText(row, UNIT_SHOWN)}`,
    ...(message === null || message === '' ? [] : [`    ${printable(message, MESSAGE_SHOWN)}`]),
  ];
}

/** How to retry the rows for which that can help, and how to look at one row. */
function nextLines({ job, groups, rows }: FailedJob): string[] {
  const retried = groups.filter(({ retry }) => retry !== 'none').reduce((sum, group) => sum + group.rows, 0);
  const [first] = rows;
  return [
    ...(retried === 0
      ? []
      : ['', `A retry can help ${some(retried, 'row')}. To plan it:\n  searchflow retry ${shellWord(job)}`]),
    ...(first?.row == null ? [] : [`To trace a row:\n  searchflow trace ${shellWord(job)} --row ${first.row}`]),
  ];
}

function failedData({ job, into, groups, rows }: FailedJob): FailedOutput {
  return {
    kind: 'failed',
    job,
    into,
    rows: groups.reduce((sum, group) => sum + group.rows, 0),
    byTag: groups.map(({ status, tag, rows: number, units, costMicros, retry, why }) => ({
      ...{ status, tag, rows: number, units, dollars: costMicros / 1e6, retry, why },
    })),
    listed: rows.map((row) => ({
      row: row.row,
      status: row.status,
      tag: row.tag,
      message: row.message,
      httpStatus: row.httpStatus,
      unit: row.unit,
      input: row.input,
      attempts: row.attempts,
      dollars: row.paidMicros / 1e6,
      dollarsAreWhole: row.costIsWhole,
      unknownDollars: row.unknownMicros / 1e6,
      requestId: row.requestId,
      fetchedAt: row.fetchedAt === null ? null : new Date(row.fetchedAt).toISOString(),
      retry: row.retry,
      why: row.why,
    })),
  };
}
