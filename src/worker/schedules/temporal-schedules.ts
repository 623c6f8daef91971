import {
  type Client,
  type ScheduleDescription,
  ScheduleNotFoundError,
  WorkflowNotFoundError,
} from '@temporalio/client';

/** The ids of all schedules of searchflow begin with this. */
export const SCHEDULE_PREFIX = 'searchflow-schedule-';

/** A schedule of the Temporal server; null if there is none. */
export async function describeSchedule(client: Client, scheduleId: string): Promise<ScheduleDescription | null> {
  try {
    return await client.schedule.getHandle(scheduleId).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** All schedules whose id has this prefix. Changes of the last second may not be visible yet. */
export async function schedulesOf(client: Client, prefix: string): Promise<ScheduleDescription[]> {
  const found: ScheduleDescription[] = [];
  for await (const { scheduleId } of client.schedule.list()) {
    const about = scheduleId.startsWith(prefix) ? await describeSchedule(client, scheduleId) : null;
    if (about) found.push(about);
  }
  return found;
}

/** Pauses a schedule and cancels its running workflows. Does nothing if there is no such schedule. */
export async function pauseAndCancelSchedule(client: Client, scheduleId: string): Promise<void> {
  try {
    await client.schedule.getHandle(scheduleId).pause('it is being removed');
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return;
    throw error;
  }
  const about = await describeSchedule(client, scheduleId);
  for (const { workflow } of about?.info.runningActions ?? []) await cancelRunning(client, workflow.workflowId);
}

/** Cancels a workflow if it is running. */
export async function cancelRunning(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/** Deletes a schedule; false if there is none. */
export async function deleteSchedule(client: Client, scheduleId: string): Promise<boolean> {
  try {
    await client.schedule.getHandle(scheduleId).delete();
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}
