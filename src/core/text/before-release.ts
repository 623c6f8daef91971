/**
 * Returns why something that a version before 0.1.0 wrote is refused, with the way out. `rows`: what can be exported; `then`: what to use
 * instead.
 */
export const beforeFirstRelease = (what: string, rows: 'the rows' | 'the rows of its jobs', then: string): string =>
  `${what} was written by a version of searchflow before 0.1.0, which this version does not read. ` +
  `Export ${rows} with that version (searchflow export JOB --parquet DIR), and ${then}`;
