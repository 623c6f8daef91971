import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { stringify } from 'csv-stringify/sync';
import { expect } from 'vitest';
import type { Alert, AlertDelivery } from '../../../src/core/alerts/alert.js';
import type { ScheduledOutcome } from '../../../src/core/schedule.js';
import { startTemporal } from '../../chaos/temporal.mjs';
import { type Fault, type Service, startService } from '../../service/service.mjs';
import { type Running, runCommand, startCommand } from '../cli/command.js';
import { Folder } from '../jobs/folder.js';
import { type PostgresServer, startPostgres } from '../postgres-server.mjs';
import { pgResult } from '../warehouse/pg-query.js';
import { readDuckDb } from '../warehouse/read-duckdb.js';
import type { NightlyFile } from './nightly-file.js';
import { Receivers, secretOfNights } from './receivers.js';

const preload = (name: string) => `--import ${fileURLToPath(new URL(name, import.meta.url))}`;
const late = preload('./late.mjs');

export const soon = { timeout: 90_000, interval: 50 };
const SERVER_KEY = { status: 401, body: { error: 'no such key', tag: 'INVALID_API_KEY' } };

export type NotedAlert = Alert & { readonly isDelivered: boolean };

/** A nightly schedule with all that it needs: service, Temporal server, store, warehouse, worker and receivers. */
export class Nights {
  readonly folder = new Folder();
  readonly receivers = new Receivers(this.folder.dir);
  /** Times of kills of the worker, by `performance.now()`. */
  readonly kills: number[] = [];
  #worker: Running | null = null;
  #runs = 0;
  #calls = 0;
  #faults: (nth: number) => Fault = () => 'ok';
  #isRevoked = false;
  /** Alerts by the workflows of their deliveries. */
  readonly #alerts = new Map<string, Alert>();

  private constructor(
    readonly service: Service,
    readonly temporal: Awaited<ReturnType<typeof startTemporal>>,
    readonly postgres: PostgresServer | null,
    readonly databases: { readonly store: string; readonly warehouse: string } | null,
    readonly client: Client,
  ) {
    service.faultOf = (_call, _method, path) => {
      const fault = path === '/contents' ? this.#faults(++this.#calls) : 'ok';
      return this.#isRevoked ? { how: 'status', ...SERVER_KEY } : fault;
    };
  }

  /** Opens a setting whose store and warehouse are a state folder and a DuckDB file, or two databases of a PostgreSQL server. */
  static async open(place: 'folder' | 'postgres'): Promise<Nights> {
    const service = await startService({ latencyMs: 100 });
    const home = new Folder();
    const temporal = await startTemporal(home.dir);
    const postgres = place === 'postgres' ? await startPostgres() : null;
    const databases = postgres && {
      store: await postgres.database('store'),
      warehouse: await postgres.database('warehouse'),
    };
    const client = new Client({ connection: await Connection.connect({ address: temporal.address }) });
    const nights = new Nights(service, temporal, postgres, databases, client);
    nights.#homes.push(home);
    await nights.receivers.open();
    return nights;
  }

  readonly #homes: Folder[] = [];

  get into(): string {
    return this.databases === null ? this.folder.into : withoutUser(this.databases.warehouse);
  }

  #env(more: Record<string, string> = {}): Record<string, string> {
    const places = this.databases && {
      SEARCHFLOW_STORE: this.databases.store,
      SEARCHFLOW_WAREHOUSE_URL: this.databases.warehouse,
    };
    return {
      SEARCHFLOW_API_KEY: this.service.key,
      SEARCHFLOW_BASE_URL: this.service.url,
      SEARCHFLOW_STATE_DIR: this.folder.stateDir,
      SEARCHFLOW_TASK_QUEUE: 'nights',
      SEARCHFLOW_QPS: '50',
      TEMPORAL_ADDRESS: this.temporal.address,
      XDG_STATE_HOME: this.folder.dir,
      ...places,
      ...this.receivers.settings,
      ...more,
    };
  }

  /** Runs a command to its end. `codes`: the exit codes that are right. */
  async command(args: readonly string[], codes: readonly number[] = [0], env: Record<string, string> = {}) {
    const result = await runCommand(args, { cwd: this.folder.dir, env: this.#env(env) });
    expect(codes, `searchflow ${args.join(' ')}:\n${result.out}${result.err}`).toContain(result.code);
    return result;
  }

  async json<T>(args: readonly string[], codes?: readonly number[], env?: Record<string, string>): Promise<T> {
    return JSON.parse((await this.command([...args, '--json'], codes, env)).out) as T;
  }

  /** The flags of the job, the same for a schedule and for a person. */
  get flags(): readonly string[] {
    return [
      ...['enrich', this.folder.input, '--job', 'nightly', '--into', this.into, '--batch', '3'],
      ...['--stop-at-failed', '60%', '--stop-after', '6', '--yes'],
    ];
  }

  /** Creates the schedule, or changes the cap of its runs. */
  async schedule(maxCost: number): Promise<void> {
    const when = ['--cron', '0 0 1 1 *', '--schedule-name', 'nightly', '--max-cost', maxCost.toFixed(6)];
    await this.command([...this.flags, ...when]);
  }

  write(file: NightlyFile): void {
    writeFileSync(this.folder.input, stringify([['id', 'name', 'url'], ...file.lines]));
  }

  removeInput(): void {
    rmSync(this.folder.input);
  }

  /** Starts a worker. `seesLate`: runs that begin some seconds late are reported at once. */
  async work({ secret = secretOfNights, seesLate = false } = {}): Promise<void> {
    const env = this.#env({ SEARCHFLOW_ALERT_SECRET: secret, ...(seesLate ? { NODE_OPTIONS: late } : {}) });
    this.#worker = startCommand(['worker'], { cwd: this.folder.dir, env });
    await this.#worker.says(/Worker running on/);
  }

  /** Kills the worker. */
  async kill(): Promise<void> {
    this.killNow();
    await this.#worker?.ended;
  }

  killNow(): void {
    this.kills.push(performance.now());
    this.#worker?.child.kill('SIGKILL');
  }

  /** Lets the worker end its work. */
  async drain(): Promise<void> {
    this.#worker?.child.kill('SIGTERM');
    expect(await this.#worker?.ended).toBe(143);
  }

  /** What the worker has written. */
  said(): string {
    return `${this.#worker?.out()}${this.#worker?.err()}`;
  }

  /** Decides the faults of the paid calls from now on, by their number from 1. */
  fail(faults: (nth: number) => Fault): void {
    this.#calls = 0;
    this.#faults = faults;
  }

  revoke(isRevoked = true): void {
    this.#isRevoked = isRevoked;
  }

  /** Resolves when this many paid calls have come since the faults were set. */
  async called(times: number): Promise<void> {
    await expect.poll(() => this.#calls, { ...soon, interval: 5 }).toBeGreaterThanOrEqual(times);
  }

  /** Makes the next attempt of each delivery that waits, as if its time had come. */
  async wake(): Promise<void> {
    const { namespace, identity } = this.client.options;
    const reset = async (workflowId: string) => {
      const { raw } = await this.client.workflow.getHandle(workflowId).describe();
      for (const { activityId: id } of raw.pendingActivities ?? [])
        await this.client.workflowService
          .resetActivity({ namespace, identity, execution: { workflowId }, id })
          .catch(() => undefined);
    };
    for (const { workflowId, isDelivered } of await this.#deliveries()) if (!isDelivered) await reset(workflowId);
  }

  /** All deliveries, the oldest first. */
  async #deliveries() {
    const found = [];
    for await (const { workflowId, status, startTime } of this.client.workflow.list({
      query: "WorkflowType = 'deliverAlert'",
    })) {
      const known = this.#alerts.get(workflowId) ?? (await this.#alertOf(workflowId));
      this.#alerts.set(workflowId, known);
      found.push({ workflowId, alert: known, isDelivered: status.name === 'COMPLETED', startTime });
    }
    return found.sort((one, other) => one.startTime.getTime() - other.startTime.getTime());
  }

  async #alertOf(workflowId: string): Promise<Alert> {
    const { events } = await this.client.workflow.getHandle(workflowId).fetchHistory();
    const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
    return (JSON.parse(Buffer.from(input as Uint8Array).toString('utf8')) as AlertDelivery).alert;
  }

  /** Triggers a run by hand. */
  async trigger(): Promise<() => Promise<ScheduledOutcome | { readonly phase: 'failed'; readonly message: string }>> {
    await this.command(['schedule', 'trigger', 'nightly']);
    const run = ++this.#runs;
    return async () => {
      const schedule = this.client.schedule.getHandle('searchflow-schedule-nightly');
      const last = async () => {
        const { numActionsTaken, recentActions } = (await schedule.describe()).info;
        return numActionsTaken === run ? recentActions.at(-1)?.action.workflow : undefined;
      };
      await expect.poll(() => last().catch(() => undefined), soon).toBeDefined();
      const workflow = await last();
      const handle = this.client.workflow.getHandle(workflow?.workflowId ?? '', workflow?.firstExecutionRunId);
      for (;;) {
        try {
          return (await handle.result()) as ScheduledOutcome;
        } catch (error) {
          const { name, cause, message } = error as Error & { readonly cause?: Error };
          if (name === 'WorkflowFailedError') return { phase: 'failed', message: `${cause?.message ?? message}` };
          // The Temporal server may be restarting.
          await expect
            .poll(
              () =>
                this.client.connection.ensureConnected().then(
                  () => true,
                  () => false,
                ),
              soon,
            )
            .toBe(true);
        }
      }
    };
  }

  /** Runs the schedule by hand; `meanwhile` is called after the trigger. */
  async run(phase: string, meanwhile: () => Promise<void> = async () => undefined) {
    const ended = await this.trigger();
    await meanwhile();
    const outcome = await ended();
    expect(outcome.phase, `${JSON.stringify(outcome)}\n${this.said()}`).toBe(phase);
    return outcome;
  }

  /** All alerts with an event of their own, the oldest first; `isDelivered`: both receivers have accepted it. */
  async alerts(): Promise<readonly NotedAlert[]> {
    const byId = new Map<string, NotedAlert>();
    for (const { alert, isDelivered } of await this.#deliveries())
      byId.set(alert.id, { ...alert, isDelivered: isDelivered && (byId.get(alert.id)?.isDelivered ?? true) });
    return [...byId.values()];
  }

  async doctor(): Promise<readonly { check: string; ok: boolean }[]> {
    return (await this.json<{ checks: readonly { check: string; ok: boolean }[] }>(['doctor'], [0, 1])).checks;
  }

  /** Rows of a query on the warehouse. No worker may be running on a DuckDB file. */
  async query<Row>(sql: string): Promise<readonly Row[]> {
    if (this.databases === null) return readDuckDb<Row>(this.folder.into, sql);
    const { names, rows } = await pgResult(this.databases.warehouse, sql);
    return rows.map((row) => Object.fromEntries(names.map((name, nth) => [name, row[nth]])) as Row);
  }

  /** Starts the Temporal server again. */
  async restartTemporal(): Promise<void> {
    await this.temporal.kill();
    await this.temporal.start();
  }

  async restartPostgres(): Promise<void> {
    await this.postgres?.kill();
    await this.postgres?.start();
  }

  async close(): Promise<void> {
    if (this.#worker) await this.kill();
    await this.client.connection.close();
    await this.temporal.stop();
    await this.receivers.close();
    await this.service.close();
    await this.postgres?.stop();
    for (const folder of [this.folder, ...this.#homes]) folder.remove();
  }
}

function withoutUser(address: string): string {
  return Object.assign(new URL(address), { username: '', password: '' }).href;
}
