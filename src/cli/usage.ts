import type { Output } from '../api/command-outputs.js';
import { type ReconciledDay, reconcile } from '../core/purchase/reconcile.js';
import type { UsageLine } from '../core/purchase/spend.js';
import { type RuntimeConfig, UsageError } from '../worker/config/runtime-types.js';
import { mustNotBeAfter } from './flag-values.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { columns, count, DAY_MS, dollars, lines, printable, some } from './text.js';

export async function usage(context: Context, flags: Flags<'usage'>): Promise<ExitCode> {
  const { since, until } = flags;
  const mistakes = since && until && since >= until ? [mustNotBeAfter(since, until)] : [];
  if (flags.reconcile) return reconcileUsage(context, flags, mistakes);
  return withRuntime(context, settings(context, {}, mistakes), { bounded: true }, async ({ runtime }) => {
    const found = await (await runtime.team.spend()).usage(flags.by, since, until);
    const { json, print, note } = context.terminal;
    const data: Output<'usage'> = { kind: 'usage', by: flags.by, lines: found, total: total(found) };
    if (found.length > 0 || json) print(data, usageText(data));
    else note('No purchases in this period.');
  });
}

const sums = ['requests', 'units', 'landedMicros', 'openMicros', 'unknownOutcomes', 'unknownMicros'] as const;
type Sums = Pick<UsageLine, (typeof sums)[number]>;

const total = (lines: readonly UsageLine[]): Sums =>
  Object.fromEntries(sums.map((name) => [name, lines.reduce((sum, line) => sum + line[name], 0)])) as Sums;

/** Returns requests and cost by group as a table with a total. Empty columns are left out. */
function usageText({ by, lines, total }: Output<'usage'>): string {
  type Line = Partial<typeof total>;
  const columnsOf: readonly (readonly [title: string, cell: (line: Line) => string, isShown?: boolean])[] = [
    ['requests', ({ requests = 0 }) => count(requests)],
    ['units', ({ units = 0 }) => count(units)],
    ['spent', (line) => dollars(line.landedMicros ?? 0)],
    ['in flight (max.)', ({ openMicros = 0 }) => dollars(openMicros), total.openMicros > 0],
    ['unknown outcomes', ({ unknownOutcomes = 0 }) => count(unknownOutcomes), total.unknownOutcomes > 0],
    ['possibly charged', ({ unknownMicros = 0 }) => dollars(unknownMicros), total.unknownOutcomes > 0],
  ];
  const shown = columnsOf.filter(([, , isShown = true]) => isShown);
  const row = (name: string, line: Line) => [name, ...shown.map(([, cell]) => cell(line))];
  return columns([
    [by, ...shown.map(([title]) => title)],
    ...lines.map((line) => row(printable(line.group), line)),
    ...(lines.length === 1 ? [] : [row('total', total)]),
  ]).join('\n');
}

/** Look-back of the service's usage endpoint, in days. */
const MOST_DAYS = 180;
const USUAL_DAYS = 30;

/** `searchflow usage --reconcile`: compares the journal with the service's bill. Exit code 1 if a difference has no explanation. */
async function reconcileUsage(context: Context, flags: Flags<'usage'>, found: readonly string[]): Promise<ExitCode> {
  const now = Date.now();
  const mistakes = [...found];
  const today = now - (now % DAY_MS);
  const last = Math.min((flags.until ?? Number.POSITIVE_INFINITY) - DAY_MS, today);
  const first = flags.since ?? last - (USUAL_DAYS - 1) * DAY_MS;
  if (first < today - MOST_DAYS * DAY_MS)
    mistakes.push(
      `--since: the service keeps its bill for ${MOST_DAYS} days. Pass a later day, such as ${MOST_DAYS}d.`,
    );
  else if (first > today) mistakes.push('--since is in the future.');
  if (flags.by !== 'job' && flags.by !== 'day')
    mistakes.push(`--by ${flags.by} cannot be combined with --reconcile, which compares days.`);
  const config = settings(context, {}, mistakes);
  const access = billAccess(config);
  const days = Array.from({ length: (last - first) / DAY_MS + 1 }, (_, index) => dayText(first + index * DAY_MS));
  return withRuntime(context, config, { sends: false, bounded: true }, async ({ runtime, stopped }) => {
    const journal = await (await runtime.team.spend()).usage('day', first, last + DAY_MS);
    const { readBilledDays } = await import('../worker/control/free-calls.js');
    const { terminal } = context;
    let saidRetry = false;
    const onRetry = ({ message }: Error) => {
      if (!saidRetry) terminal.say(`The bill cannot be read yet, trying again: ${printable(message, 300)}`);
      saidRetry = true;
    };
    const bill = await readBilledDays(access, days, stopped, onRetry).catch((error: unknown) => {
      const hint = hintOf(error);
      if (hint !== null) terminal.say(hint);
      throw error;
    });
    const compared = reconcile(journal, bill);
    const { origin, team = null } = config;
    const agrees = compared.every(({ unexplainedMicros }) => unexplainedMicros === 0);
    const data: Output<'reconciliation'> = {
      ...{ kind: 'reconciliation', origin, team, agrees, days: compared, total: sumOf(compared) },
    };
    terminal.print(data, reconciledText(data));
    return agrees ? exitCodes.ok : exitCodes.failed;
  });
}

/** What to do about a refused call; null for other errors. */
function hintOf(error: unknown): string | null {
  const status = (error as { readonly facts?: { readonly status?: unknown } }).facts?.status;
  if (status === 401 || status === 403)
    return 'The service refused SEARCHFLOW_SERVICE_KEY. It must be a service key of the team, and the service must have enabled team management for the team.';
  if (status === 404) return 'The team has no API key with an id of SEARCHFLOW_KEY_ID.';
  if (status === 400) return 'The service may keep its bill for a shorter time. Pass a later day with --since.';
  return null;
}

const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Returns the access to the bill, or throws one `UsageError` with everything that is missing. */
function billAccess({ service, bill, origin }: RuntimeConfig) {
  if (service === 'sandbox')
    throw new UsageError(
      'key-missing',
      'There is no API key, so this command would use the sandbox, which has no bill at the service. Set SEARCHFLOW_API_KEY and SEARCHFLOW_SERVICE_KEY.',
    );
  const missing = [
    ...(bill?.serviceKey
      ? []
      : [
          "SEARCHFLOW_SERVICE_KEY is not set. The bill can be read only with a service key of the team, which is not an API key. Create one in the service's dashboard.",
        ]),
    ...(bill && bill.keyIds.length > 0
      ? []
      : [
          'SEARCHFLOW_KEY_ID is not set. Set it to the id of the API key, or to the ids of all keys of the team, separated by commas.',
        ]),
    ...(bill?.url ? [] : [`SEARCHFLOW_BILL_URL is not set. The address of the bill for ${origin} is not known.`]),
  ];
  if (!bill?.url || missing.length > 0) throw new UsageError('key-missing', missing.join('\n'));
  return { ...bill, url: bill.url };
}

type Figures = Output<'reconciliation'>['total'];

function sumOf(days: readonly ReconciledDay[]): Figures {
  const sum = (of: (day: ReconciledDay) => number) => days.reduce((all, day) => all + of(day), 0);
  return {
    journalMicros: sum(({ journalMicros }) => journalMicros),
    serviceMicros: sum(({ serviceMicros }) => serviceMicros),
    differenceMicros: sum(({ differenceMicros }) => differenceMicros),
    unknownOutcomes: sum(({ unknownOutcomes }) => unknownOutcomes),
    unknownAtMostMicros: sum(({ unknownAtMostMicros }) => unknownAtMostMicros),
    unknownMicros: sum(({ unknownMicros }) => unknownMicros),
    unexplainedMicros: sum(({ unexplainedMicros }) => unexplainedMicros),
    keys: (days[0]?.keys ?? []).map(({ id, name }, nth) => {
      return { id, name, serviceMicros: sum(({ keys }) => keys[nth]?.serviceMicros ?? 0) };
    }),
  };
}

/** The days with purchases or charges, with a column for each of several keys, and what the difference means. */
function reconciledText({ origin, days, total, agrees }: Output<'reconciliation'>): string {
  const keys = total.keys.length > 1 ? total.keys : [];
  const shown = days.filter((day) => day.journalMicros + day.serviceMicros + day.unknownAtMostMicros > 0);
  const row = (name: string, one: Figures) => [
    ...[name, dollars(one.journalMicros), dollars(one.serviceMicros), dollars(one.differenceMicros)],
    ...[dollars(one.unknownMicros), dollars(one.unexplainedMicros)],
    ...keys.map((_, nth) => dollars(one.keys[nth]?.serviceMicros ?? 0)),
  ];
  const heads = ['day', 'journal', 'service', 'difference', 'unknown outcomes', 'unexplained'];
  return lines(
    `Journal and bill of ${printable(origin)} (UTC):`,
    shown.length === 0
      ? 'Neither the journal nor the service has a charge in this time.'
      : [
          columns([
            [...heads, ...keys.map(({ id }) => printable(id, 40))],
            ...shown.map((one) => row(one.day, one)),
            row('total', total),
          ]),
          total.unknownOutcomes > 0 &&
            `${some(total.unknownOutcomes, 'unknown outcome')} may have cost at most ${dollars(total.unknownAtMostMicros)}.`,
          agrees
            ? 'Every difference is explained.'
            : 'A difference is not explained. Other programs with the same key, other state folders, runs of monitors and keys that SEARCHFLOW_KEY_ID does not name are not in this journal; the bill of today may be incomplete.',
        ],
  );
}
