import { realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { monitorWorkflows } from '../../core/monitors/monitor-names.js';
import { workflowNames } from '../../core/rows/job-names.js';

/** The part of webpack's interface that is used here. */
interface Module {
  readonly resource?: string;
  readonly buildMeta?: { readonly exportsType?: string };
  readonly dependencies: readonly { readonly request?: string }[];
}
interface ExportInfo {
  readonly provided?: boolean | null;
  getTarget(graph: unknown): { readonly module: Module } | undefined;
}
interface Compilation {
  readonly modules: Iterable<Module>;
  readonly moduleGraph: {
    getModule(dependency: unknown): Module | null;
    getExportInfo(module: Module, name: string): ExportInfo;
  };
}
interface Compiler {
  readonly hooks: { readonly done: { tap(name: string, done: (stats: { compilation: Compilation }) => void): void } };
}

const names = [...Object.values(workflowNames), ...Object.values(monitorWorkflows)];

/**
 * Webpack plugin that warns if a workflows file with alerts does not export the workflow that delivers them, or exports a workflow of its own under one of their
 * names: such an export silently takes precedence over `export *`. For ES modules only, because the exports of CommonJS are known only at
 * run time.
 */
export function hiddenWorkflows(workflowsPath: string, hasAlerts: boolean, warn: (sentence: string) => void) {
  const check = ({ modules, moduleGraph }: Compilation): void => {
    const uses = [...modules].flatMap(({ dependencies }) => dependencies);
    const entry = uses.find(({ request }) => request === workflowsPath);
    const module = entry && moduleGraph.getModule(entry);
    if (module?.buildMeta?.exportsType !== 'namespace') return;
    const ours = join(dirname(realpathSync(fileURLToPath(new URL('../../workflows/index.js', import.meta.url)))), sep);
    const hidden = names.filter((name) => {
      const info = moduleGraph.getExportInfo(module, name);
      const from = info.getTarget(moduleGraph)?.module.resource ?? module.resource ?? '';
      return info.provided === true && !from.startsWith(ours);
    });
    if (hidden.length > 0) {
      warn(
        `${workflowsPath} exports its own ${hidden.join(', ')}, which replaces searchflow's workflow of the same name. Rename yours.`,
      );
    }
    const { deliverAlert } = workflowNames;
    if (hasAlerts && moduleGraph.getExportInfo(module, deliverAlert).provided === false)
      warn(
        `${workflowsPath} does not export ${deliverAlert}, which delivers alerts. Add this line:\nexport { ${deliverAlert} } from 'searchflow/workflows';`,
      );
  };
  return {
    apply: (compiler: object) =>
      (compiler as Compiler).hooks.done.tap('searchflow', ({ compilation }) => check(compilation)),
  };
}
