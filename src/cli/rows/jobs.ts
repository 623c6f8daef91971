import { inputText } from '../../core/rows/source-fields.js';
import type { JobListing } from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { count, dollars, duration } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';
import { phaseWord } from './status-line.js';

/** Most characters of an input in the list. */
const MOST_INPUT = 300;

/** `searchflow jobs`: lists the jobs of this folder, or of the store that the folder uses. */
export async function jobs(context: Context, flags: { readonly json?: boolean }): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false, bounded: true }, async ({ runtime }) => {
    const all = await runtime.jobs.list();
    if (flags.json) context.terminal.data(JSON.stringify(all.map(jobData)));
    else if (all.length > 0) context.terminal.data(table(all, Date.now()).join('\n'));
    if (all.length === 0)
      context.terminal.note('No jobs yet. To create one:\n  searchflow enrich FILE\n  searchflow events sync');
    return exitCodes.ok;
  });
}

function table(all: readonly JobListing[], now: number): string[] {
  const facts = all.map(({ job, rows, phase, since, costMicros }) => [
    printable(job),
    phase === null ? '' : phaseWord(phase),
    rows === null ? '' : count(rows),
    costMicros === null ? '' : dollars(costMicros),
    since === null ? '' : duration(Math.max(0, now - since) / 1000),
  ]);
  const [head = '', ...lines] = columns([['job', 'state', 'rows', 'cost', 'since'], ...facts]);
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

function jobData({ costMicros, since, ...job }: JobListing): object {
  return {
    ...job,
    since: since === null ? null : new Date(since).toISOString(),
    dollars: costMicros === null ? null : costMicros / 1e6,
  };
}
