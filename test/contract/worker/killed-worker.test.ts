import { expect, it } from 'vitest';
import { passOnWork } from '../../../src/worker/control/wake-work.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const HOUR = { seconds: 3600 } as never;

it('the work of a killed worker is passed on at once, and that of another worker stays with it', async () => {
  const { client, namespace } = temporal;
  const service = client.workflowService;
  const taskQueue = { name: 'killed-worker' };
  const sticky = 'killed-worker-sticky';
  const handle = await client.workflow.start('anything', {
    workflowId: 'killed-worker',
    taskQueue: taskQueue.name,
    args: [],
  });
  const soon = <T>(poll: () => Promise<T>) => client.withDeadline(Date.now() + 30_000, poll);
  const workflowTask = () => soon(() => service.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'new' }));
  const activityTask = (identity: string) =>
    soon(() => service.pollActivityTaskQueue({ namespace, taskQueue, identity }));

  // A worker without code: it starts two activities, keeps its workflow, and never answers.
  const { taskToken } = await workflowTask();
  await service.respondWorkflowTaskCompleted({
    ...{ namespace, taskToken },
    commands: ['killed', 'other'].map((activityId) => ({
      commandType: 1,
      scheduleActivityTaskCommandAttributes: {
        ...{ activityId, activityType: { name: activityId }, taskQueue },
        ...{ startToCloseTimeout: HOUR, heartbeatTimeout: HOUR },
      },
    })),
    stickyAttributes: { workerTaskQueue: { name: sticky, normalName: taskQueue.name }, scheduleToStartTimeout: HOUR },
  });
  const taken = [await activityTask('1@here searchflow:record'), await activityTask('2@there')];

  await passOnWork(client, taskQueue.name, ' searchflow:record');
  const again = await activityTask('3@here searchflow:record');
  expect(again).toMatchObject({ activityId: taken[0]?.activityId, attempt: 2 });
  const { raw } = await handle.describe();
  expect(raw.pendingActivities).toMatchObject(
    expect.arrayContaining([expect.objectContaining({ activityId: taken[1]?.activityId, state: 2, attempt: 1 })]),
  );
  await handle.signal('anything');
  expect((await workflowTask()).workflowExecution).toMatchObject({ workflowId: handle.workflowId });
});
