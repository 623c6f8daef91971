import { type Client, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';

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
