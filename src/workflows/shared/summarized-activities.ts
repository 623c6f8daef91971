import {
  type ActivityFunction,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
} from '@temporalio/workflow';

type Functions<A, Name extends keyof A> = Pick<ActivityInterfaceFor<A>, Name>;

/** Activities with this policy, each with its summary: a phrase that Temporal's UI shows beside the name of the activity. */
export function summarizedActivities<A extends object, Name extends keyof A & string>(
  policy: ActivityOptions,
  summaries: Readonly<Record<Name, string>>,
): Functions<A, Name> {
  const activities = Object.entries<string>(summaries).map(([name, summary]) => [
    name,
    (proxyActivities({ ...policy, summary }) as Readonly<Record<string, ActivityFunction>>)[name],
  ]);
  return Object.fromEntries(activities) as Functions<A, Name>;
}
