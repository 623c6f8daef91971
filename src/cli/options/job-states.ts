/** States that `jobs --state` accepts: those of the glossary. */
export const jobStates = [
  ...['planning', 'running', 'waiting', 'paused', 'stopped', 'interrupted', 'done', 'failed', 'cancelled'],
  'waiting for a worker',
];
