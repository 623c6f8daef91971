import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { ApiError, createTransport } from '../../api/index.js';
import { proxiesTo } from '../../core/connections/proxies.js';
import { errorFixes } from '../../core/errors/registry.js';
import { sentence } from '../../core/text/count.js';
import { shellWord } from '../../core/text/shell-word.js';
import { inPackage } from '../../files/package-root.js';
import { nearestThere } from '../../warehouse/index.js';
import { type ConfigSources, type Mistake, readSettings, whyForeign, whyNoStateFolder } from '../config/config.js';
import { rateProfileOf } from '../config/derived-settings.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { bareEnvironment } from '../temporal-server/server-files.js';
import { bad, badBy, checkDatabases, clockFinding, type Finding, fine, messageOf, type Setup } from './databases.js';
import { checkTemporal } from './temporal.js';

export type Check = (setup: Setup) => Promise<readonly Finding[]>;

/** Longest time of a check. Each wait of a check is shorter, so that its own message is reported. */
const CHECK_MS = 20_000;
/** Limits of the one request to the service. */
const timeouts = { connectMs: 5000, headersMs: 8000, bodyMs: 5000, totalMs: 12_000 };
const MIB = 1_048_576;
/** Free space below which a job soon stops. The reserve for answers in flight takes up to 256 MiB. */
const LEAST_FREE = 256 * MIB;

const checks: Readonly<Record<string, Check>> = {
  node: checkNode,
  packages: checkPackages,
  'native-parts': checkNative,
  'state-folder': checkStateFolder,
  disk: checkDisk,
  service: checkService,
  rate: checkRate,
  temporal: checkTemporal,
  databases: checkDatabases,
};

/**
 * Examines whether jobs can run here. The checks run side by side, and none hides another. Changes nothing and buys nothing. `wanted`: names
 * of the checks to run; default: all.
 */
export async function examine(
  { env, cwd }: Pick<ConfigSources, 'env' | 'cwd'>,
  wanted: readonly string[] = Object.keys(checks),
): Promise<readonly Finding[]> {
  const { config, mistakes, warnings } = readSettings({ env, cwd, flags: {}, say: () => undefined });
  const isWrong: Setup['isWrong'] = (...names) => mistakes.some(({ setting }) => names.includes(setting));
  const setup: Setup = { env, cwd, config, isWrong };
  const run = async (name: string, check: Check) => {
    const late = new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error(`The check did not end within ${CHECK_MS / 1000} s`)), CHECK_MS).unref(),
    );
    return Promise.race([check(setup), late]).catch((error: unknown) => [badBy(name, error)]);
  };
  const chosen = Object.entries(checks).filter(([name]) => wanted.includes(name));
  const found = await Promise.all(chosen.map(([name, check]) => run(name, check)));
  return [...ofSettings(mistakes, warnings, env), ...found.flat()];
}

function ofSettings(mistakes: readonly Mistake[], warnings: readonly string[], env: Setup['env']): readonly Finding[] {
  const file = env.SEARCHFLOW_SETTINGS;
  const where = file ? `in the environment or in ${file}` : 'in the environment';
  const mode = file && process.platform !== 'win32' ? (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) : 0;
  const found = [
    ...mistakes.map(({ text }) =>
      bad('settings', text, `Correct it ${where}; docs/reference/configuration.md lists all settings.`),
    ),
    ...warnings.map((one) => fine('settings', one, `Correct or remove it ${where}.`)),
  ];
  if (file && (mode & 0o044) !== 0)
    found.push(
      fine(
        'settings',
        `Other users may read ${file}, and it may hold a key.`,
        `Let only its owner read it:\n  chmod 600 ${shellWord(file)}`,
      ),
    );
  return found.length > 0 ? found : [fine('settings', 'All settings can be used.')];
}

const manifestIn = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly engines: { readonly node: string };
    readonly peerDependencies: Readonly<Record<string, string>>;
  };

async function checkNode(): Promise<readonly Finding[]> {
  const { engines, version } = manifestIn(inPackage());
  const least = engines.node.replace(/^\D+/, '');
  const text = `Node ${process.versions.node} on ${process.platform} ${process.arch}, searchflow ${version}.`;
  const isOld = process.versions.node.localeCompare(least, 'en', { numeric: true }) < 0;
  return [isOld ? bad('node', text, `Install Node ${least} or newer.`) : fine('node', text)];
}

/** The packages of the Temporal SDK that a project installs. */
const peers = () => Object.keys(manifestIn(inPackage()).peerDependencies).filter((name) => /^@temporalio/.test(name));
const installPeers = () => `\n  npm install ${peers().join(' ')}`;

/** Checks that the packages of the Temporal SDK are there, in one version. */
async function checkPackages(): Promise<readonly Finding[]> {
  const versions = new Map(peers().map((name) => [name, versionOf(folderOf(name, inPackage('package.json')))]));
  const [first, ...others] = new Set(versions.values());
  if (first && others.length === 0) return [fine('packages', `Temporal SDK ${first}.`)];
  const each = [...versions].map(([name, version]) => `${name} ${version ?? 'is missing'}`).join(', ');
  return [
    bad('packages', `The Temporal SDK: ${each}.`, `Install one version of all in your project:${installPeers()}`),
  ];
}

const versionOf = (folder: string | null) => (folder === null ? null : manifestIn(folder).version);

/** The folder of a package as Node finds it from a file; null if it finds none. Packages may hide their package.json, so folders are searched. */
function folderOf(name: string, from: string): string | null {
  const roots = createRequire(from).resolve.paths(name) ?? [];
  return roots.map((root) => join(root, name)).find((folder) => existsSync(join(folder, 'package.json'))) ?? null;
}

/** The parts of native code: check, package that loads it, and what to do besides installing it. */
const native = [
  ['duckdb', '@duckdb/node-api', 'Install searchflow with its optional packages, or load into PostgreSQL only'],
  ['file-locks', 'fs-native-extensions', 'Install searchflow again on this machine, with its optional packages'],
  [
    'temporal-sdk',
    '@temporalio/core-bridge',
    'Use Linux with glibc (not Alpine), macOS or Windows; install the SDK again',
  ],
] as const;

/** Loads each native part in a process of its own, because a binary of another machine may crash its process. */
async function checkNative(): Promise<readonly Finding[]> {
  return Promise.all(
    native.map(async ([check, load, mend]) => {
      const why = await whyNotLoaded(load);
      if (why === null) return fine(check, `${load} can be loaded.`);
      const text = `${load} cannot be loaded on ${process.platform} ${process.arch}: ${sentence(why)}`;
      const install = check === 'temporal-sdk' ? installPeers() : '\n  npm install --include=optional';
      return bad(check, text, `${mend}:${install}`);
    }),
  );
}

async function whyNotLoaded(name: string): Promise<string | null> {
  const from = name === '@temporalio/core-bridge' ? folderOf('@temporalio/worker', inPackage('package.json')) : null;
  let path: string;
  try {
    path = createRequire(from === null ? inPackage('package.json') : join(from, 'package.json')).resolve(name);
  } catch {
    return 'the package is missing';
  }
  const args = ['--input-type=module', '-e', 'await import(process.argv[1])', pathToFileURL(path).href];
  const options = { env: bareEnvironment(process.env), timeout: 15_000, killSignal: 'SIGKILL' } as const;
  return new Promise((done) => {
    execFile(process.execPath, args, { ...options, windowsHide: true }, (error, _, stderr) => {
      if (error === null) return done(null);
      if (error.signal) return done(`the process ended with ${error.signal}`);
      done(/^\w*Error.*$/m.exec(stderr)?.[0] ?? error.message.split('\n', 1)[0] ?? '');
    });
  });
}

/** Whether the state folder belongs to this user, has the format of this version and can be written. Nothing is left in the folder. */
async function checkStateFolder({ env, cwd, config: { stateDir } }: Setup): Promise<readonly Finding[]> {
  const [why] = whyNoStateFolder({ env, cwd }, stateDir);
  if (why !== undefined) {
    const owner = existsSync(stateDir) ? statSync(stateDir).uid : null;
    const isForeign = owner !== null && whyForeign({ env, cwd }, stateDir) !== null;
    const command = owner === process.geteuid?.() ? 'chmod go-w' : `sudo chown -R "$(id -un)"`;
    const mend = `To make it yours:\n  ${command} ${shellWord(stateDir)}`;
    return [bad('state-folder', why, isForeign ? mend : errorFixes['state-folder-unusable'])];
  }
  if (!existsSync(stateDir)) return [fine('state-folder', `The first command makes the state folder ${stateDir}.`)];
  let trial: string | null = null;
  try {
    trial = await mkdtemp(join(stateDir, '.searchflow-doctor-'));
    await writeFile(join(trial, 'trial'), Buffer.alloc(65_536), { flush: true });
    return [fine('state-folder', `The state folder ${stateDir} can be written.`)];
  } catch (error) {
    return [badBy('state-folder', error)];
  } finally {
    if (trial !== null) await rm(trial, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** The free space of the state folder, and of the folder of warehouses and CSV files by default. */
async function checkDisk({ cwd, config: { stateDir } }: Setup): Promise<readonly Finding[]> {
  const folders = new Set([stateDir, resolve(cwd, 'out')].map(nearestThere));
  return Promise.all(
    [...folders].map(async (folder) => {
      const { bavail, bsize, files, ffree } = await statfs(folder);
      const free = bavail * bsize;
      const text = `The disk of ${folder} has ${Math.floor(free / MIB)} MiB free.`;
      // Some file systems do not count inodes.
      const isFull = free < LEAST_FREE || (files > 0 && ffree === 0);
      return isFull ? bad('disk', text, errorFixes['disk-full']) : fine('disk', text);
    }),
  );
}

/**
 * Checks the key with one free request that takes nothing of the rate limit: a list of agent runs with at most one run. Then compares the
 * clocks. Without a key there is nothing to check, because commands use the sandbox.
 */
async function checkService({ config, isWrong }: Setup): Promise<readonly Finding[]> {
  if (isWrong('apiKey', 'baseUrl')) return [];
  if (config.service === 'sandbox')
    return [fine('service', 'No API key is set: commands use the sandbox. For the service, set SEARCHFLOW_API_KEY.')];
  const { baseUrl, apiKey, wire } = config;
  const transport = createTransport({ ...wire, baseUrl, apiKey, timeouts, connections: 1 });
  const began = Date.now();
  const answer = await transport
    .send(listAgentRunsEndpoint, { limit: 1 })
    .catch((error: unknown) => error)
    .finally(() => transport.close());
  if (answer instanceof Error && !(answer instanceof ApiError)) throw answer;
  const key = answer instanceof ApiError ? keyFinding(answer, config) : fine('service', `${baseUrl} accepts the key.`);
  const { date } = answer as { readonly date: number | null };
  // A date of the answer is between the request and the answer, plus the part of a second that it leaves out.
  return date === null ? [key] : [key, clockFinding('clock', began - 1000, Date.now(), date, 'the service')];
}

function keyFinding(error: ApiError, { baseUrl, wire }: RuntimeConfig): Finding {
  const { status, tag, phase, unrecognized } = error.facts;
  const { host, hostname } = new URL(baseUrl);
  const text = messageOf(error);
  if (unrecognized)
    return bad(
      'service',
      `Another program answers in the name of the service: ${text}`,
      'Log in to the network or the proxy (HTTPS_PROXY), let the gateway pass requests (SEARCHFLOW_HEADERS), or correct SEARCHFLOW_BASE_URL.',
    );
  if (phase === 'connect' && proxiesTo(hostname, wire?.proxy) !== null)
    return bad('service', text, `Check HTTPS_PROXY, through which requests go, or add ${host} to NO_PROXY.`);
  if (tag === 'INSUFFICIENT_SCOPE' || tag === 'FEATURE_DISABLED')
    return fine('service', `The key may not list agent runs: ${text}`, 'If jobs are refused, too, use another key.');
  if (status === 429) return fine('service', `The key was not checked: ${text}`, errorFixes['rate-limited']);
  return bad('service', text, errorFixes[error.errorCode]);
}

/** The rate limit that requests keep. */
async function checkRate({ config, isWrong }: Setup): Promise<readonly Finding[]> {
  if (isWrong('qps', 'rateProfile', 'keyQps')) return [];
  const buckets = rateProfileOf(config).buckets.map(({ name, qps }) => `${name} ${qps}/s`);
  return [fine('rate', `Rate limit: ${buckets.join(', ')}${config.rateIsShare ? ', a share of the team' : ''}.`)];
}
