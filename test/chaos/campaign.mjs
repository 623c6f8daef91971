// A seeded campaign: commands work on a strict service while processes are killed and stopped, the service fails, the disk fills and the
// clock jumps. Afterwards the judges read the request log and the purchase log of the service, and the warehouse by SQL. They never use
// counters of searchflow.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { seeded } from '../service/chance.mjs';
import { startService } from '../service/service.mjs';
import { startPostgres } from '../support/postgres-server.mjs';
import { smallDisk } from './disk.mjs';
import { disturbances, planOf } from './disturb.mjs';
import { processesOf, signal, startCommand } from './processes.mjs';
import { shapes } from './shapes.mjs';
import { startTemporal } from './temporal.mjs';

const clock = fileURLToPath(new URL('./clock.mjs', import.meta.url));
const KEY = 'canary-key-of-the-campaign';
/** A campaign without any activity ends after this time. */
const SILENCE_MS = 180_000;
/** Time after a disturbance in which a command may still end because of it. */
const AFTER_MS = 10_000;
const BASE_MS = 180_000;
const EACH_MS = 60_000;

/** Starts the service, the database and the folders that a campaign of this shape needs. */
async function open({ shape, seed, into, say }) {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-chaos-'));
  const disk = into === 'postgres' ? null : smallDisk(dir);
  const state = join(dir, 'state');
  const clockFile = join(dir, 'clock');
  writeFileSync(clockFile, '0');
  mkdirSync(join(dir, 'out'));
  // The service can list events in either order; campaigns on PostgreSQL test the one order, campaigns on DuckDB the other.
  const events = { ...shape.service.events, order: into === 'postgres' ? 'oldest' : 'newest' };
  const service = await startService({ key: KEY, ...shape.service, events });
  const postgres = into === 'postgres' ? await startPostgres() : null;
  const campaign = {
    ...{ dir, disk, state, clockFile, service, postgres, into, say, noun: shape.noun, diskIsFull: false },
    ...{ random: seeded(seed), commands: new Set(), workers: [], findings: [], disturbedAt: [], temporal: null },
    warehouse: postgres ? await postgres.database('warehouse') : join(dir, 'out', 'warehouse.duckdb'),
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, XDG_STATE_HOME: dir },
      ...(process.env.TEMPORAL_CLI ? { TEMPORAL_CLI: process.env.TEMPORAL_CLI } : {}),
      ...{ SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: service.url, SEARCHFLOW_STATE_DIR: state },
      ...{ SEARCHFLOW_QPS: String(shape.service.qps), SEARCHFLOW_CONCURRENCY: String(shape.concurrency) },
      ...{ NODE_OPTIONS: `--import=${clock}`, TEST_CLOCK_FILE: clockFile },
    },
  };
  if (postgres) campaign.env.SEARCHFLOW_WAREHOUSE_URL = campaign.warehouse;
  if (shape.workers > 0) {
    campaign.temporal = await startTemporal(join(dir, 'temporal'));
    campaign.env.TEMPORAL_ADDRESS = campaign.temporal.address;
    campaign.env.SEARCHFLOW_STORE = await postgres.database('store');
    campaign.env.SEARCHFLOW_DEAD_AFTER_SECONDS = '3';
  }
  return campaign;
}

async function close({ dir, disk, service, postgres, temporal }) {
  signal(
    processesOf(dir).map(({ pid }) => pid),
    'SIGKILL',
  );
  await temporal?.stop();
  await service.close();
  await postgres?.stop();
  disk?.remove();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** Runs a command again and again until it ends with 0. Another exit code is allowed only shortly after a disturbance or a fault. */
async function toEnd(campaign, args, more = {}) {
  for (;;) {
    while (campaign.diskIsFull) await delay(100);
    // A disturbance just before the start counts, too: the command may join a workflow that still fails because of the disturbance.
    const begunAt = performance.now() - AFTER_MS;
    const sent = campaign.service.log.length;
    const command = startCommand(args, { cwd: campaign.dir, env: { ...campaign.env, ...more } });
    campaign.commands.add(command);
    const code = await command.ended;
    campaign.commands.delete(command);
    campaign.said.push(command.out(), command.err());
    if (code === 0) return command.out().trim();
    if (campaign.stopped) throw new Error('the campaign was stopped');
    const last = command.err().trim().split('\n').at(-1);
    if (code !== null) campaign.say(`${args.slice(0, 2).join(' ')} ended with ${code}: ${last}`);
    // A request of the command may have met a fault of the service instead of a disturbance.
    const hasFault = campaign.service.log.slice(sent).some(({ fault }) => fault);
    const isDisturbed = campaign.busy || campaign.disturbedAt.some((at) => at >= begunAt);
    if (code !== null && !isDisturbed && !hasFault) {
      throw new Error(`"${args.join(' ')}" ended with ${code} though nothing was done to it\n${command.err()}`);
    }
  }
}

/** Keeps the worker with this number alive until the campaign is over. Each worker has a state folder of its own. */
async function keepWorker(campaign, index) {
  while (!campaign.over) {
    const env = { ...campaign.env, SEARCHFLOW_STATE_DIR: join(campaign.dir, `state-${index}`) };
    const worker = startCommand(['worker'], { cwd: campaign.dir, env });
    campaign.workers.push(worker);
    const code = await worker.ended;
    campaign.workers.splice(campaign.workers.indexOf(worker), 1);
    campaign.said.push(worker.out(), worker.err());
    if (code !== null && !campaign.over) campaign.say(`worker ended with ${code}: ${worker.err().slice(-200)}`);
    await delay(500);
  }
}

/** Waits for a few more requests, and sometimes only for some time, so that disturbances hit every phase of a command. */
async function nextMoment({ service, random, between }, isOver) {
  const later = performance.now() + (random() < 0.3 ? 500 + random() * 4000 : Number.POSITIVE_INFINITY);
  const requests = service.log.length + 1 + Math.floor(random() * between);
  while (performance.now() < later && service.log.length < requests && !isOver()) await delay(10);
}

/** The disturbances that are possible here, with their weights. */
function possible(weights, { disk, postgres }) {
  return Object.fromEntries(
    Object.entries(weights).filter(
      ([kind]) => !(kind === 'disk' && !disk?.possible) && !(kind === 'postgres' && !postgres),
    ),
  );
}

async function disturb(campaign, plan, isOver) {
  const done = {};
  for (const kind of plan) {
    let what = null;
    while (what === null && !isOver()) {
      await nextMoment(campaign, isOver);
      if (isOver()) break;
      campaign.busy = true;
      // The result is null if there was no target for this kind of disturbance at that moment.
      what = await disturbances[kind](campaign, campaign.random);
      campaign.busy = false;
      campaign.disturbedAt.push(performance.now());
    }
    if (what === null) break;
    done[kind] = (done[kind] ?? 0) + 1;
    const count = Object.values(done).reduce((sum, times) => sum + times, 0);
    campaign.say(`${count}/${plan.length} ${what}; ${campaign.service.log.length} requests so far`);
  }
  return done;
}

/** Ends a campaign that was interrupted, that shows no more activity, or that takes too long. */
function watch(campaign, mostMs, interrupt) {
  const begun = performance.now();
  let [last, lastAt] = [-1, begun];
  const timer = setInterval(() => {
    const said = [...campaign.commands].reduce((sum, command) => sum + command.length(), 0);
    const now = campaign.service.log.length + said + campaign.disturbedAt.length;
    if (now !== last) [last, lastAt] = [now, performance.now()];
    const silent = performance.now() - lastAt > SILENCE_MS;
    const interrupted = interrupt?.aborted === true;
    if (!interrupted && !silent && performance.now() - begun < mostMs) return;
    const errors = [...campaign.commands].map((command) => command.err().slice(-500)).join('\n');
    campaign.findings.push(
      `${interrupted ? 'interrupted' : silent ? 'hang: nothing happens' : 'not done in time'}: ${errors}`,
    );
    campaign.stopped = true;
    clearInterval(timer);
    for (const name of ['SIGCONT', 'SIGKILL'])
      signal(
        processesOf(campaign.dir).map(({ pid }) => pid),
        name,
      );
  }, 500);
  return () => clearInterval(timer);
}

/**
 * `kills`: number of disturbances. Returns the disturbances, the findings (empty if every promise held) and the figures that the judges
 * used.
 */
export async function runCampaign({ kills = 5, seed = 1, shape: name = 'rows', into, say, interrupt, ...size }) {
  const shape = shapes[name];
  if (!shape) throw new Error(`--shape ${name}: there are ${Object.keys(shapes).join(', ')}`);
  const campaign = await open({ shape, seed, into: into ?? shape.into, say: say ?? (() => undefined) });
  Object.assign(campaign, { said: [], between: shape.between, size: { ...shape.size, ...size } });
  const begun = performance.now();
  const stopWatching = watch(campaign, BASE_MS + kills * EACH_MS, interrupt);
  const notes = [
    `disk: ${campaign.disk?.kind ?? 'left alone: the warehouse is on a server'}`,
    'clock: Date of every command',
  ];
  let done = {};
  let figures = {};
  let disturbing;
  try {
    const keeping = Array.from({ length: shape.workers }, (_, index) => keepWorker(campaign, index));
    const plan = planOf(possible(shape.disturbances, campaign), kills, campaign.random);
    let finished = false;
    disturbing = disturb(campaign, plan, () => campaign.stopped).finally(() => {
      finished = true;
    });
    const run = shape.run({ ...campaign, toEnd: (...args) => toEnd(campaign, ...args), isFinished: () => finished });
    // If the commands fail while the disturbances continue, the race below reports the failure.
    run.catch(() => undefined);
    await Promise.race([run, disturbing.then(() => run)]);
    done = await disturbing;
    campaign.over = true;
    signal(
      campaign.workers.map(({ pid }) => pid),
      'SIGKILL',
    );
    await Promise.all(keeping);
    figures = await shape.judge({ ...campaign, toEnd: (...args) => toEnd(campaign, ...args), result: await run });
    const leaks = campaign.said.filter((text) => text.includes(KEY)).length;
    if (leaks > 0) campaign.findings.push(`the key is in what ${leaks} commands said`);
  } catch (error) {
    campaign.findings.push(error.message);
  } finally {
    stopWatching();
    campaign.over = true;
    campaign.stopped = true;
    await disturbing?.catch(() => undefined);
    if (!(process.env.KEEP && campaign.findings.length > 0)) await close(campaign);
  }
  const seconds = Math.round((performance.now() - begun) / 1000);
  return { shape: name, seed, seconds, done, notes, figures, findings: campaign.findings };
}
