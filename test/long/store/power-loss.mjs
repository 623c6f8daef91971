// Runs a scenario on a disk that fails at each of its steps in turn, and prints the broken promises as JSON.
//   all SCENARIO FOLDER: every step with an error, and with a power loss and several states of the disk after it, in this process.
//   kill SCENARIO FOLDER STEP SEED: one power loss that ends this process; prints each promise as it is made and kept.
//   check SCENARIO FOLDER: reads these lines from stdin and checks the folder.
import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { Disk, PowerLost, replaceFileFunctions } from '../../support/files/disk.mjs';
import { scenarios } from '../../support/files/power-scenarios.mjs';

/** The state of the disk after a power loss at a step, see `Disk.stateOf`. After the last step: all of them. */
const seedsAt = ({ failed, steps }) => {
  return failed === null ? [0, 1, 2, 3, 4, 5] : [steps % 5];
};
/** Steps that the program may leave out when it tries again. */
const durable = ['fsync', 'rename', 'swap', 'mkdir', 'open'];
const HANGS_MS = 30_000;

const isLoss = (error) => error !== undefined && (error instanceof PowerLost || isLoss(error?.cause));
const isInjected = (error) => error !== undefined && (error?.code === 'EIO' || isInjected(error?.cause));

/** The promises of a run: `begun` before each, `kept` after. A call that an error of the disk ended is made once more. */
function promisesTo(note, disk) {
  const retry = async (work) => {
    try {
      return await work();
    } catch (error) {
      if (disk.off || isLoss(error) || !isInjected(error)) throw error;
      return await work();
    }
  };
  const attempt = async (items, work) => {
    note({ begun: items });
    return await retry(work);
  };
  const make = async (items, work) => {
    const result = await attempt(items, work);
    note({ kept: items });
    return result;
  };
  return { make, attempt, retry, disk };
}

/** Differences between the promises and the values that are there. */
function broken(events, found) {
  const allowed = {};
  const of = (item) => (allowed[item] ??= [null]);
  for (const { begun = {}, kept = {} } of events) {
    for (const [item, value] of Object.entries(begun)) of(item).push(value);
    for (const [item, value] of Object.entries(kept)) allowed[item] = [value];
  }
  return Object.entries(found)
    .filter(([item, value]) => !of(item).some((one) => isDeepStrictEqual(one, value)))
    .map(([item, value]) => `${item} is ${brief(value)}, not ${of(item).map(brief).join(' or ')}`);
}

const brief = (value) => JSON.stringify(value).slice(0, 60);

async function check(scenario, folder, events, world, isSameProcess = false) {
  try {
    const found = broken(events, await scenario.read(folder, world));
    await scenario.next(folder, world, isSameProcess);
    // The next use loses nothing either.
    return found.length > 0 ? found : broken(events, keptItems(await scenario.read(folder, world), events));
  } catch (error) {
    return [`the folder cannot be used: ${error.stack}`];
  }
}

/** Items of single values that the next use may replace are left out. */
const keptItems = (found) => Object.fromEntries(Object.entries(found).filter(([item]) => item !== 'export'));

let boots = 0;
function newFolder(base) {
  const folder = join(base, `boot-${++boots}`);
  return folder;
}

async function all(scenario, base) {
  const outside = join(base, '..', 'outside');
  mkdirSync(outside, { recursive: true });
  const world = await scenario.prepare?.(outside);
  const found = [];
  let kinds = [];
  let runs = 0;
  const isEnough = () => found.length > 40;

  /** Runs the scenario once. Returns the disk, the promises, and the error that ended the run. */
  const once = async (options) => {
    const folder = newFolder(base);
    mkdirSync(folder);
    const disk = new Disk(folder, { ...options, swaps: scenario.swaps });
    const events = [];
    const note = (event) => disk.off || events.push(event);
    const run = scenario.run(folder, promisesTo(note, disk), world).then(
      () => null,
      (error) => error,
    );
    let timer;
    const hangs = new Promise((resolve) => {
      timer = setTimeout(() => resolve(new Error('the call does not end')), HANGS_MS);
    });
    const error = await Promise.race([run, hangs]);
    clearTimeout(timer);
    runs++;
    return { disk, events, error, folder };
  };

  const checkState = async ({ disk, events }, seed, what) => {
    const target = newFolder(base);
    disk.stateOf(target, seed);
    const after = new Disk(target, { swaps: scenario.swaps });
    for (const one of await check(scenario, target, events, world)) found.push(`${what}, state ${seed}: ${one}`);
    after.end();
  };

  // A power loss at each step, and after the last.
  for (let step = 1; !isEnough(); step++) {
    const run = await once({ failAt: step });
    const what = `power loss at step ${step} (${run.disk.failed ?? 'the end'})`;
    if (run.error !== null && !run.disk.off) found.push(`${what}: ${run.error.stack}`);
    for (const seed of seedsAt(run.disk)) await checkState(run, seed, what);
    run.disk.end();
    kinds = run.disk.kinds;
    if (run.disk.failed === null) break;
  }
  // An error of each step; a failed write also with a part of its data.
  for (const seed of [0, 1]) {
    for (let step = 1; !isEnough(); step++) {
      if (seed === 1 && kinds[step] !== undefined && kinds[step] !== 'write') continue;
      const run = await once({ failAt: step, error: true, seed });
      const what = `error at step ${step} (${run.disk.failed ?? 'none'})`;
      run.disk.mend();
      if (run.error !== null) found.push(`${what}: ${run.error.stack}`);
      else {
        if (durable.includes(run.disk.kinds[step])) await checkState(run, 0, what);
        for (const one of await check(scenario, run.folder, run.events, world, true)) found.push(`${what}: ${one}`);
      }
      run.disk.end();
      if (run.disk.failed === null) break;
    }
  }
  await world?.close?.();
  return { scenario: scenario.name, runs, steps: kinds.length - 1, broken: found };
}

async function kill(scenario, base, failAt, seed) {
  const outside = join(base, '..', 'outside');
  mkdirSync(outside, { recursive: true });
  const world = await scenario.prepare?.(outside);
  const folder = join(base, 'boot-1');
  mkdirSync(folder);
  const disk = new Disk(folder, {
    ...{ failAt, seed, swaps: scenario.swaps },
    onPowerLoss: () => {
      disk.stateOf(join(base, 'boot-2'), seed);
      process.kill(process.pid, 'SIGKILL');
    },
  });
  const note = (event) => writeSync(1, `${JSON.stringify(event)}\n`);
  await scenario.run(folder, promisesTo(note, disk), world);
  writeSync(1, '{"end":true}\n');
}

const [, , mode, name, base, ...rest] = process.argv;
const scenario = scenarios.find((one) => one.name === name);
await replaceFileFunctions();
mkdirSync(base, { recursive: true });
if (mode === 'all') console.log(JSON.stringify(await all(scenario, base)));
else if (mode === 'kill') await kill(scenario, base, Number(rest[0]), Number(rest[1]));
else {
  const events = (await text(process.stdin))
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const outside = join(base, '..', 'checked');
  mkdirSync(outside);
  const world = await scenario.prepare?.(outside);
  new Disk(join(base, 'boot-2'), { swaps: scenario.swaps });
  console.log(JSON.stringify(await check(scenario, join(base, 'boot-2'), events, world)));
  await world?.close?.();
}
