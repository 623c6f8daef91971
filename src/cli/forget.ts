import type { Output } from '../api/command-outputs.js';
import { commandLine } from '../core/text/shell-word.js';
import { UsageError } from '../worker/config/runtime-types.js';
import { type ForgetWish, noUrl } from '../worker/control/forget.js';
import { readAll, refuse, wrong } from './flag-values.js';
import { askYesNo } from './shared/ask.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { count, DAY_MS, duration, type Fact, factLines, lines, printable, some, toDo } from './text.js';

const KEPT = [
  'Kept: hash, time and cost of each unit, so that the bill agrees and nothing is bought again.',
  'Not removed: the input, backups, replicas, exports, reports and publishes; Temporal histories until their retention ends; events of websets; the table agent_runs of agent sync; data at the service.',
];

export async function forget(context: Context, job: string | undefined, flags: Flags<'forget'>): Promise<ExitCode> {
  const { terminal } = context;
  const { dryRun = false, yes = false } = flags;
  const { wish, mistakes } = readAll({ wish: () => readWish(job, flags) });
  return withRuntime(context, settings(context, {}, mistakes), {}, async ({ runtime }) => {
    const plan = await runtime.planForget(wish);
    const { found, isEmpty } = plan;
    const text = isEmpty ? nothingText(found) : planText(found);
    if (isEmpty || dryRun) {
      terminal.print(found, text);
      return exitCodes.ok;
    }
    if (!yes && !terminal.json) terminal.say(text);
    if (!yes) {
      if (!terminal.asks)
        throw new UsageError(
          'removal-unconfirmed',
          `This removes data for good, and ${terminal.cannotAsk}. Nothing was removed.\nPass --yes to confirm, or --dry-run to see the plan.`,
        );
      if (!(await askYesNo(context, `Remove the data of ${some(found.units, 'unit')} for good?`))) {
        terminal.say('Nothing was removed.');
        return exitCodes.usage;
      }
    }
    const done = await runtime.forget(plan);
    terminal.print(done, doneText(done));
  });
}

function readWish(job: string | undefined, { url }: Flags<'forget'>): ForgetWish {
  if (url === undefined) return { job: job ?? wrong('Name a job, such as searchflow forget companies, or --url URL.') };
  const problem = noUrl(url);
  refuse(
    job !== undefined && '--url: names the rows of all jobs. Leave out the job.',
    problem !== null && `--url: ${problem}`,
  );
  return { url };
}

const notesText = ({ notes }: Output<'forgotten'>): readonly string[] =>
  notes.map((note) => `Note: ${printable(note)}.`);

const nothingText = (plan: Output<'forgotten'>): string =>
  lines(
    `Nothing to forget: ${plan.url === null ? 'the data of this job is forgotten already' : 'no row, answer or cell here has this URL'}.`,
    notesText(plan),
  );

const restText = (plan: Output<'forgotten'>): string =>
  lines(
    plan.targets.length > 0 && [
      `Not changed: ${plan.targets.map((one) => printable(one)).join(', ')}. To publish again:`,
      ...plan.jobs.map((job) => `  ${commandLine('publish', printable(job), '--to', 'TARGET')}`),
    ],
    notesText(plan),
    KEPT,
  );

const answersText = ({ bodies, bytes }: Output<'forgotten'>): string =>
  `${some(bodies, 'answer')} in the journal (${count(bytes)} bytes)`;

const planText = (plan: Output<'forgotten'>): string =>
  lines(
    factLines(16, [
      ['Jobs', plan.jobs.map((one) => printable(one)).join(', ')],
      ['Units', count(plan.units)],
      ...plan.warehouses.map(
        ({ into, rows }): Fact => ['Loaded rows', rows > 0 ? `${count(rows)} in ${printable(into)}` : null],
      ),
      ['Staged rows', `${count(plan.stagedRows)} in ${some(plan.slices, 'slice')}`],
      ['Answers', answersText(plan)],
      ...plan.csvs.map((file): Fact => ['CSV', `${printable(file)} is written again`]),
    ]),
    restText(plan),
  );

const doneText = (done: Output<'forgotten'>): string =>
  lines(
    `Forgot ${some(done.units, 'unit')}, ${some(done.rows, 'loaded row')}, ${some(done.stagedRows, 'staged row')}, ${answersText(done)}.`,
    done.csvs.map((file) => `Written again: ${printable(file)}`),
    restText(done),
  );

const CLEAN_MS = 30 * DAY_MS;

const names: Readonly<Record<Output<'cleaned'>['items'][number]['what'], string>> = {
  stages: 'staged rows',
  answers: 'loaded answers',
  drafts: 'drafts and scratch files of killed commands',
  logs: 'logs',
};

export async function clean(context: Context, job: string | undefined, flags: Flags<'clean'>): Promise<ExitCode> {
  const { olderThanMs = CLEAN_MS, dryRun = false } = flags;
  return withRuntime(context, settings(context, {}), {}, async ({ runtime }) => {
    const done = await runtime.clean({ job: job ?? null, olderThanMs, dryRun });
    context.terminal.print(done, cleanedText(done, job, olderThanMs));
  });
}

const megabytes = (bytes: number): string => `${(Math.round(bytes / 1e5) / 10).toFixed(1)} MB`;

function cleanedText(
  { items, folder, bytes: total, before, after, notes, dryRun }: Output<'cleaned'>,
  job: string | undefined,
  olderThanMs: number,
): string {
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
    total === 0 &&
      olderThanMs === CLEAN_MS &&
      toDo('To include later jobs', 'clean', ...(job ? [job] : []), '--older-than', '1d'),
  );
}
