/** Silence in ms, by the database's clock, after which a process counts as dead. Downtime of the database does not count. */
export const DEAD_AFTER_MS = 15_000;
