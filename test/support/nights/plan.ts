import { mulberry } from '../schedules/changing-file.js';

/** What happens to the job in a night. */
export const jobFaults = [
  'none',
  'limited',
  'errors',
  'lost',
  'revoked',
  'revoked by hand',
  'half',
  'most',
  'over',
  'over run',
  'failing',
  'killed',
  'temporal',
  'no worker',
  'postgres',
  'no file',
] as const;
export type JobFault = (typeof jobFaults)[number];

/** What happens to the receivers in a night. `out`: the webhook is down for an hour. */
export const receiverFaults = [
  'out',
  'status 500',
  'silent',
  'slow',
  'other secret',
  'program fails',
  'program hangs',
  'killed in delivery',
] as const;
/** `away`: the webhook is down, also in the next night. */
export type ReceiverFault = (typeof receiverFaults)[number] | 'away' | 'none';

export interface Night {
  readonly night: number;
  readonly job: JobFault;
  readonly receivers: ReceiverFault;
}

export const NIGHTS = 30;
/** Nights in a row without the webhook. */
const AWAY = 3;

/** Nights with each fault of the job at least once, and each fault of the receivers once, in an order by the seed. */
export function planNights(seed: number, without: readonly JobFault[] = []): readonly Night[] {
  const random = mulberry(seed);
  const shuffled = <T>(all: readonly T[]): T[] =>
    all
      .map((one) => ({ one, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one);
  const faults = jobFaults.filter((fault) => !without.includes(fault));
  const more = Array.from({ length: NIGHTS - 1 - faults.length }, () => faults[Math.floor(random() * faults.length)]);
  // The first night has no fault, so that there is a job to look at.
  const jobs = ['none', ...shuffled([...faults, ...more])] as readonly JobFault[];
  // The nights without the webhook are together; each other fault of the receivers has a night after them or before.
  const awayAt = 2 + Math.floor(random() * (NIGHTS - AWAY - 3));
  const others = shuffled([
    ...receiverFaults,
    ...Array<'none'>(NIGHTS - AWAY - 1 - receiverFaults.length).fill('none'),
  ]);
  const receivers: ReceiverFault[] = ['none', ...others];
  receivers.splice(awayAt, 0, ...Array<'away'>(AWAY).fill('away'));
  return jobs.map((job, night) => ({ night, job, receivers: receivers[night] ?? 'none' }));
}
