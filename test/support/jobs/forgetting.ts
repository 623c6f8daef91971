import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import type { ForgetWish } from '../../../dist/worker/control/forget.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';

async function withRuntime<T>(
  config: RuntimeConfig,
  work: (runtime: Awaited<ReturnType<typeof openRuntime>>) => Promise<T>,
): Promise<T> {
  const runtime = await openRuntime(config);
  try {
    return await work(runtime);
  } finally {
    await runtime.close('drain');
  }
}

/** Runs the steps of `searchflow forget`. */
export const forget = (config: RuntimeConfig, wish: ForgetWish) =>
  withRuntime(config, async (runtime) => {
    const plan = await runtime.planForget(wish);
    return { plan: plan.found, isEmpty: plan.isEmpty, done: plan.isEmpty ? null : await runtime.forget(plan) };
  });

/** The usage by job, by operation and by day. */
export const usageOf = (config: RuntimeConfig) =>
  withRuntime(config, async (runtime) => {
    const spend = await runtime.team.spend();
    return Promise.all((['job', 'operation', 'day'] as const).map((by) => spend.usage(by)));
  });

/** Files below a folder, unpacked, that have one of these texts. The input is left out. */
export function filesWith(dir: string, texts: readonly string[]): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true, encoding: 'utf8' }).flatMap((entry) => {
    if (!entry.isFile() || entry.name === 'rows.csv') return [];
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    const content = path.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    return texts.some((text) => content.includes(text)) ? [path] : [];
  });
}
