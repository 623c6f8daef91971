import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { domainToUnicode } from 'node:url';
import type { JobEntry } from '../../core/job-entry-schemas.js';
import { hasUrl } from '../../core/purchase/forgotten.js';
import { pageUrlOf, parseUrl } from '../../core/purchase/unit-key.js';
import type { ForgetSubjects, RowReads, StagedRow } from '../../core/rows/row-warehouse.js';
import { folderNames } from '../../files/folder-size.js';
import { writeDurably } from '../../files/write-durably.js';
import { forgetInManifest, forgetInSlice } from '../../rows/index.js';
import { quoted, toUrl } from '../../rows/url-problem.js';
import type { JobStatus, RuntimeConfig } from '../config/runtime-types.js';
import type { Store } from '../store/store.js';
import type { OpenWarehouses } from '../store/warehouses.js';

export interface ForgetParts {
  readonly config: RuntimeConfig;
  readonly store: Store;
  readonly warehouses: OpenWarehouses;
  statuses(entries: readonly JobEntry[]): Promise<readonly JobStatus[]>;
}

/** What a person wants to forget: the id of a job, or a URL in all jobs. */
export type ForgetWish = { readonly job: string } | { readonly url: string };

/** Why a text names no page to forget; null if it names one. */
export function noUrl(url: string): string | null {
  const text = url.trim();
  return (toUrl(text, 'https') ?? parseUrl(text))
    ? null
    : `${quoted(url)} must be a URL or a domain, such as https://example.com/jane.`;
}

const STAGES = ['stages', 'fetched-stages'] as const;

/** The jobs with staged rows: those of the entries, and others whose command planned or was refused, and so never started. */
export function stagedJobs({ config }: ForgetParts, entries: readonly JobEntry[]): readonly string[] {
  const folders = STAGES.flatMap((name) => folderNames(join(config.stateDir, name)));
  return [...new Set([...entries.map(({ staged }) => staged.job), ...folders])];
}

/**
 * Removes the values of staged rows of a job, in all stages that this machine can reach: its own, copies of those that others staged, and those
 * of the store. `isForgotten` is called with every row. With `dryRun`, changes nothing. Returns the number of changed slices and rows.
 */
export async function forgetStaged(
  { config, store }: ForgetParts,
  job: string,
  isForgotten: (row: StagedRow) => boolean,
  dryRun: boolean,
): Promise<{ readonly slices: number; readonly rows: number }> {
  const sum = { slices: 0, rows: 0 };
  const change = async (packed: Uint8Array, take = isForgotten): Promise<Uint8Array | null> => {
    const changed = await forgetInSlice(packed, take);
    if (changed === null) return null;
    sum.slices++;
    sum.rows += changed.rows;
    return dryRun ? null : changed.packed;
  };
  for (const folder of STAGES.map((name) => join(config.stateDir, name, job)))
    for (const name of folderNames(folder)) {
      if (name.startsWith('draft-')) continue;
      const stage = join(folder, name);
      const bad = new Set<number>();
      const take = (row: StagedRow) => {
        const found = isForgotten(row);
        if (found && row.k === null) bad.add(row.n);
        return found;
      };
      for (const slice of readdirSync(stage).sort()) {
        if (!slice.endsWith('.jsonl.gz')) continue;
        const packed = await change(await readFile(join(stage, slice)), take);
        if (packed !== null) await writeDurably(join(stage, slice), packed);
      }
      if (bad.size > 0) await forgetInManifest(stage, (row) => bad.has(row), dryRun);
    }
  await store.stages.rewrite(job, (packed) => change(packed));
  return sum;
}

/** The units and bad rows that a person names, and their jobs: from stages, warehouses and the journal, because each of them may lack some. */
export async function selectSubjects(
  parts: ForgetParts,
  wish: ForgetWish,
  { entries, warehouses }: { readonly entries: readonly JobEntry[]; readonly warehouses: readonly RowReads[] },
): Promise<ForgetSubjects & { readonly jobs: ReadonlySet<string> }> {
  const [keys, jobs] = [new Set<string>(), new Set<string>()];
  const badRows = new Map<string, ForgetSubjects['badRows'][number]>();
  const add = (job: string, key: string | null, hash: string) => {
    jobs.add(job);
    if (key !== null) keys.add(key);
    else badRows.set(`${job} ${hash}`, { job, hash });
  };
  const eachStagedRow = (job: string, each: (row: StagedRow) => void) =>
    forgetStaged(parts, job, (row) => Boolean(each(row)), true);
  const { forgetting } = await parts.store.journal();
  if ('job' in wish) {
    const { job } = wish;
    jobs.add(job);
    await eachStagedRow(job, ({ k, h }) => add(job, k, h));
    for (const warehouse of warehouses)
      for (const { key, hash } of await warehouse.forgettable({ job })) add(job, key, hash);
    for (const key of await forgetting.keysOf(job)) keys.add(key);
  } else {
    const { isNamed, parts: texts } = namedBy(wish.url.trim());
    for (const job of stagedJobs(parts, entries))
      await eachStagedRow(job, ({ k, h, u, i }) => {
        if (isNamed(u) || i.some(isNamed)) add(job, k, h);
      });
    for (const text of texts) {
      for (const warehouse of warehouses)
        for (const { job, key, hash, unit, cells } of await warehouse.forgettable({ text }))
          if (isNamed(unit) || cells.some(isNamed)) add(job, key, hash);
      await forgetting.search(text, (key, unit) => {
        if (isNamed(JSON.parse(unit) as string)) keys.add(key);
      });
    }
  }
  return { keys: [...keys], badRows: [...badRows.values()], jobs };
}

/** Tells which texts have a URL, in any spelling of its page. Each of these texts has one of `parts` in it, in any case of its letters. */
function namedBy(text: string) {
  const url = toUrl(text, 'https');
  const forms = [...new Set([text, url ?? text])];
  const page = url && pageUrlOf(url);
  const isNamed = (value: string | null): boolean =>
    value !== null &&
    (forms.some((form) => hasUrl(value, form)) ||
      (page !== null && pageUrlOf(toUrl(value.trim(), 'https') ?? '') === page));
  if (url === null) return { isNamed, parts: forms };
  // Every spelling of the page has its host: as it is typed, in Punycode, or in Unicode.
  const { hostname } = new URL(url);
  const [, typed = hostname] = /^https?:\/\/(?:[^/?#]*@)?([^/?#]*?)(?::\d*)?(?:[/?#]|$)/i.exec(url) ?? [];
  const hosts = [typed, hostname, domainToUnicode(hostname)].map((one) => one.toLowerCase());
  return { isNamed, parts: [...new Set(hosts)].filter(Boolean) };
}
