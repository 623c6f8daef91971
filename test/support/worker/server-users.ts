import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, vi } from 'vitest';
import { isAlive } from '../../../src/files/process-identity.js';
import { lockHolder } from '../../../src/files/process-lock.js';
import { readRecord, serverFiles } from '../../../src/worker/temporal-server/server-files.js';
import { ensureTemporalServer } from '../../../src/worker/temporal-server/temporal-server.js';

const built = new URL('../../../dist/worker/temporal-server/temporal-server.js', import.meta.url).href;

type EmbeddedServer = Awaited<ReturnType<typeof ensureTemporalServer>>;

/** The processes and the folder of one test, all removed at the end. */
export class ServerUsers {
  stateDir = '';
  said: string[] = [];
  #children: ChildProcess[] = [];
  #attached: EmbeddedServer[] = [];

  setUp(): void {
    this.stateDir = join(mkdtempSync(join(tmpdir(), 'searchflow-server-')), 'state');
    this.said = [];
  }

  async tearDown(): Promise<void> {
    for (const child of this.#children.splice(0)) child.kill('SIGKILL');
    for (const server of this.#attached.splice(0)) await server.detach();
    const supervisor = this.supervisorPid();
    const server = readRecord(serverFiles(this.stateDir))?.pid;
    for (const pid of [supervisor, server]) if (pid !== undefined && isAlive(pid, null)) process.kill(pid, 'SIGKILL');
    if (server !== undefined) await untilGone(server);
    rmSync(join(this.stateDir, '..'), { recursive: true, force: true });
  }

  /** Attaches this process to the server of the folder. */
  async here(lingerMs: number, env: NodeJS.ProcessEnv = process.env, ui?: number): Promise<EmbeddedServer> {
    const server = await ensureTemporalServer({
      stateDir: this.stateDir,
      ...{ env, lingerMs },
      say: (sentence) => this.said.push(sentence),
      ...(ui === undefined ? {} : { ui }),
    });
    this.#attached.push(server);
    return server;
  }

  /** Starts another process that attaches to the server and lives until it is killed. */
  async elsewhere(
    lingerMs: number,
  ): Promise<{ readonly child: ChildProcess; readonly server: Omit<EmbeddedServer, 'detach'> }> {
    const script = `import { ensureTemporalServer } from ${JSON.stringify(built)};
      const [stateDir, linger] = process.argv.slice(1);
      const say = (sentence) => process.stderr.write(sentence + '\\n');
      process.stdout.write(JSON.stringify(await ensureTemporalServer({ stateDir, env: process.env, say, lingerMs: Number(linger) })) + '\\n');
      setInterval(() => {}, 1000);`;
    const args = ['--input-type=module', '--eval', script, this.stateDir, String(lingerMs)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    for await (const line of createInterface({ input: child.stdout! })) return { child, server: JSON.parse(line) };
    throw new Error('The process ended before it had a server.');
  }

  supervisorPid(): number | undefined {
    return lockHolder(serverFiles(this.stateDir).lock)?.pid;
  }
}

/** A fresh folder for each test of a file. */
export function serverUsers(): ServerUsers {
  const users = new ServerUsers();
  beforeEach(() => users.setUp());
  afterEach(() => users.tearDown());
  return users;
}

/** Waits until no living process has this pid. */
export const untilGone = (pid: number, timeout = 20_000): Promise<void> =>
  vi.waitUntil(() => !isAlive(pid, null), { timeout, interval: 50 }).then(() => undefined);
