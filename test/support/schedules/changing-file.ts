import type { InputRow } from '../jobs/folder.js';

const DAY_MS = 86_400_000;

/** A CSV that a person edits from day to day. It also knows the purchases that each day needs. */
export class ChangingFile {
  rows: InputRow[] = [];
  /** Number of days that have passed. */
  day = 0;
  readonly #refreshAfterDays: number;
  readonly #random: () => number;
  /** Rows of earlier runs, by their cells. */
  readonly #met = new Map<string, InputRow>();
  /** Day of the last purchase of each URL. */
  readonly #landed = new Map<string, number>();
  /** Number of purchases of each URL that were due until now. */
  readonly bill = new Map<string, number>();
  #next = 0;

  constructor(rows: number, refreshAfterDays: number, seed = 1) {
    this.#refreshAfterDays = refreshAfterDays;
    this.#random = mulberry(seed);
    for (let row = 0; row < rows; row++) this.#add();
  }

  get aheadMs(): number {
    return this.day * DAY_MS;
  }

  /** Rows that the warehouse has and the file does not have. */
  get vanished(): readonly InputRow[] {
    const here = new Set(this.rows.map((row) => row.join()));
    return [...this.#met].filter(([cells]) => !here.has(cells)).map(([, row]) => row);
  }

  /** The edits of another day: rows are added, removed, put back, moved and changed. */
  change(): void {
    this.day++;
    this.#times(4, () => this.#add());
    this.#times(4, () => this.rows.splice(this.#index(), 1));
    this.#times(3, () => this.#comeBack());
    // A row with a changed cell is a new row, whose URL is bought again only if its answer is too old.
    this.#times(3, () => this.#edit(([id, name, url]) => [id, `${name}+`, url]));
    this.#times(2, () => this.#edit(([id, name]) => [id, name, this.#url()]));
    this.#times(2, () => this.#edit(([id, name]) => [id, name, this.rows[this.#index()]?.[2] as string]));
    if (this.#random() < 0.5) this.rows.sort(() => this.#random() - 0.5);
    else this.#times(3, () => this.rows.splice(this.#index(), 0, ...this.rows.splice(this.#index(), 1)));
  }

  /** The purchases that a run on this day must make; added to the bill. */
  due(): readonly string[] {
    for (const row of this.rows) this.#met.set(row.join(), row);
    const urls = [...new Set(this.rows.map(([, , url]) => url))];
    const due = urls.filter(
      (url) => this.day - (this.#landed.get(url) ?? Number.NEGATIVE_INFINITY) >= this.#refreshAfterDays,
    );
    for (const url of due) {
      this.#landed.set(url, this.day);
      this.bill.set(url, (this.bill.get(url) ?? 0) + 1);
    }
    return due;
  }

  #add(): void {
    const id = String(this.#next);
    this.rows.splice(this.#index(), 0, [id, `Company ${id}`, this.#url()]);
  }

  #url(): string {
    return `https://site-${this.#next++}.example/`;
  }

  #comeBack(): void {
    const { vanished } = this;
    const back = vanished[Math.floor(this.#random() * vanished.length)];
    if (back) this.rows.splice(this.#index(), 0, back);
  }

  #edit(change: (row: InputRow) => InputRow): void {
    const index = this.#index();
    const row = this.rows[index];
    const changed = row && change(row);
    if (!row || !changed || this.rows.some((other) => other.join() === changed.join())) return;
    this.rows[index] = changed;
  }

  #index(): number {
    return Math.floor(this.#random() * this.rows.length);
  }

  #times(most: number, work: () => void): void {
    for (let times = Math.floor(this.#random() * (most + 1)); times > 0; times--) work();
  }
}

/** Returns a generator of numbers from 0 to 1, the same for a seed. */
export function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
