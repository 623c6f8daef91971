import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { describe, expect, inject, it, vi } from 'vitest';
import { tryLock } from '../../../dist/files/process-lock.js';
import { activityNames } from '../../../dist/worker/host/plugin.js';
import { SearchflowPlugin, type SearchflowPluginOptions } from '../../../dist/worker/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { codePath } from '../../support/jobs/host.js';
import { fileNamespace, silence } from '../../support/temporal.js';

silence();
const logger = new DefaultLogger('ERROR');

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const root = folderOfFile();
symlinkSync(at('node_modules'), join(root, 'node_modules'));

const pluginOf = (options: Partial<SearchflowPluginOptions> = {}) =>
  new SearchflowPlugin({ apiKey: 'key', origin: 'sandbox', stateDir: join(root, 'state'), ...options });

describe("activities of the worker's owner", () => {
  const mine = async () => 'mine';
  const configure = (names: readonly string[], options: Partial<SearchflowPluginOptions> = {}) => {
    const activities = Object.fromEntries(names.map((name) => [name, mine]));
    return pluginOf(options).configureWorker({ taskQueue: 'q', activities }).activities as Record<string, unknown>;
  };

  it('with one of our names are refused, with the names and the remedies', () => {
    expect(() => configure(['search', 'answer', 'greet'])).toThrow(
      "Activities of this worker have the same names as searchflow's: search, answer. Rename them, or pass operations: false to SearchflowPlugin.",
    );
    expect(() => configure(['enrichSlice'], { operations: false })).toThrow(/searchflow's: enrichSlice\. Rename it\.$/);
    expect(Object.keys(configure(['greet']))).toEqual(expect.arrayContaining(['greet', 'search', 'enrichSlice']));
  });

  it('are kept unchanged without our operations', () => {
    const found = configure(['search', 'answer'], { operations: false });
    expect([found.search, found.answer]).toEqual([mine, mine]);
    expect(Object.keys(found)).not.toContain('getContents');
  });

  it('leave every activity that our workflows use', () => {
    const texts = readdirSync(at('src/workflows'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(at(`src/workflows/${file}`), 'utf8'));
    const used = texts.flatMap((text) =>
      [...text.matchAll(/const \{([^}]+)\} = (?:proxy|summarized)Activities/g)].flatMap(([, names = '']) =>
        names.trim().split(/,\s*/),
      ),
    );
    expect([...activityNames(false)].sort()).toEqual([...new Set(used)].sort());
  });
});

it('the version of the environment counts only with versioned, and only if the owner has set none', () => {
  vi.stubEnv('TEMPORAL_DEPLOYMENT_NAME', 'etl');
  vi.stubEnv('TEMPORAL_WORKER_BUILD_ID', '7');
  const versionOf = (options: Partial<SearchflowPluginOptions>, own: object = {}) =>
    pluginOf(options).configureWorker({ taskQueue: 'q', ...own }).workerDeploymentOptions?.version;
  expect(versionOf({})).toBeUndefined();
  expect(versionOf({ versioned: true })).toEqual({ deploymentName: 'etl', buildId: '7' });
  const own = { version: { deploymentName: 'mine', buildId: '1' }, useWorkerVersioning: true };
  expect(versionOf({ versioned: true }, { workerDeploymentOptions: own })).toEqual(own.version);
  vi.unstubAllEnvs();
});

describe('a workflows file', () => {
  const said = async (text: string): Promise<string[]> => {
    const sentences: string[] = [];
    const workflowsPath = join(mkdtempSync(join(root, 'workflows-')), 'workflows.js');
    writeFileSync(workflowsPath, text.replaceAll('searchflow/workflows', at('dist/workflows/index.js')));
    await bundleWorkflowCode({
      workflowsPath,
      logger,
      plugins: [pluginOf({ alertUrl: 'http://127.0.0.1:9/', say: (sentence) => sentences.push(sentence) })],
    });
    return sentences.map((sentence) => sentence.replace(workflowsPath, 'workflows.js'));
  };

  it('that hides a workflow of ours, or lacks the one that delivers alerts, is reported', async () => {
    const all = "export * from 'searchflow/workflows';\n";
    expect(await said(`${all}export async function greet() {}`)).toEqual([]);
    expect(await said(`${all}export async function enrichCsv() {}\nexport const syncEvents = async () => 1;`)).toEqual([
      "workflows.js exports its own enrichCsv, syncEvents, which replaces searchflow's workflow of the same name. Rename yours.",
    ]);
    expect(await said("export { enrichCsv } from 'searchflow/workflows';")).toEqual([
      expect.stringContaining('workflows.js does not export deliverAlert, which delivers alerts.'),
    ]);
  });
});

it('a worker that is refused at its start has ended, and its connection can be closed', async () => {
  const stateDir = join(root, 'taken');
  mkdirSync(stateDir, { recursive: true });
  const lock = tryLock(join(stateDir, 'worker.lock'));
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const worker = await Worker.create({
    connection,
    namespace: fileNamespace(),
    taskQueue: 'refused',
    workflowBundle: { codePath },
    plugins: [pluginOf({ stateDir })],
  });
  await expect(worker.run()).rejects.toThrow(/Another worker is running in /);
  expect(worker.getState()).toBe('STOPPED');
  // `close` rejects while a worker still uses the connection.
  await connection.close();
  lock?.release();
});
