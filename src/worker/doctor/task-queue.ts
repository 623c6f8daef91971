import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { missedText } from '../../core/alerts/schedule-alerts.js';
import { lockHolder } from '../../files/process-lock.js';
import { missedRuns } from '../schedules/missed-runs.js';
import { schedulesHere } from '../schedules/schedule-control.js';
import { viewOf } from '../schedules/schedule-view.js';
import { queueLockOf, workerOn } from '../team/presence.js';
import { type Found, ok, problem, type Setup, warning } from './finding.js';

/** Maximum number of schedules whose last run is read. */
const MOST_SCHEDULES = 50;

/** The worker of the task queue, and the schedules that need it. */
export async function queueFindings(client: Client, setup: Setup): Promise<readonly Found[]> {
  const { taskQueue } = setup.config;
  const [worker, pollers, schedules] = await Promise.all([
    workerOn(client, taskQueue),
    pollersOf(client, setup),
    schedulesHere(client, taskQueue),
  ]);
  const views = await Promise.all(
    schedules.slice(0, MOST_SCHEDULES).map((about) => viewOf(client, about, 1, worker !== null)),
  );
  const known = views.filter((view) => view !== null);
  const missed = await Promise.all(
    schedules.slice(0, MOST_SCHEDULES).map((about) => missedRuns(client, about, { now: Date.now() })),
  );
  const active = known.filter(({ paused }) => !paused);
  return [
    {
      ...workerFinding(
        worker,
        pollers,
        active.map(({ name }) => name),
        setup,
      ),
      check: 'task-queue',
    },
    ...missed.flat().map((one) => ({
      ...warning(
        `${missedText(one)}.`,
        'Keep a worker running, under systemd or in tmux; to run it now:',
        `searchflow schedule trigger ${one.schedule}`,
      ),
      check: 'schedules',
    })),
    ...known.flatMap((view) => {
      const [last] = view.runs;
      if (last?.phase !== 'failed') return [];
      const text = `The last run of the schedule ${view.name} failed at ${new Date(last.at).toISOString()}: ${last.message ?? 'no reason is known'}`;
      return [
        {
          ...warning(
            text.replace(/\.?$/, '.'),
            'Mend the cause, and run it again:',
            `searchflow schedule trigger ${view.name}`,
          ),
          check: 'schedules',
        },
      ];
    }),
    ...(known.length > 0
      ? [
          {
            ...ok(`Schedules: ${known.length}, of which ${known.length - active.length} are paused.`),
            check: 'schedules',
          },
        ]
      : []),
  ];
}

type Worker = Awaited<ReturnType<typeof workerOn>>;

function workerFinding(worker: Worker, pollers: number, schedules: readonly string[], { config }: Setup): Found {
  const { taskQueue, store, stateDir } = config;
  if (worker === null) {
    const text = `No worker answers on the task queue ${taskQueue}${pollers > 0 ? ` (${pollers} polled in the last minutes)` : ''}.`;
    if (schedules.length === 0)
      return ok(`${text} Commands that buy run one themselves; schedules and --detach need \`searchflow worker\`.`);
    const few = schedules.slice(0, 3).join(', ');
    return problem(
      `${text} ${schedules.length === 1 ? 'A schedule waits' : `${schedules.length} schedules wait`} for one: ${few}${schedules.length > 3 ? ', …' : ''}.`,
      'Keep a worker running, under systemd or in tmux:',
      'searchflow worker',
    );
  }
  const who = `PID ${worker.pid} on ${worker.host}, since ${new Date(worker.since).toISOString()}`;
  const own = store?.shown ?? null;
  const ofFolder = worker.host === hostname() && lockHolder(join(stateDir, 'worker.lock'))?.pid === worker.pid;
  if (worker.store === own && (own !== null || ofFolder))
    return ok(
      `A worker answers on the task queue ${taskQueue} (${who}); ${pollers === 1 ? '1 process polls' : `${pollers} processes poll`} it.`,
    );
  const { remedy } = queueLockOf(config);
  return problem(
    `A worker with another store answers on the task queue ${taskQueue} (${who}, with ${worker.store ?? 'its own folder'}); a worker here would be refused.`,
    `${remedy.replace(/\.?$/, '.')}`,
  );
}

/** Processes that asked the task queue for work in the last minutes, those that have ended meanwhile included. */
async function pollersOf(client: Client, { config: { namespace, taskQueue } }: Setup): Promise<number> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: WORKFLOW_QUEUE,
  });
  return new Set((pollers ?? []).map(({ identity }) => identity)).size;
}
/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's API. */
const WORKFLOW_QUEUE = 1;
