import type { Output } from '../api/command-outputs.js';
import type { MonitorAction } from '../core/choices.js';
import { batchProblem } from '../core/monitors/monitor-batch.js';
import { jobOfWorkflow } from '../core/rows/job-ids.js';
import type { BatchMonitorsInput } from '../core/workflow-input-schemas.js';
import type { BatchProgress, BatchSummary } from '../core/workflow-result-schemas.js';
import { UsageError } from '../worker/config/runtime-types.js';
import type { BatchHandle, MonitorControl } from '../worker/control/monitor-control.js';
import { readAll } from './flag-values.js';
import { effectText, planText, toFilter } from './monitors.js';
import { follow, ProgressView } from './progress/progress.js';
import { keepSchedule, type ScheduleWish, toScheduleWish } from './schedules.js';
import { askYesNo } from './shared/ask.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import type { Session } from './shared/session.js';
import { whoami, withMonitors } from './shared/with-access.js';
import { count, printable, some, toDo } from './text.js';

export const pause = (context: Context, flags: Flags<'monitors pause'>) => runBatch(context, 'pause', flags);
export const unpause = (context: Context, flags: Flags<'monitors unpause'>) => runBatch(context, 'unpause', flags);

export const remove = async (context: Context, id: string | undefined, flags: Flags<'monitors delete'>) =>
  id === undefined ? runBatch(context, 'delete', flags) : (await import('./monitors.js')).remove(context, id, flags);

/**
 * `searchflow monitors pause|unpause|delete`: shows the plan, asks for approval, makes the calls and shows the effect. If the
 * same batch is already running, the command only watches that batch.
 */
async function runBatch(
  context: Context,
  action: MonitorAction,
  flags: Flags<'monitors delete'> & Partial<Flags<'monitors unpause'>>,
): Promise<ExitCode> {
  const { terminal } = context;
  const { limit } = flags;
  const { filter, wish, mistakes } = readAll({
    filter: () => toFilter(flags),
    wish: () => toScheduleWish(flags),
  });
  const asks = !flags.yes && !flags.waitForApproval && terminal.asks;
  if (action === 'delete' && !flags.yes && !flags.waitForApproval && !asks) {
    mistakes.push(`Deleting is permanent and ${terminal.cannotAsk}. Pass --yes or --wait-for-approval.`);
  }
  const by = whoami(context);
  const { ofSchedule } = flags;
  if (wish !== null && (flags.yes || flags.waitForApproval))
    mistakes.push('A scheduled batch needs no approval. Leave out --yes and --wait-for-approval.');
  const wanted: BatchMonitorsInput = { action, by, filter, ofSchedule, limit };
  const problem = mistakes.length > 0 ? null : batchProblem(wanted);
  if (problem !== null) mistakes.push(`${problem}.`);
  return withMonitors(
    context,
    flags,
    mistakes,
    async (control, session) => {
      if (wish !== null) return schedule(context, control, session, wish, { ...wanted, ...control.target(flags.into) });
      const approval: BatchMonitorsInput['approval'] = flags.yes
        ? { by, why: '--yes' }
        : flags.waitForApproval || asks
          ? 'wait'
          : 'none';
      const input = { ...wanted, ...control.target(flags.into), approval };
      // A batch with --wait-for-approval is approved by another command, so the batch must outlive this command.
      const owned = !flags.waitForApproval;
      if (owned) await (await session.runtime.work()).own(control.batchWork(input));
      else await session.runtime.workflows({ worker: true });
      const handle = await control.startBatch(input, { owned });
      return watch(session, handle, { asks, approves: flags.yes ?? false, limit, by });
    },
    { owns: true },
  );
}

async function schedule(
  context: Context,
  control: MonitorControl,
  { runtime }: Session,
  wish: ScheduleWish,
  wanted: BatchMonitorsInput,
): Promise<ExitCode> {
  const access = await runtime.workflows();
  const { ofSchedule } = wanted;
  // The module is loaded here, because a batch without a schedule does not need it.
  const { ScheduleControl } = await import('../worker/schedules/schedule-control.js');
  const named =
    ofSchedule === undefined || wish.timing === 'never'
      ? {}
      : { ofSchedule: await new ScheduleControl(access).named(ofSchedule) };
  const input = { ...wanted, ...named };
  const name = wish.name ?? control.batchWork(input).job;
  return keepSchedule(context, access, wish, { name, work: control.scheduledBatch(input, name) });
}

const decide =
  (decision: 'approve' | 'reject') =>
  async (context: Context, job: string, flags: Flags<'monitors approve'>): Promise<ExitCode> => {
    return withMonitors(context, flags, [], async (control, session) => {
      const by = whoami(context);
      const handle = control.batch(jobOfWorkflow(job));
      await handle.decide(decision, by, flags.why);
      context.terminal.say(
        `${printable(job)} was ${decision === 'approve' ? 'approved' : 'rejected'} by ${printable(by)}.`,
      );
      const output: Output<'decision'> = { kind: 'decision', job: handle.job, decision, by };
      if (session.runtime.clientOnly) context.terminal.result(output);
      if (session.runtime.clientOnly) return exitCodes.ok;
      const code = await watch(session, handle, { asks: false, approves: false, by });
      return decision === 'reject' ? exitCodes.ok : code;
    });
  };
export const approve = decide('approve');
export const reject = decide('reject');

interface Manner {
  readonly asks: boolean;
  /** Whether this command approves a waiting batch that another command started. */
  readonly approves: boolean;
  readonly limit?: number | undefined;
  readonly by: string;
}

const POLL_EVERY_MS = 300;

async function watch(session: Session, handle: BatchHandle, manner: Manner): Promise<ExitCode> {
  const { terminal, stopped } = session;
  const view = new ProgressView(terminal);
  let planShown = false;
  let waitShown = false;
  const showPlan = (progress: BatchProgress): void => {
    if (planShown || !progress.plan || progress.plan.planned === 0) return;
    terminal.note(planText(progress, progress.plan));
    if (manner.limit !== undefined && manner.limit !== progress.limit)
      terminal.note(`This batch is already running with --limit ${progress.limit}. Its limit does not change.`);
    planShown = true;
  };
  const show = async (progress: BatchProgress) => {
    showPlan(progress);
    if (progress.phase === 'running') view.update(runningText(progress), performance.now());
    if (progress.phase !== 'waiting' || progress.decision) return null;
    if (manner.asks || manner.approves) {
      const decision = manner.approves || (await askYesNo(session, questionOf(progress))) ? 'approve' : 'reject';
      const why = manner.approves ? '--yes' : 'confirmed on the terminal';
      await handle.decide(decision, manner.by, why).catch((error: unknown) => {
        // Another command decided while this command was asking.
        if (!(error instanceof UsageError)) throw error;
        terminal.say(printable(error.message));
      });
    } else if (!waitShown) terminal.say(waitingText(progress));
    waitShown = true;
    return null;
  };
  const watched = { poll: () => handle.progress(), show, result: () => handle.result() };
  const summary = await follow(watched, { stopped, everyMs: POLL_EVERY_MS });
  showPlan(summary);
  terminal.show('');
  terminal.tell<Output<'batch'>>({ kind: 'batch', ...summary }, effectText(summary));
  if (summary.phase === 'done') return (summary.effect?.missed ?? 0) === 0 ? exitCodes.ok : exitCodes.failed;
  return endCodes[summary.phase] ?? exitCodes.failed;
}

function questionOf({ action, plan }: BatchProgress): string {
  const monitors = some(plan?.planned ?? 0, 'monitor');
  return action === 'delete' ? `Delete ${monitors} permanently?` : `Do you want to ${action} ${monitors}?`;
}

function waitingText({ job, approveUntil }: BatchProgress): string {
  const until = approveUntil === null ? '' : ` until ${new Date(approveUntil).toISOString().replace('.000Z', 'Z')}`;
  return `Waiting for approval${until}. ${toDo('To approve', 'monitors', 'approve', job)}`;
}

function runningText({ affected, plan, calls, message }: BatchProgress): string {
  const text = `${count(affected)} of ${some(plan?.planned ?? 0, 'monitor')}, ${some(calls, 'call')}`;
  return message === null ? text : `${text}; ${printable(message)}`;
}

const endCodes: Readonly<Partial<Record<BatchSummary['phase'], ExitCode>>> = {
  rejected: exitCodes.usage,
  expired: exitCodes.usage,
  cancelled: exitCodes.stopped,
};
