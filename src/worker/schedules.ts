import { type Client, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';

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
