import type { Output } from '../api/outputs/index.js';
import { shellWord } from '../core/text/shell-word.js';
import type { Context, ExitCode, Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { duration, lines, printable } from './text.js';

const DEFAULT_MS = 30 * 86_400_000;

const names: Readonly<Record<Output<'cleaned'>['items'][number]['what'], string>> = {
  stages: 'staged rows',
  answers: 'loaded answers',
  drafts: 'drafts and scratch files of killed commands',
  logs: 'logs',
};

export async function clean(context: Context, job: string | undefined, flags: Flags<'clean'>): Promise<ExitCode> {
  const { olderThanMs = DEFAULT_MS, dryRun = false } = flags;
  return withRuntime(context, settings(context, {}), {}, async ({ runtime }) => {
    const done = await runtime.clean({ job: job ?? null, olderThanMs, dryRun });
    context.terminal.print(done, cleanedText(done, job, olderThanMs));
  });
}

/** Megabytes with one decimal. */
const megabytes = (bytes: number): string => `${(Math.round(bytes / 1e5) / 10).toFixed(1)} MB`;

function cleanedText(
  { items, folder, bytes: total, before, after, notes, dryRun }: Output<'cleaned'>,
  job: string | undefined,
  olderThanMs: number,
): string {
  const again = `searchflow clean${job === undefined ? '' : ` ${shellWord(printable(job))}`}`;
  const end =
    total === 0
      ? notes.length > 0
        ? 'Nothing was removed.'
        : `Nothing to remove: jobs that ended more than ${duration(olderThanMs / 1000)} ago have no staged rows, and no loaded answers older than SEARCHFLOW_KEEP_LANDING_DAYS.`
      : dryRun
        ? `This would remove ${megabytes(total)}. Nothing was removed.`
        : `Removed ${megabytes(total)}. The records of purchases are kept.`;
  return lines(
    items.map(
      ({ what, job: of, bytes }) =>
        `${megabytes(bytes).padStart(10)}  ${names[what]}${of === null ? '' : ` of ${printable(of)}`}`,
    ),
    notes.map((note) => `Note: ${note}`),
    end,
    dryRun || total === 0
      ? `${printable(folder)} has ${megabytes(before)}.`
      : `${printable(folder)} had ${megabytes(before)} and has ${megabytes(after)} now.`,
    total === 0 && olderThanMs === DEFAULT_MS && `To include later jobs:\n  ${again} --older-than 1d`,
  );
}
