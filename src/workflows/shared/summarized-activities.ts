import {
  type ActivityFunction,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
} from '@temporalio/workflow';
import type { AllActivities } from '../../activities/index.js';

/** Activities with this policy, each with its summary: a phrase that Temporal's UI shows beside the name of the activity. */
export function summarizedActivities<Name extends keyof AllActivities>(
  policy: ActivityOptions,
  summaries: Readonly<Record<Name, string>>,
): Pick<ActivityInterfaceFor<AllActivities>, Name> {
  const activities = Object.entries<string>(summaries).map(([name, summary]) => [
    name,
    (proxyActivities({ ...policy, summary }) as Readonly<Record<string, ActivityFunction>>)[name],
  ]);
  return Object.fromEntries(activities);
}
