import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inPackage } from '../../files/package-root.js';
import { isSameFile } from '../../files/same-file.js';
import { bareEnvironment } from '../temporal-program/bare-environment.js';
import { type Found, messageOf, ok, problem, type Setup } from './finding.js';

/** Longest time to load a native part. */
const LOAD_MS = 15_000;

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}
const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
const ours = () => manifestIn(inPackage());

/** The packages of the Temporal SDK that a project installs. */
const peers = () => Object.keys(ours().peerDependencies).filter((name) => name.startsWith('@temporalio/'));
const installPeers = () => `npm install ${peers().join(' ')}`;

export async function checkNode(): Promise<readonly Found[]> {
  const { engines, version } = ours();
  const [least = 0, minor = 0] = engines.node.replace(/^\D+/, '').split('.').map(Number);
  const [here = 0, hereMinor = 0] = process.versions.node.split('.').map(Number);
  const text = `Node ${process.versions.node} on ${process.platform} ${process.arch}, searchflow ${version}.`;
  const isOld = here < least || (here === least && hereMinor < minor);
  return [isOld ? problem(text, `Install Node ${least}.${minor} or newer.`) : ok(text)];
}

/** Checks that the packages of the Temporal SDK are there, once and in one version. */
export async function checkPackages({ cwd }: Setup): Promise<readonly Found[]> {
  const from = inPackage('package.json');
  const folders = new Map(peers().map((name) => [name, folderOf(name, from)]));
  const missing = [...folders].filter(([, folder]) => folder === null).map(([name]) => name);
  if (missing.length > 0)
    return [problem(`Missing: ${missing.join(', ')}.`, 'Install the Temporal SDK in your project:', installPeers())];
  const versions = new Map<string, string[]>();
  for (const [name, folder] of folders) {
    const { version } = manifestIn(folder as string);
    versions.set(version, [...(versions.get(version) ?? []), name]);
  }
  if (versions.size > 1) {
    const each = [...versions].map(([version, names]) => `${version} (${names.join(', ')})`).join(', ');
    return [
      problem(
        `The packages of the Temporal SDK have several versions: ${each}.`,
        'Install one version of all:',
        installPeers(),
      ),
    ];
  }
  const twice = twiceOf('@temporalio/common', folders, join(cwd, 'package.json'));
  if (twice !== null)
    return [
      problem(
        `The Temporal SDK is there twice: ${twice.join(' and ')}. Workflows and clients of both do not work together.`,
        'Install searchflow packed instead of as a link, and the SDK once:',
        installPeers(),
      ),
    ];
  return [ok(`Temporal SDK ${[...versions.keys()][0]}.`)];
}

/** Two folders of a package, if another package or the project of the working folder finds it elsewhere; else null. */
function twiceOf(name: string, folders: ReadonlyMap<string, string | null>, project: string): string[] | null {
  const own = folders.get(name) ?? null;
  const others = [...folders.values()].map((folder) => folderOf(name, join(folder as string, 'package.json')));
  const other = [...others, folderOf(name, project)].find(
    (one) => one !== null && own !== null && !isSameFile(one, own),
  );
  return other ? [own as string, other] : null;
}

/** The folder of a package as Node finds it from a file; null if it finds none. Packages may hide their package.json, so folders are searched. */
function folderOf(name: string, from: string): string | null {
  const roots = createRequire(from).resolve.paths(name) ?? [];
  const found = roots.map((root) => join(root, name)).find((folder) => existsSync(join(folder, 'package.json')));
  return found ?? null;
}

/** The parts of native code, each with the package that loads it. */
const native = [
  {
    check: 'duckdb',
    what: 'DuckDB',
    load: '@duckdb/node-api',
    mend: 'Install DuckDB for this machine, or load into PostgreSQL only:',
    command: 'npm install --include=optional @duckdb/node-api',
  },
  {
    check: 'file-locks',
    what: 'File locks',
    load: 'fs-native-extensions',
    mend: 'Install searchflow again on this machine; node_modules of another platform has no file for it:',
    command: 'npm install --include=optional',
  },
  {
    check: 'temporal-sdk',
    what: "The Temporal SDK's native part",
    load: '@temporalio/core-bridge',
    mend: 'Use Linux with glibc (not Alpine), macOS or Windows, and install the SDK again on this machine:',
    command: null,
  },
] as const;

/** Loads each native part in a process of its own, because a binary of another machine may crash its process. */
export async function checkNative(): Promise<readonly Found[]> {
  return Promise.all(
    native.map(async ({ check, what, load, mend, command }) => {
      const why = await whyNotLoaded(load);
      const found =
        why === null
          ? ok(`${what} can be loaded.`)
          : problem(
              `${what} (${load}) cannot be loaded on ${process.platform} ${process.arch}: ${why}.`,
              mend,
              command ?? installPeers(),
            );
      return { ...found, check };
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
  return new Promise((resolve) => {
    const options = {
      env: bareEnvironment(process.env),
      timeout: LOAD_MS,
      killSignal: 'SIGKILL',
      windowsHide: true,
    } as const;
    execFile(process.execPath, args, options, (error, _, stderr) => {
      if (error === null) return resolve(null);
      if (error.killed) return resolve(`it took longer than ${LOAD_MS / 1000} s`);
      if (error.signal) return resolve(`the process ended with ${error.signal}`);
      resolve(/^\w*Error.*$/m.exec(stderr)?.[0]?.replace(/\.$/, '') ?? messageOf(error).split('\n', 1)[0] ?? '');
    });
  });
}
