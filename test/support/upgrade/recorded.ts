import { execFileSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { buildProgram } from '../../../src/cli/program.js';
import type { Context } from '../../../src/cli/shared/context.js';
import { watchInterrupts } from '../../../src/cli/shared/signals.js';
import { openRuntime } from '../../../src/worker/index.js';
import { runCommand } from '../cli/command.js';
import { fakeTerminal } from '../cli/fake-terminal.js';
import { killAllOf } from '../jobs/processes.js';
import { sharedPostgres } from '../postgres.js';
import { readDuckDb } from '../warehouse/read-duckdb.js';

const stores = fileURLToPath(new URL('../../fixtures/stores/', import.meta.url));
/**
 * Prefix of the temporary folders. The path of such a folder replaces the recorded path in the Temporal server's database, so the two must
 * have the same length.
 */
const folderPrefix = '/tmp/searchflow-upgrade-';
const RECORDED = `${folderPrefix}000000`;
const SERVER = 'database.example:5432';

interface JobLine {
  readonly job: string;
  readonly name: string;
  readonly rows: number | null;
  readonly phase: string | null;
  readonly dollars: number | null;
}

interface Usage {
  readonly lines: readonly { readonly job: string; readonly dollars: number; readonly units: number }[];
  readonly total: { readonly dollars: number };
}

/** The names of the recorded stores of a kind; there is one for each version. */
export const storesOf = (kind: 'duckdb' | 'postgres'): readonly string[] =>
  readdirSync(stores).filter((file) => file.endsWith(`-${kind}.tar.gz`));

/** A folder in which an earlier version has worked, with the sandbox that it used. It is removed with the test. */
export class RecordedFolder {
  readonly dir = mkdtempSync(folderPrefix);
  readonly stateDir = join(this.dir, '.searchflow');
  /** The output of the earlier version's commands at the end of the recording. */
  readonly recorded: {
    readonly jobs: readonly JobLine[];
    readonly usage: Usage;
    readonly events: { readonly events: number };
  };
  env: Record<string, string>;

  constructor(store: string) {
    this.env = {
      SEARCHFLOW_STATE_DIR: this.stateDir,
      XDG_STATE_HOME: join(this.dir, 'user'),
      // The recorded answers are older than the default of 7 days, after which they would be pruned.
      SEARCHFLOW_KEEP_LANDING_DAYS: '36500',
      SEARCHFLOW_QPS: '100',
    };
    onTestFinished(() => {
      killAllOf(this.stateDir);
      rmSync(this.dir, { recursive: true, force: true });
    });
    execFileSync('tar', ['-xzf', join(stores, store), '-C', this.dir]);
    for (const file of ['temporal.db', 'allowed.json', ...jobEntries(this.stateDir)])
      this.#moveHere(join(this.stateDir, file));
    this.recorded = JSON.parse(readFileSync(join(this.dir, 'recorded.json'), 'utf8'));
  }

  /** The SQL that restores a recorded database, with this folder and this server instead of the recorded ones. */
  sql(database: string, server: string, name: string): string {
    return readFileSync(join(this.dir, `${database}.sql`), 'utf8')
      .replaceAll(RECORDED, this.dir)
      .replaceAll(`${SERVER}/upgrade_warehouse`, `${server}/${name}`);
  }

  /** Runs a command of the current version in this folder, as a process of its own. Throws if it fails. */
  async run(...args: string[]): Promise<string> {
    return outOf(args, await runCommand(args, { cwd: this.dir, env: this.env }));
  }

  /**
   * Runs a command of the current version in this process, because a new process takes a second to start. Paths must be absolute. Throws if
   * the command fails.
   */
  async runHere(...args: string[]): Promise<string> {
    const { terminal, out, err } = fakeTerminal({ env: this.env });
    let action: (context: Context) => Promise<number> = async () => 0;
    const program = buildProgram('0.0.0', (chosen) => {
      action = chosen;
    });
    await program.parseAsync(args, { from: 'user' });
    const interrupts = watchInterrupts(new EventEmitter());
    const code = await action({ env: this.env, cwd: this.dir, args, terminal, openRuntime, interrupts });
    return outOf(args, { code, out: out(), err: err() });
  }

  /** The jobs and the usage, as the commands of the current version print them. */
  async state() {
    const jobs = await this.runHere('jobs', '--json');
    const usage = await this.runHere('usage', '--by', 'job', '--json');
    return { jobs: JSON.parse(jobs) as JobLine[], usage: JSON.parse(usage) as Usage };
  }

  /** Units that the sandbox has sold more than once since the recording began, by the sandbox's ledger file. */
  soldAgain(): readonly string[] {
    const units = this.#ledger()
      .flatMap((line) => line.units ?? [])
      .map(withoutMark);
    return units.filter((unit, index) => units.indexOf(unit) !== index);
  }

  /** Sum in dollars of all sales of the sandbox. */
  bill(): number {
    return this.#ledger().reduce((sum, { micros = 0 }) => sum + micros, 0) / 1e6;
  }

  /** The rows of an SQL statement on the DuckDB warehouse; no command may run meanwhile. */
  query<Row>(sql: string): Promise<Row[]> {
    return readDuckDb(join(this.dir, 'out', 'warehouse.duckdb'), sql);
  }

  #ledger(): { units?: string[]; micros?: number }[] {
    const lines = readFileSync(join(this.stateDir, 'sandbox', 'ledger.jsonl'), 'utf8')
      .trim()
      .split('\n');
    return lines.map((line) => JSON.parse(line));
  }

  #moveHere(path: string): void {
    if (existsSync(path)) writeFileSync(path, readFileSync(path, 'latin1').replaceAll(RECORDED, this.dir), 'latin1');
  }
}

/** Puts the databases of a recorded folder on the run's server. Returns their addresses. */
export async function restore(folder: RecordedFolder): Promise<{ readonly store: string; readonly warehouse: string }> {
  const postgres = sharedPostgres();
  const [store, warehouse] = await Promise.all([postgres.database('store'), postgres.database('warehouse')]);
  const { host, pathname } = new URL(warehouse);
  for (const [database, address] of [
    ['upgrade_store', store],
    ['upgrade_warehouse', warehouse],
  ] as const)
    await runSql(address, folder.sql(database, host, pathname.slice(1)));
  return { store, warehouse };
}

/** Runs SQL statements. Returns the rows of the last one. */
export async function runSql(address: string, sql: string): Promise<unknown[] | undefined> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    const result = (await client.query(sql)) as unknown as { rows: unknown[] } | { rows: unknown[] }[];
    return (Array.isArray(result) ? result.at(-1) : result)?.rows;
  } finally {
    await client.end();
  }
}

function outOf(args: readonly string[], { code, out, err }: { code: number | null; out: string; err: string }): string {
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${err}`);
  return out;
}

function jobEntries(stateDir: string): string[] {
  if (!existsSync(join(stateDir, 'jobs'))) return [];
  const files = readdirSync(join(stateDir, 'jobs'), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.json')).map((file) => join('jobs', file));
}

/** The request of an agent run without its tag, because each start has another tag. */
function withoutMark(unit: string): string {
  if (!unit.startsWith('{')) return unit;
  const { metadata: _, ...request } = JSON.parse(unit) as Record<string, unknown>;
  return JSON.stringify(request);
}
