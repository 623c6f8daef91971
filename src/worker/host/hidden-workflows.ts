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

/** Workflows that no client starts: commands on the task queue hold the first, and the second delivers the alerts of the worker. */
const needed = [workflowNames.workerPresence, workflowNames.deliverAlert];
const names = [...Object.values(workflowNames), ...Object.values(monitorWorkflows)];

/**
 * Webpack plugin that warns if a workflows file does not export searchflow's workflows, or exports a workflow of its own under one of their
 * names: such an export silently takes precedence over `export *`. For ES modules only, because the exports of CommonJS are known only at
 * run time.
 */
export class HiddenWorkflows {
  readonly #path: string;
  readonly #warn: (sentence: string) => void;

  constructor(workflowsPath: string, warn: (sentence: string) => void) {
    this.#path = workflowsPath;
    this.#warn = warn;
  }

  apply(compiler: object): void {
    (compiler as Compiler).hooks.done.tap('searchflow', ({ compilation }) => this.#check(compilation));
  }

  #check({ modules, moduleGraph }: Compilation): void {
    const uses = [...modules].flatMap(({ dependencies }) => dependencies);
    const entry = uses.find(({ request }) => request === this.#path);
    const module = entry && moduleGraph.getModule(entry);
    if (module?.buildMeta?.exportsType !== 'namespace') return;
    const ours = join(dirname(realpathSync(fileURLToPath(new URL('../../workflows/index.js', import.meta.url)))), sep);
    const hidden = names.filter((name) => {
      const info = moduleGraph.getExportInfo(module, name);
      const from = info.getTarget(moduleGraph)?.module.resource ?? module.resource ?? '';
      return info.provided === true && !from.startsWith(ours);
    });
    if (hidden.length > 0) {
      this.#warn(
        `${this.#path} exports its own ${hidden.join(', ')}, which replaces searchflow's workflow of the same name. Rename yours.`,
      );
    }
    const missing = needed.filter((name) => moduleGraph.getExportInfo(module, name).provided === false);
    if (missing.length > 0)
      this.#warn(
        `${this.#path} does not export ${missing.join(' and ')}, which every worker needs. Add this line:\nexport * from 'searchflow/workflows';`,
      );
  }
}
