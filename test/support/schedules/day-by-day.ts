import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ScheduleHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { expect } from 'vitest';
import type { JobSummary } from '../../../src/core/row-job-schemas.js';
import type { ScheduledOutcome } from '../../../src/core/workflow-result-schemas.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { type Running, runCommand, startCommand } from '../cli/command.js';
import { Folder } from '../jobs/folder.js';
import type { ChangingFile } from './changing-file.js';

const clock = fileURLToPath(new URL('./clock.mjs', import.meta.url));
const soon = { timeout: 60_000, interval: 20 };

/** Rows that change from day to day. */
type ChangingInput = Pick<ChangingFile, 'rows' | 'aheadMs'>;

/** A schedule that the command made, a worker process whose clock the test sets, and a service with a purchase log of its own. */
export class DayByDay {
  readonly folder = new Folder();
  readonly sandbox: Sandbox;
  readonly #temporal: TestWorkflowEnvironment;
  readonly #clockFile = join(this.folder.dir, 'clock');
  readonly #env: Record<string, string>;
  #schedule: ScheduleHandle | null = null;
  #runs = 0;
  #worker: Running | null = null;

  private constructor(temporal: TestWorkflowEnvironment, sandbox: Sandbox, env: Record<string, string>) {
    this.#temporal = temporal;
    this.sandbox = sandbox;
    this.#env = {
      SEARCHFLOW_API_KEY: 'key-of-the-schedule',
      SEARCHFLOW_BASE_URL: sandbox.url,
      SEARCHFLOW_STATE_DIR: this.folder.stateDir,
      SEARCHFLOW_TASK_QUEUE: this.folder.dir,
      SEARCHFLOW_QPS: '200',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace as string,
      XDG_STATE_HOME: this.folder.dir,
      TEST_CLOCK_FILE: this.#clockFile,
      ...env,
    };
  }

  static async open(temporal: TestWorkflowEnvironment, env: Record<string, string> = {}): Promise<DayByDay> {
    return new DayByDay(temporal, await startSandbox({ failureRate: 0, textBytes: 50, latencyMs: 40 }), env);
  }

  /** Creates the schedule by the command, with these flags. The input is the file, unless a flag names another source. */
  async schedule(file: ChangingInput, ...flags: string[]): Promise<void> {
    this.#write(file);
    const args = [
      'enrich',
      ...(flags.includes('--from') ? [] : [this.folder.input]),
      '--batch',
      '10',
      '--cron',
      '0 0 1 1 *',
      '--schedule-name',
      'days',
      '--yes',
    ];
    const { code, err } = await runCommand([...args, ...flags], { cwd: this.folder.dir, env: this.#env });
    expect([code, err]).toEqual([0, expect.stringContaining('Schedule days created: 0 0 1 1 * (UTC)')]);
    this.#schedule = this.#temporal.client.schedule.getHandle('searchflow-schedule-days');
  }

  async work(): Promise<void> {
    this.#worker = startCommand(['worker'], {
      cwd: this.folder.dir,
      env: { ...this.#env, NODE_OPTIONS: `--import ${clock}` },
    });
    await this.#worker.says(/Worker running on/);
  }

  /** Kills the worker and starts another one. */
  async restartWorker(): Promise<void> {
    await this.kill();
    await this.work();
  }

  async kill(): Promise<void> {
    this.#worker?.child.kill('SIGKILL');
    await this.#worker?.ended;
  }

  /** Runs the schedule on today's file. `meanwhile` is called after the run was triggered. */
  async run(file: ChangingInput, meanwhile: () => Promise<void> = async () => undefined): Promise<JobSummary> {
    this.#write(file);
    const schedule = this.#schedule as ScheduleHandle;
    await schedule.trigger();
    await meanwhile();
    this.#runs++;
    let last: { readonly workflowId: string; readonly firstExecutionRunId: string } | undefined;
    await expect
      .poll(async () => {
        const { numActionsTaken, recentActions } = (await schedule.describe()).info;
        last = recentActions.at(-1)?.action.workflow;
        return numActionsTaken;
      }, soon)
      .toBe(this.#runs);
    const handle = this.#temporal.client.workflow.getHandle(last?.workflowId ?? '', last?.firstExecutionRunId);
    const { phase, summary } = (await handle.result()) as ScheduledOutcome;
    expect(phase).toBe('done');
    return summary as JobSummary;
  }

  /** Number of purchases of each URL in the log of the service. */
  sold(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.sandbox.bill().keys).map(([key, times]) => [key.split(' ')[1], times]),
    );
  }

  async close(): Promise<void> {
    await this.kill();
    await this.#schedule?.delete();
    await this.sandbox.close();
    this.folder.remove();
  }

  #write(file: ChangingInput): void {
    writeFileSync(this.#clockFile, String(file.aheadMs));
    this.folder.write(file.rows);
  }
}

export interface Story {
  readonly days: number;
  readonly refreshAfterDays: number;
  readonly into: string;
  /**
   * `killedIn`: numbers of the runs in which the worker is killed while it buys. `killedBefore`: numbers of the runs before which the
   * worker is killed and replaced.
   */
  readonly killedIn?: readonly number[];
  readonly killedBefore?: readonly number[];
}

/** Runs a schedule day by day; returns the total number of purchases that were due. */
export async function live(days: DayByDay, file: ChangingFile, story: Story): Promise<number> {
  const { killedIn = [], killedBefore = [] } = story;
  await days.schedule(file, '--into', story.into, '--refresh-after', `${story.refreshAfterDays}d`);
  await days.work();
  let due = 0;
  for (let run = 0; run < story.days; run++) {
    if (run > 0) file.change();
    due += file.due().length;
    if (killedBefore.includes(run)) await days.restartWorker();
    const before = days.sandbox.log().length;
    const summary = await days.run(file, async () => {
      if (!killedIn.includes(run)) return;
      await expect.poll(() => days.sandbox.log().length, { timeout: 20_000, interval: 1 }).toBeGreaterThan(before);
      await days.restartWorker();
    });
    const { rows, success, missing, vanished } = summary.warehouse;
    expect({ run, rows, success, missing, vanished }).toEqual({
      ...{ run, rows: file.rows.length, success: file.rows.length, missing: 0 },
      vanished: file.vanished.length,
    });
  }
  await days.kill();
  return due;
}
