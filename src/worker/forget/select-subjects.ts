import { domainToUnicode } from 'node:url';
import { hasUrl } from '../../core/purchase/forgotten.js';
import { pageOf } from '../../core/purchase/unit-key.js';
import type { JobEntry } from '../../core/rows/job-entries.js';
import type { ForgetSubjects, RowWarehouse } from '../../core/rows/row-warehouse.js';
import { some } from '../../core/text/count.js';
import { toUrl } from '../../rows/url-problem.js';
import { UsageError } from '../config/runtime-types.js';
import { StagedRows } from '../staging/staged-rows.js';
import type { ForgetParts, ForgetWish } from './forget-types.js';
import { eachStagedRow, stagedJobs } from './staged-values.js';

interface Selection {
  readonly parts: ForgetParts;
  readonly entries: readonly JobEntry[];
  /** The named job; null for a URL. */
  readonly named: JobEntry | null;
  readonly wish: ForgetWish;
  readonly warehouses: readonly RowWarehouse[];
}

interface Found extends ForgetSubjects {
  /** The jobs in which they were found. */
  readonly jobs: ReadonlySet<string>;
}

/** Collects units and bad rows, each once. */
class Collected {
  readonly keys = new Set<string>();
  readonly #badRows = new Map<string, { readonly job: string; readonly hash: string }>();
  readonly jobs = new Set<string>();

  add(job: string, key: string | null, hash: string): void {
    this.jobs.add(job);
    if (key !== null) this.keys.add(key);
    else this.#badRows.set(`${job} ${hash}`, { job, hash });
  }

  get found(): Found {
    return { keys: [...this.keys], badRows: [...this.#badRows.values()], jobs: this.jobs };
  }
}

/** The units that a person names: from stages, warehouses and the journal, because each of them may lack some. */
export async function selectSubjects(selection: Selection): Promise<Found> {
  const { wish, named } = selection;
  if ('url' in wish) return ofUrl(selection, wish.url);
  return wish.rows === undefined
    ? ofJob(selection, named as JobEntry)
    : ofRows(selection, named as JobEntry, wish.rows);
}

async function ofJob({ parts, warehouses }: Selection, { staged: { job } }: JobEntry): Promise<Found> {
  const collected = new Collected();
  await eachStagedRow(parts, job, ({ k, h }) => collected.add(job, k, h));
  for (const warehouse of warehouses)
    for (const { key, hash } of await warehouse.forgettable({ job })) collected.add(job, key, hash);
  for (const key of await (await parts.store.journal()).forgetting.keysOf(job)) collected.keys.add(key);
  return collected.found;
}

async function ofRows({ parts }: Selection, { staged }: JobEntry, rows: readonly number[]): Promise<Found> {
  const { job } = staged;
  const collected = new Collected();
  const stage = new StagedRows(parts.store.stages, staged);
  for (const row of rows) {
    if (row > staged.rows)
      throw new UsageError('row-unknown', `--row: ${job} has ${some(staged.rows, 'row')}, from 1 on.`);
    const line = await stage.row(row);
    if (line !== null) collected.add(job, line.k, line.h);
    const loaded = line === null ? await parts.warehouses.of(staged).forgettable({ job, rows: [row] }) : [];
    for (const { key, hash } of loaded) collected.add(job, key, hash);
    if (line === null && loaded.length === 0)
      throw new UsageError(
        'row-unknown',
        `--row: row ${row} of ${job} is in no stage and no warehouse, so its unit is not known.`,
      );
  }
  return collected.found;
}

async function ofUrl({ parts, entries, warehouses }: Selection, typed: string): Promise<Found> {
  const text = typed.trim();
  const url = toUrl(text, 'https');
  const forms = [...new Set([text, url ?? text])];
  const page = url && pageOf(url);
  const isPage = (value: string): boolean => page !== null && pageOf(toUrl(value.trim(), 'https') ?? '') === page;
  const isNamed = (value: string | null): boolean =>
    value !== null && (forms.some((form) => hasUrl(value, form)) || isPage(value));
  const collected = new Collected();
  for (const job of stagedJobs(parts, entries))
    await eachStagedRow(parts, job, ({ k, h, u, i }) => {
      if (isNamed(u) || i.some(isNamed)) collected.add(job, k, h);
    });
  const { forgetting } = await parts.store.journal();
  // Every spelling of the page has its host, in one of these forms.
  for (const part of url === null ? forms : partsOf(url)) {
    for (const warehouse of warehouses)
      for (const { job, key, hash, unit, cells } of await warehouse.forgettable({ text: part }))
        if (isNamed(unit) || cells.some(isNamed)) collected.add(job, key, hash);
    await forgetting.search(part, (key, unit) => {
      if (isNamed(JSON.parse(unit) as string)) collected.keys.add(key);
    });
  }
  return collected.found;
}

/** The host of a URL as it is typed, in Punycode and in Unicode. */
function partsOf(url: string): readonly string[] {
  const { hostname } = new URL(url);
  const [, typed = hostname] = /^https?:\/\/(?:[^/?#]*@)?([^/?#]*?)(?::\d*)?(?:[/?#]|$)/i.exec(url) ?? [];
  return [...new Set([typed, hostname, domainToUnicode(hostname)].map((one) => one.toLowerCase()))].filter(Boolean);
}
