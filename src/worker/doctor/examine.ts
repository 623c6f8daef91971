import { statSync } from 'node:fs';
import { shellWord } from '../../core/text/shell-word.js';
import { type ConfigSources, readSettings } from '../config/config.js';
import { checkAlerts } from './alerts.js';
import { checkDatabases } from './databases.js';
import { checkExtensions, checkWarehouseFiles } from './duckdb.js';
import {
  type Check,
  type Finding,
  type Found,
  messageOf,
  ok,
  problem,
  type Setup,
  warning,
  within,
} from './finding.js';
import { checkOutputFolder, checkStateFolder, checkUserFolder } from './folders.js';
import { checkLimits } from './process-limits.js';
import { checkNative, checkNode, checkPackages } from './program.js';
import { checkService } from './service.js';
import { checkTemporal } from './temporal.js';
import { checkWork } from './work.js';

/** Longest time of a check. Each wait of a check is shorter, so that its own message is reported. */
const CHECK_MS = 20_000;

const checks: readonly Check[] = [
  { name: 'node', run: checkNode },
  { name: 'packages', run: checkPackages },
  { name: 'native-parts', run: checkNative },
  { name: 'limits', run: checkLimits },
  { name: 'state-folder', run: checkStateFolder },
  { name: 'user-folder', run: checkUserFolder },
  { name: 'output-folder', run: checkOutputFolder },
  { name: 'service', run: checkService },
  { name: 'temporal', run: checkTemporal },
  { name: 'databases', run: checkDatabases },
  { name: 'warehouse-files', run: checkWarehouseFiles },
  { name: 'extensions', run: checkExtensions },
  { name: 'work', run: checkWork },
  { name: 'alerts', run: checkAlerts },
];

/**
 * Examines whether jobs can run here. The checks run side by side, and none hides another. Changes nothing and buys nothing. `wanted`: names
 * of the checks to run; default: all.
 */
export async function examine(
  { env, cwd }: Pick<ConfigSources, 'env' | 'cwd'>,
  wanted: readonly string[] = checks.map(({ name }) => name),
): Promise<readonly Finding[]> {
  const warnings: string[] = [];
  const say = (sentence: string) => void warnings.push(sentence);
  const { config, mistakes } = readSettings({ env, cwd, flags: {}, say });
  const setup: Setup = {
    env,
    cwd,
    config: { ...config, say: () => undefined },
    isWrong: (...settings) => mistakes.some((mistake) => settings.some((name) => mistake.includes(name))),
  };
  const all = await Promise.all(
    checks
      .filter(({ name }) => wanted.includes(name))
      .map(async (check) => named(check.name, await runOne(check, setup))),
  );
  return [...named('settings', ofSettings(mistakes, warnings, env)), ...all.flat()];
}

const named = (check: string, found: readonly Found[]): Finding[] => found.map((one) => ({ check, ...one }));

async function runOne({ name, run }: Check, setup: Setup): Promise<readonly Found[]> {
  try {
    return await within(CHECK_MS, run(setup), `the check did not end within ${CHECK_MS / 1000} s`);
  } catch (error) {
    return [
      problem(`The check ${name} failed: ${messageOf(error)}.`, 'Run the same command again with SEARCHFLOW_DEBUG=1.'),
    ];
  }
}

function ofSettings(mistakes: readonly string[], warnings: readonly string[], env: Setup['env']): readonly Found[] {
  const file = env.SEARCHFLOW_SETTINGS;
  const where = file ? `in the environment or in ${file}` : 'in the environment';
  const open = file ? openTo(file) : null;
  const found = [
    ...(open === null
      ? []
      : [
          warning(
            `${file} may be read by ${open}, and it may hold a key.`,
            'Let only its owner read it:',
            `chmod 600 ${shellWord(file ?? '')}`,
          ),
        ]),
    ...mistakes.map((one) => problem(one, `Correct it ${where}; docs/reference/configuration.md lists all settings.`)),
    ...warnings.map((one) =>
      warning(one.replace(/^Warning: t/, 'T').replace(/^Warning: /, ''), `Correct or remove it ${where}.`),
    ),
  ];
  return found.length > 0 ? found : [ok(`All settings can be used${file ? ` (with those of ${file})` : ''}.`)];
}

/** The other users who may read a file; null for none, and on Windows. */
function openTo(file: string): string | null {
  const mode = process.platform === 'win32' ? 0 : (statSync(file, { throwIfNoEntry: false })?.mode ?? 0);
  return (mode & 0o004) !== 0 ? 'every user' : (mode & 0o040) !== 0 ? 'its group' : null;
}
