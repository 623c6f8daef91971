import {
  type Client,
  type ScheduleDescription,
  ScheduleNotFoundError,
  WorkflowNotFoundError,
} from '@temporalio/client';

/** A schedule of the Temporal server, or null. */
export async function describeSchedule(client: Client, scheduleId: string): Promise<ScheduleDescription | null> {
  try {
    return await client.schedule.getHandle(scheduleId).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** All whose id begins so. What is made or deleted in the last second may be missing, or there. */
export async function schedulesOf(client: Client, prefix: string): Promise<ScheduleDescription[]> {
  const found: ScheduleDescription[] = [];
  for await (const { scheduleId } of client.schedule.list()) {
    const about = scheduleId.startsWith(prefix) ? await describeSchedule(client, scheduleId) : null;
    if (about) found.push(about);
  }
  return found;
}

/** Lets a schedule start nothing any more, and cancels what it started. Where there is none it does nothing. */
export async function haltSchedule(client: Client, scheduleId: string): Promise<void> {
  try {
    await client.schedule.getHandle(scheduleId).pause('it is being removed');
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return;
    throw error;
  }
  const about = await describeSchedule(client, scheduleId);
  for (const { workflow } of about?.info.runningActions ?? []) await cancelRunning(client, workflow.workflowId);
}

/** Cancels a workflow where it runs. */
export async function cancelRunning(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/** False where there is none. */
export async function deleteSchedule(client: Client, scheduleId: string): Promise<boolean> {
  try {
    await client.schedule.getHandle(scheduleId).delete();
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}
