import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const text = (path: string) => readFileSync(at(path), 'utf8');
const packageJson = JSON.parse(text('package.json')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};
const monitoring = [
  'deploy/grafana/searchflow.json',
  'deploy/prometheus/alerts.yml',
  'deploy/prometheus/alerts.test.yml',
];

/** The metrics in the code, as Prometheus names their samples. */
const samples = ['metrics.ts'].flatMap((file) =>
  [
    ...text(`src/worker/host/${file}`).matchAll(
      /(createCounter|gaugeOf|secondsOf)\((?:\s*meter,)?\s*'(searchflow_\w+)'/g,
    ),
  ].flatMap(([, kind, name = '']) => {
    if (kind === 'createCounter') return [`${name}_total`];
    return kind === 'secondsOf' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name];
  }),
);

it.each([...monitoring, 'docs/tasks/deploy.md', 'deploy/helm/recipes/autoscaling.yaml'])(
  '%s names only metrics that the code has',
  (file) => {
    const named = text(file).match(/\bsearchflow_[a-z_]+/g) ?? [];
    expect([...new Set(named)].filter((name) => !samples.includes(name))).toEqual([]);
  },
);

it('the dashboard shows every metric but sums and counts of histograms', () => {
  const dashboard = text('deploy/grafana/searchflow.json');
  const shown = samples.filter((name) => !/_seconds_(sum|count)$/.test(name));
  expect(shown.filter((name) => !dashboard.includes(name))).toEqual([]);
});

it('docs/tasks/deploy.md says what to do for each alert, and no other', () => {
  const alerts = [...text('deploy/prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const described = text('docs/tasks/deploy.md').match(/`Searchflow\w+`/g) ?? [];
  expect(described.map((name) => name.slice(1, -1)).sort()).toEqual([...alerts].sort());
});

it('the chart has copies of the dashboard and of the alert rules', () => {
  expect(text('deploy/helm/searchflow/files/searchflow.json')).toBe(text('deploy/grafana/searchflow.json'));
  expect(text('deploy/helm/searchflow/files/alerts.yml')).toBe(text('deploy/prometheus/alerts.yml'));
});

it('image and chart have the versions of the package', () => {
  const [, duckDb] = /^duckdb-extension-httpfs==(\S+) --hash=sha256:/m.exec(text('deploy/docker/extensions.txt')) ?? [];
  expect(packageJson.dependencies['@duckdb/node-api']).toMatch(new RegExp(`^${duckDb}(-|$)`));
  const chart = text('deploy/helm/searchflow/Chart.yaml');
  expect(/^appVersion: (.+)$/m.exec(chart)?.[1]).toBe(packageJson.version);
});

it('the files of a deployment set only variables that searchflow knows', async () => {
  const { knownVariables } = await import('../../../src/worker/config/settings.js');
  const files = readdirSync(at('deploy'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(ya?ml|sh|service|example|mjs|tpl)$/.test(file),
  );
  const texts = [...files.map((file) => `deploy/${file}`), 'Dockerfile', 'compose.yaml'].map(text).join('\n');
  const named = [...new Set(texts.match(/\bSEARCHFLOW_[A-Z_]+/g))].map((name) => name.replace(/_FILE$/, ''));
  expect(named.filter((name) => !(knownVariables as readonly string[]).includes(name))).toEqual([]);
});

it('compose.yaml restarts each service after a reboot, and limits its log', () => {
  const [, services = ''] = /^services:\n([\s\S]*?)^configs:/m.exec(text('compose.yaml')) ?? [];
  const all = services.split(/^ {2}(?=\S)/m).filter(Boolean);
  expect(all.length).toBeGreaterThan(6);
  const isKept = (service: string) => /restart: unless-stopped\n +logging: \*logging\n|: \*worker\n/.test(service);
  expect(all.filter((service) => !isKept(service))).toEqual([]);
});

/** Variables of the embedded Temporal server, which no container starts, and those of the bill, whose key may do more than a worker needs. */
const notForWorkers = [
  'SEARCHFLOW_SETTINGS',
  ...['SEARCHFLOW_ENCRYPT', 'SEARCHFLOW_TEMPORAL_UI'],
  ...['SEARCHFLOW_SERVICE_KEY', 'SEARCHFLOW_KEY_ID', 'SEARCHFLOW_BILL_URL'],
];

it('compose.yaml passes each setting that the image does not set', async () => {
  const { knownVariables } = await import('../../../src/worker/config/settings.js');
  const [, ofImage = ''] = /^ENV ([\s\S]*?[^\\])\n/m.exec(text('Dockerfile')) ?? [];
  const [, environment = ''] =
    /^x-worker:[\s\S]*?environment:\n([\s\S]*?)\n {2}volumes:/m.exec(text('compose.yaml')) ?? [];
  const [image = [], passed = []] = [ofImage, environment].map<readonly string[]>(
    (part) => part.match(/(?<!\$\{)\bSEARCHFLOW_\w+(?=[:=])/g) ?? [],
  );
  const expected = knownVariables.filter((name) => !image.includes(name) && !notForWorkers.includes(name));
  expect([...passed].sort()).toEqual([...expected].sort());
});

it('the entry point of the image reads each secret setting from a file, and docs/tasks/deploy.md names them', async () => {
  const { settings } = await import('../../../src/worker/config/settings.js');
  const { secretVariables } = await import('../../../src/worker/config/variables.js');
  const addresses = [settings.store, settings.warehouseUrl, settings.sourceUrl].map(({ variable }) => `${variable}`);
  const expected = [...secretVariables, ...addresses];
  expect(expected).toContain('SEARCHFLOW_SOURCE_URL');
  const [, read = ''] = /^for name in ([\s\S]*?); do/m.exec(text('deploy/docker/entrypoint.sh')) ?? [];
  const names: readonly string[] = read.match(/\w+/g) ?? [];
  expect(expected.filter((name) => !names.includes(name))).toEqual([]);
  const documented = text('docs/tasks/deploy.md');
  expect(names.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
});

it('the workers of compose.yaml have a database role of their own, which is neither the superuser nor that of Temporal', () => {
  const compose = text('compose.yaml');
  const users = [...compose.matchAll(/postgres:\/\/(\w+):\$\{(\w+):-/g)].map(([, user, password]) => [user, password]);
  expect(users).toEqual([
    ['searchflow', 'WORKER_DB_PASSWORD'],
    ['searchflow', 'WORKER_DB_PASSWORD'],
  ]);
  expect(compose).toMatch(/POSTGRES_USER: temporal\n +POSTGRES_PWD: \$\{TEMPORAL_DB_PASSWORD:-/);
  expect(compose.match(/CREATE ROLE .*/g)?.join()).not.toMatch(/SUPERUSER|CREATEDB|CREATEROLE/);
  expect(compose).toContain('REVOKE CONNECT ON DATABASE');
});

it('the chart allows no connection to its workers but to their metrics, by default', () => {
  expect(text('deploy/helm/searchflow/values.yaml')).toMatch(/^networkPolicy:\n(?: +#.*\n)* +enabled: true$/m);
});
