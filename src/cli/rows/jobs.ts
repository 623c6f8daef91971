import type { Output } from '../../api/command-outputs.js';
import { inputText } from '../../core/rows/source-fields.js';
import type { JobListing, RuntimeConfig } from '../../worker/config/runtime-types.js';
import type { Context, ExitCode, Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { columns, count, dollars, duration, printable, toDo } from '../text.js';
import { phaseWord } from './status.js';

const MOST_INPUT = 300;

export async function jobs(context: Context, { state: asked }: Flags<'jobs'>): Promise<ExitCode> {
  const { terminal } = context;
  const config = settings(context, {});
  return withRuntime(context, config, { bounded: true }, async ({ runtime }) => {
    const all = await runtime.jobs.list();
    const listed = asked === undefined ? all : all.filter((job) => asked.some((state) => isInState(job, state)));
    const hasServer = config.temporalAddress !== null;
    if (listed.length > 0 || terminal.json)
      terminal.print<Output<'jobs'>>(listed, table(listed, Date.now(), hasServer).join('\n'));
    if (all.length === 0)
      terminal.note('No jobs yet. To create one:\n  searchflow enrich FILE\n  searchflow events sync');
    else if (listed.length === 0) terminal.note(`No job is ${(asked ?? []).join(' or ')}.`);
    const why = whyUnknown(all, config);
    if (why !== null) terminal.say(why);
  });
}

/** Whether a job is in a state. A walk that does not continue by itself is interrupted, too. */
function isInState({ phase, rows, input }: JobListing, state: string): boolean {
  if (phase === null) return false;
  if (state === 'interrupted')
    return rows === null && input !== null && ['stopped', 'failed', 'waiting'].includes(phase);
  return state === phase || state === phaseWord(phase);
}

const MOST_NAMES = 5;

/** Why the next runs of schedules are unknown; null if they are known, or if no job is known to have a schedule. */
function whyUnknown(
  all: readonly JobListing[],
  { temporalAddress, store = null }: Pick<RuntimeConfig, 'temporalAddress' | 'store'>,
): string | null {
  const hasServer = temporalAddress !== null;
  const unknown = all.filter(({ schedules, startedBy }) => schedules === null && (hasServer || startedBy !== null));
  if (unknown.length === 0) return null;
  const names = [...new Set(unknown.flatMap(({ startedBy }) => startedBy ?? []))].sort();
  const named = names.slice(0, MOST_NAMES).map((name) => printable(name));
  const more = names.length > MOST_NAMES ? ` and ${count(names.length - MOST_NAMES)} more` : '';
  const server = hasServer ? `at ${temporalAddress} (TEMPORAL_ADDRESS)` : 'of this folder';
  const start = hasServer || store !== null ? '' : ` ${toDo('To start it, with its schedules', 'worker')}`;
  return `Next runs are unknown${named.length === 0 ? '' : ` (schedules: ${named.join(', ')}${more})`}: the Temporal server ${server} does not answer, or does not have the schedules. If another server runs them, set TEMPORAL_ADDRESS to it.${start}`;
}

function table(all: readonly JobListing[], now: number, hasServer: boolean): string[] {
  // Most folders have no schedules.
  const hasNext = all.some((job) => nextText(job, now, hasServer) !== '');
  const facts = all.map((job) => [
    printable(job.job),
    job.phase === null ? '' : phaseWord(job.phase),
    job.rows === null ? '' : count(job.rows),
    job.costMicros === null ? '' : dollars(job.costMicros),
    job.since === null ? '' : duration(Math.max(0, now - job.since) / 1000),
    ...(hasNext ? [nextText(job, now, hasServer)] : []),
  ]);
  const heads = ['job', 'state', 'rows', 'cost', 'since', ...(hasNext ? ['next run'] : [])];
  const [head = '', ...lines] = columns([heads, ...facts]);
  return [
    `${head}  from, into`,
    ...lines.map((line, nth) => {
      const { input, into, ...source } = all[nth] as JobListing;
      if (input === null || into === null) return `${line.padEnd(head.length)}  not read yet`;
      const from = `${printable(inputText({ ...source, input }), MOST_INPUT)}, ${printable(into)}`;
      return `${line.padEnd(head.length)}  ${from}`;
    }),
  ];
}

/**
 * The next run of a job's schedules, such as `in 3 h 20 min`; `?`: unknown; empty: no schedule. A job may have schedules if a server is
 * configured, even if it does not answer.
 */
function nextText({ schedules, startedBy }: JobListing, now: number, hasServer: boolean): string {
  if (schedules === null) return hasServer || startedBy !== null ? '?' : '';
  const [next] = schedules;
  if (next === undefined) return '';
  if (next.at === null) return next.isPaused ? 'paused' : 'none';
  return next.at <= now ? 'now' : `in ${duration((next.at - now) / 1000)}`;
}
