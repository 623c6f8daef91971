import type pg from 'pg';
import type { InputRow } from '../jobs/folder.js';

const DAY_MS = 86_400_000;

/** A table of a database that other programs change from day to day. It also knows what each run must buy, keep and miss. */
export class ChangingTable {
  /** Number of days that have passed. */
  day = 0;
  rows: InputRow[] = [];
  /** URLs of all runs: each of them is bought once. */
  readonly bill = new Set<string>();
  readonly #client: pg.Client;
  readonly #random: () => number;
  /** The latest row of each id that a run has seen. */
  readonly #met = new Map<string, InputRow>();
  readonly #urls = new Map<string, string[]>();
  #next = 0;

  private constructor(client: pg.Client, random: () => number) {
    this.#client = client;
    this.#random = random;
  }

  static async make(client: pg.Client, rows: number, random: () => number): Promise<ChangingTable> {
    await client.query('CREATE TABLE brands (id int PRIMARY KEY, name text, url text, place int)');
    const table = new ChangingTable(client, random);
    for (let row = 0; row < rows; row++) table.#add();
    return table;
  }

  get aheadMs(): number {
    return this.day * DAY_MS;
  }

  /** Ids of earlier runs that the table does not have, in order. */
  get vanished(): readonly string[] {
    const here = new Set(this.rows.map(([id]) => id));
    return [...this.#met.keys()].filter((id) => !here.has(id)).sort();
  }

  /** The changes of another day: inserts, deletes, rows that come back, moves, and edits of both columns, which may be undone. */
  change(): void {
    this.day++;
    this.#times(4, () => this.#add());
    this.#times(4, () => this.rows.splice(this.#index(), 1));
    this.#times(3, () => this.#comeBack());
    this.#times(4, () => this.#edit(([id, name, url]) => [id, `${name}+`, url]));
    this.#times(3, () => this.#edit(([id, name]) => [id, name, this.#url(id)]));
    this.#times(3, () => this.#edit(([id, name, url]) => [id, name, this.#urls.get(id)?.[0] ?? url]));
    this.#times(1, () => this.#edit(([id, name]) => [id, name, this.rows[this.#index()]?.[2] as string]));
    this.#times(4, () => this.rows.splice(this.#index(), 0, ...this.rows.splice(this.#index(), 1)));
  }

  /** Writes the changes into the database; returns the number of URLs that the next run must buy. */
  async write(): Promise<number> {
    await this.#client.query('BEGIN');
    await this.#client.query('DELETE FROM brands');
    for (const [place, [id, name, url]] of this.rows.entries())
      await this.#client.query('INSERT INTO brands VALUES ($1, $2, $3, $4)', [id, name, url, place]);
    await this.#client.query('COMMIT');
    const before = this.bill.size;
    for (const row of this.rows) {
      this.#met.set(row[0], row);
      this.bill.add(row[2]);
    }
    return this.bill.size - before;
  }

  #add(): void {
    const id = String(this.#next++);
    this.rows.splice(this.#index(), 0, [id, `Company ${id}`, this.#url(id)]);
  }

  #url(id: string): string {
    const all = this.#urls.get(id) ?? [];
    this.#urls.set(id, [...all, `https://site-${id}-${all.length}.example/`]);
    return this.#urls.get(id)?.at(-1) as string;
  }

  #comeBack(): void {
    const { vanished } = this;
    const id = vanished[Math.floor(this.#random() * vanished.length)];
    const row = id === undefined ? undefined : this.#met.get(id);
    if (row) this.rows.splice(this.#index(), 0, row);
  }

  #edit(change: (row: InputRow) => InputRow): void {
    const index = this.#index();
    const row = this.rows[index];
    if (row) this.rows[index] = change(row);
  }

  #index(): number {
    return Math.floor(this.#random() * this.rows.length);
  }

  #times(most: number, work: () => void): void {
    for (let times = Math.floor(this.#random() * (most + 1)); times > 0; times--) work();
  }
}
