import type { ForgetOutput } from '../../api/outputs/index.js';
import { shellWord } from '../../core/text/shell-word.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import type { ForgetPlan, ForgetWish } from '../../worker/forget/forget-types.js';
import { askYesNo } from '../shared/ask.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { count, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { readFailedSelection } from './failed-selection.js';

export interface ForgetFlags {
  readonly row?: readonly string[];
  readonly url?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** What `forget` never removes. */
const KEPT = [
  'Kept: hash, time and cost of each unit, so that the bill agrees and nothing is bought again.',
  'Not removed: the input, backups, replicas, exports, reports and publishes; Temporal histories until their retention ends; events of websets; the table agent_runs of agent sync; data at the service.',
];

/** `searchflow forget`: removes the data of a job, of rows or of a URL from store and warehouses. Buys nothing, and needs no Temporal server. */
export async function forget(context: Context, job: string | undefined, flags: ForgetFlags): Promise<ExitCode> {
  const { terminal } = context;
  const { dryRun = false, yes = false, json = false } = flags;
  const mistakes: string[] = [];
  const wish = readWish(job, flags, mistakes);
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const plan = await runtime.planForget(wish as ForgetWish);
    if (plan.isEmpty || dryRun) {
      terminal.data(json ? JSON.stringify(forgetData(plan, 'plan')) : planText(plan));
      return exitCodes.ok;
    }
    if (!yes && !json) terminal.say(planText(plan));
    if (!yes) {
      if (!terminal.asks)
        throw new UsageError(
          'removal-unconfirmed',
          `This removes data for good, and ${terminal.cannotAsk}. Nothing was removed.\nPass --yes to confirm, or --dry-run to see the plan.`,
        );
      if (!(await askYesNo(context, `Remove the data of ${some(plan.units, 'unit')} for good?`))) {
        terminal.say('Nothing was removed.');
        return exitCodes.usage;
      }
    }
    const done = await runtime.forget(plan);
    if (json) {
      terminal.data(JSON.stringify(forgetData({ ...plan, notes: done.notes }, 'done', done.csvs)));
      return exitCodes.ok;
    }
    terminal.data(
      [
        `Forgot ${countsText(plan)}.`,
        ...done.csvs.map((file) => `Written again: ${printable(file)}`),
        ...targetsText(plan),
        ...done.notes.map((note) => `Note: ${printable(note)}.`),
        ...KEPT,
      ].join('\n'),
    );
    return exitCodes.ok;
  });
}

function readWish(job: string | undefined, { row, url }: ForgetFlags, mistakes: string[]): ForgetWish | null {
  const { rows } = readFailedSelection({ row }, mistakes);
  if (url !== undefined) {
    if (job !== undefined) mistakes.push('--url: names the rows of all jobs. Leave out the job.');
    if (row !== undefined) mistakes.push('--url and --row exclude each other.');
    if (url.trim().length < SHORTEST) mistakes.push(`--url: '${url}' must be a whole URL or domain.`);
    return { url };
  }
  if (job === undefined) {
    mistakes.push('Name a job, such as searchflow forget companies, or --url URL.');
    return null;
  }
  return rows === undefined ? { job } : { job, rows };
}

/** A shorter text is hardly a URL, and may be in many cells. */
const SHORTEST = 4;

const countsText = (plan: ForgetPlan): string =>
  [
    some(plan.units, 'unit'),
    some(plan.rows, 'loaded row'),
    some(plan.stagedRows, 'staged row'),
    `${some(plan.bodies, 'answer')} in the journal (${count(plan.bytes)} bytes)`,
  ].join(', ');

const targetsText = ({ targets, jobs }: ForgetPlan): readonly string[] =>
  targets.length === 0
    ? []
    : [
        `Not changed: ${targets.map((one) => printable(one)).join(', ')}. To publish again:`,
        ...jobs.map((job) => `  searchflow publish ${shellWord(printable(job))} --to TARGET`),
      ];

function planText(plan: ForgetPlan): string {
  const { wish, jobs, warehouses, slices, csvs, isEmpty, notes } = plan;
  if (isEmpty)
    return [
      `Nothing to forget: ${'url' in wish ? 'no row, answer or cell here has this URL' : 'the data of this job or of these rows is forgotten already'}.`,
      ...notes.map((note) => `Note: ${printable(note)}.`),
    ].join('\n');
  const lines: readonly (readonly [string, string])[] = [
    ['Jobs', jobs.map((one) => printable(one)).join(', ')],
    ['Units', count(plan.units)],
    ...warehouses
      .filter(({ rows }) => rows > 0)
      .map(({ into, rows }) => ['Loaded rows', `${count(rows)} in ${printable(into)}`] as const),
    ['Staged rows', `${count(plan.stagedRows)} in ${some(slices, 'slice')}`],
    ['Answers', `${count(plan.bodies)} in the journal, ${count(plan.bytes)} bytes`],
    ...csvs.map(({ file }) => ['CSV', `${printable(file)} is written again`] as const),
  ];
  return [
    ...lines.map(([name, value]) => `${`${name}:`.padEnd(16)}${value}`),
    ...targetsText(plan),
    ...notes.map((note) => `Note: ${printable(note)}.`),
    ...KEPT,
  ].join('\n');
}

function forgetData(plan: ForgetPlan, state: 'plan' | 'done', csvs: readonly string[] = []): ForgetOutput {
  const { wish, jobs, units, rows, warehouses, slices, stagedRows, bodies, bytes, targets, notes } = plan;
  return {
    kind: 'forgotten',
    state,
    job: 'job' in wish ? wish.job : null,
    url: 'url' in wish ? wish.url : null,
    ...{ jobs: [...jobs], units, rows, warehouses: [...warehouses], stagedRows, slices, bodies, bytes },
    csvs: state === 'plan' ? plan.csvs.map(({ file }) => file) : [...csvs],
    targets: [...targets],
    notes: [...notes],
  };
}
