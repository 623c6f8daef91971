import { expect } from 'vitest';
import { deferred } from '../../../src/core/processes/deferred.js';
import type { Fault } from '../../service/service.mjs';
import { alertProblems } from '../alerts/schema.js';
import { NightlyFile } from './nightly-file.js';
import { type Nights, type NotedAlert, soon } from './nights.js';
import { type JobFault, type Night, planNights, type ReceiverFault } from './plan.js';

/** What a night must have reported: the labels of its alerts, see `labelOf`. */
interface Expected {
  readonly labels: string[];
  /** Lower steps of a cap, which are reported only if a check meets them. */
  readonly perhaps?: readonly string[];
}

const USUAL_CAP = 5;
const { floor } = Math;

/** The type of an alert and the field that tells it from others of its type. */
export function labelOf({ type, data }: Pick<NotedAlert, 'type' | 'data'>): string {
  if (type === 'job.unknown_outcomes') return `${type} ${data.outcomes}`;
  const detail = data.reason ?? data.scope;
  return detail === undefined ? type : `${type} ${detail}`;
}

const lost = { how: 'lost' } as const;
const cut = { how: 'cut' } as const;

/** A schedule that lives through nights with faults. After each night its alerts are compared with what has happened. */
export class Life {
  readonly file: NightlyFile;
  readonly plan: readonly Night[];
  /** Alerts that may have come twice, because their sender was killed. */
  readonly #doubtful = new Set<string>();
  readonly #known = new Set<string>();
  #unknown = 0;

  constructor(
    readonly nights: Nights,
    seed: number,
    without: readonly JobFault[] = [],
  ) {
    this.file = new NightlyFile(seed);
    this.plan = planNights(seed, without);
  }

  async live(): Promise<void> {
    const { nights } = this;
    this.file.change('good');
    nights.write(this.file);
    await nights.schedule(USUAL_CAP);
    await nights.work();
    for (const night of this.plan) {
      await this.#night(night).catch((error: unknown) => {
        throw new Error(`night ${JSON.stringify(night)}: ${nights.said()}`, { cause: error });
      });
    }
    await nights.drain();
  }

  async #night({ night, job, receivers }: Night): Promise<void> {
    const { nights, file } = this;
    if (night > 0) {
      const needsGood: readonly JobFault[] = ['half', 'most', 'over', 'over run'];
      file.change(job === 'failing' ? 'failing' : needsGood.includes(job) ? 'good' : 'mixed');
      nights.write(file);
    }
    console.info(`night ${night}: ${job}, receivers: ${receivers}`);
    const end = await this.#trouble(receivers, this.plan[night - 1]?.receivers);
    nights.fail(() => 'ok');
    const expected = await this.#work(job);
    const unknown = await this.#newUnknown();
    if (job === 'lost') expect(unknown).toBe(3);
    if (unknown > 0) expected.labels.push(`job.unknown_outcomes ${unknown}`);
    await this.#compare(expected);
    await end(this.plan[night + 1]?.receivers);
  }

  /** Sets the fault of the receivers. Returns a function that ends the fault, and waits for the deliveries. */
  async #trouble(fault: ReceiverFault, before?: ReceiverFault): Promise<(after?: ReceiverFault) => Promise<void>> {
    const { nights } = this;
    const { receivers } = nights;
    const arrived = receivers.delivered.length;
    const refused = () => receivers.delivered.slice(arrived).filter(({ status }) => status !== 200).length;
    const waitFor = async (count: () => number) =>
      expect.poll(count, { ...soon, message: nights.said() }).toBeGreaterThan(0);
    switch (fault) {
      case 'none':
        return () => this.#allDelivered();
      case 'away':
        if (before !== 'away') await receivers.close();
        return async (after) => {
          if (after === 'away') return;
          await receivers.open();
          await this.#deliveredLater();
        };
      case 'out':
        await receivers.close();
        return async () => {
          await nights.wake();
          await receivers.open();
          await this.#deliveredLater();
        };
      case 'status 500':
      case 'silent':
        receivers.mode = fault === 'silent' ? 'silent' : 'refuses';
        return async () => {
          await waitFor(refused);
          receivers.mode = 'accepts';
          await this.#deliveredLater();
        };
      case 'slow':
        receivers.mode = 'slow';
        return async () => {
          await this.#allDelivered();
          receivers.mode = 'accepts';
        };
      case 'other secret':
        await nights.drain();
        await nights.work({ secret: 'another-secret-of-the-alerts' });
        return async () => {
          await waitFor(() => receivers.delivered.slice(arrived).filter(({ status }) => status === 401).length);
          await nights.drain();
          await nights.work();
          await this.#deliveredLater();
        };
      case 'program fails':
      case 'program hangs': {
        receivers.program = fault === 'program fails' ? 'fails' : 'hangs';
        return async () => {
          if (fault === 'program fails')
            await expect.poll(() => nights.said(), soon).toContain('The command for alerts does not accept them');
          receivers.program = 'accepts';
          await this.#deliveredLater();
        };
      }
      case 'killed in delivery': {
        const killed = deferred<void>();
        receivers.kill = () => {
          if (receivers.mode !== 'kills') return;
          receivers.mode = 'accepts';
          const last = receivers.delivered.at(-1);
          if (last) this.#doubtful.add(last.alert.id);
          nights.killNow();
          killed.resolve();
        };
        receivers.mode = 'kills';
        // The worker may be killed while its run is in progress, so another one must follow at once.
        const again = killed.promise.then(async () => {
          await nights.kill();
          await nights.work();
        });
        return async () => {
          await again;
          await this.#deliveredLater();
        };
      }
    }
  }

  /** Does the work of a night with its fault. Returns the alerts that it must have caused. */
  async #work(fault: JobFault): Promise<Expected> {
    const { nights } = this;
    const first = (count: number, what: Fault) => nights.fail((nth) => (nth <= count ? what : 'ok'));
    const done = async (): Promise<Expected> => {
      await nights.run('done');
      return { labels: ['job.done'] };
    };
    const again = async (labels: string[], perhaps: readonly string[] = []): Promise<Expected> => {
      await nights.run('done');
      return { labels: [...labels, 'job.done'], perhaps };
    };
    switch (fault) {
      case 'none':
        return done();
      case 'limited':
        first(3, { how: 'status', status: 429, headers: { 'retry-after': '1' } });
        return done();
      case 'errors':
        first(3, { how: 'status', status: 500 });
        return done();
      case 'lost':
        nights.fail((nth) => (nth === 1 ? 'reset' : nth === 2 ? lost : nth === 3 ? cut : 'ok'));
        return done();
      case 'revoked': {
        nights.fail((nth) => (nth >= 2 ? this.#revoked() : 'ok'));
        expect(await nights.run('stopped')).toMatchObject({ message: expect.stringContaining('key') });
        nights.revoke(false);
        nights.fail(() => 'ok');
        return again(['job.stopped key']);
      }
      case 'revoked by hand': {
        nights.fail((nth) => (nth >= 2 ? this.#revoked() : 'ok'));
        await nights.command([...nights.flags, '--detach']);
        const phase = async () =>
          (await nights.json<{ phase: string }>(['status', 'nightly'], [0, 1, 2, 3, 4, 5])).phase;
        await expect.poll(phase, { ...soon, interval: 500 }).toBe('paused');
        // A run of the schedule does not disturb a job that waits for a person.
        await nights.run('skipped');
        nights.revoke(false);
        nights.fail(() => 'ok');
        await nights.command(['resume', 'nightly']);
        return { labels: ['job.paused key', 'job.done'] };
      }
      case 'half':
      case 'most': {
        const { before, due } = await this.#due();
        await this.#cap((before + due) / (fault === 'half' ? 0.6 : 0.9));
        const expected = await done();
        await this.#cap(null);
        return { labels: [...expected.labels, ...(fault === 'half' ? [] : ['cap.80 day'])] };
      }
      case 'over': {
        const { before, due } = await this.#due();
        await this.#cap(before + due / 2);
        await nights.run('stopped');
        await this.#cap(null);
        return again(['cap.100 day', 'job.stopped budget'], ['cap.80 day']);
      }
      case 'over run': {
        const { due } = await this.#due();
        await nights.schedule(floor(due / 2) / 1e6);
        await nights.run('stopped');
        await nights.schedule(USUAL_CAP);
        return again(['cap.100 run', 'job.stopped budget'], ['cap.80 run']);
      }
      case 'failing':
        await nights.run('stopped');
        return { labels: ['job.stopped failed'] };
      case 'killed':
        await nights.run('done', async () => {
          await nights.called(2);
          this.#doubt();
          await nights.kill();
          await nights.work();
        });
        return { labels: ['job.done'] };
      case 'temporal':
        await nights.run('done', async () => {
          await nights.called(2);
          await nights.restartTemporal();
        });
        return { labels: ['job.done'] };
      case 'postgres':
        await nights.run('done', async () => {
          await nights.called(2);
          await nights.restartPostgres();
        });
        return { labels: ['job.done'] };
      case 'no file':
        nights.removeInput();
        await nights.run('failed');
        nights.write(this.file);
        return again(['job.failed']);
      case 'no worker':
        return this.#noWorker();
    }
  }

  /** No worker lives when the run is due; a minute later the Temporal server still has it. */
  async #noWorker(): Promise<Expected> {
    const { nights } = this;
    this.#doubt();
    await nights.kill();
    const due = performance.now();
    await nights.run('done', async () => {
      const findings = await nights.doctor();
      expect(findings).toContainEqual(expect.objectContaining({ check: 'task-queue', ok: false }));
      await expect.poll(() => performance.now() - due, soon).toBeGreaterThan(6000);
      await nights.work({ seesLate: true });
    });
    const missed = async () =>
      (await nights.alerts()).filter(({ id, type }) => type === 'schedule.missed' && !this.#known.has(id));
    await expect.poll(async () => (await missed()).length, { ...soon, interval: 500 }).toBe(1);
    await nights.drain();
    await nights.work();
    return { labels: ['job.done', 'schedule.missed'] };
  }

  #revoked(): Fault {
    this.nights.revoke();
    return { how: 'status', status: 401, body: { error: 'no such key', tag: 'INVALID_API_KEY' } };
  }

  /** The spending of the day in micro-dollars, and the cost of the rows that are not bought yet. */
  async #due(): Promise<{ readonly before: number; readonly due: number }> {
    const { nights, file } = this;
    const bought = nights.service.purchases.report().units;
    const urls = new Set(
      file.lines.map(([, , url]) => url).filter((url) => url.includes('/page-') && !url.includes('gone')),
    );
    const due = 1000 * [...urls].filter((url) => !Object.hasOwn(bought, url)).length;
    const { day } = await nights.json<{ day: { countedDollars: number } }>(['limits']);
    return { before: Math.round(day.countedDollars * 1e6), due };
  }

  async #cap(micros: number | null): Promise<void> {
    await this.nights.command([
      'limits',
      'set',
      '--per-day',
      micros === null ? 'none' : (floor(micros) / 1e6).toFixed(6),
    ]);
  }

  /** Number of unknown outcomes since the last call. */
  async #newUnknown(): Promise<number> {
    const { total } = await this.nights.json<{ total: { unknownOutcomes: number } }>(['usage']);
    const more = total.unknownOutcomes - this.#unknown;
    this.#unknown = total.unknownOutcomes;
    return more;
  }

  /** Alerts that arrived shortly before a kill may not be recorded as delivered. */
  #doubt(): void {
    const recent = performance.now() - 2000;
    for (const { at, alert } of this.nights.receivers.delivered) if (at > recent) this.#doubtful.add(alert.id);
  }

  /** The new alerts must be those of the night. */
  async #compare({ labels, perhaps = [] }: Expected): Promise<void> {
    const fresh = async () => (await this.nights.alerts()).filter(({ id }) => !this.#known.has(id));
    const isExtra = (label: string) => perhaps.includes(label) && !labels.includes(label);
    const seen = async () =>
      (await fresh())
        .map(labelOf)
        .filter((label) => !isExtra(label))
        .sort();
    // A check of caps may end a little later than the job.
    await expect.poll(seen, { timeout: 30_000, interval: 500 }).toEqual([...labels].sort());
    const alerts = await fresh();
    expect(alerts.flatMap(alertProblems)).toEqual([]);
    for (const { id } of alerts) this.#known.add(id);
  }

  /** Wakes the deliveries that wait, until all have ended. */
  async #deliveredLater(): Promise<void> {
    const waiting = async () => (await this.nights.alerts()).filter(({ isDelivered }) => !isDelivered);
    await expect.poll(() => this.nights.wake().then(waiting), { timeout: 120_000, interval: 3000 }).toEqual([]);
    await this.#allDelivered();
  }

  /** Each alert must have been accepted by both receivers, once unless its sender was killed. */
  async #allDelivered(): Promise<void> {
    const { receivers } = this.nights;
    const all = () => [receivers.accepted(), receivers.noted()];
    const missing = () => all().flatMap((accepted) => [...this.#known].filter((id) => !accepted.has(id)));
    await expect.poll(missing, { ...soon, message: this.nights.said() }).toEqual([]);
    for (const accepted of all()) {
      expect([...accepted.keys()].sort()).toEqual([...this.#known].sort());
      for (const [id, times] of accepted) expect(times, id).toBeLessThanOrEqual(this.#doubtful.has(id) ? 2 : 1);
    }
  }
}
