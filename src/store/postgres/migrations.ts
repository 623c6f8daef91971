import type { Migration } from '../../postgres/index.js';
import { journalTables } from './migrations/0001-journal-tables.js';
import { journalOwners } from './migrations/0002-journal-owners.js';
import { journalPurchases } from './migrations/0003-journal-purchases.js';
import { sharedWork } from './migrations/0004-shared-work.js';
import { startedRuns } from './migrations/0005-started-runs.js';
import { observedPrices } from './migrations/0006-observed-prices.js';
import { inTouch } from './migrations/0007-in-touch.js';
import { missedAnswers } from './migrations/0008-missed-answers.js';
import { ownedWork } from './migrations/0010-owned-work.js';
import { allowedNames } from './migrations/0011-allowed.js';
import { processTeam } from './migrations/0012-process-team.js';
import { leftRunning } from './migrations/0013-left-running.js';
import { limiterRings } from './migrations/limiter/0101-limiter-rings.js';
import { limiterTurns } from './migrations/limiter/0102-limiter-turns.js';
import { slotsTables } from './migrations/limiter/0103-slots.js';
import { slotsOfRuns } from './migrations/limiter/0104-slots-of-runs.js';
import { limiterGuard } from './migrations/limiter/0105-limiter-guard.js';
import { searchPath } from './migrations/limiter/0106-search-path.js';

/** The migrations of the store's schema, in order. A released migration never changes. Numbers 00NN: journal; 01NN: limiter and slots. */
export const storeMigrations: readonly Migration[] = [
  journalTables,
  journalOwners,
  journalPurchases,
  sharedWork,
  startedRuns,
  observedPrices,
  inTouch,
  missedAnswers,
  ownedWork,
  allowedNames,
  processTeam,
  limiterRings,
  limiterTurns,
  slotsTables,
  slotsOfRuns,
  limiterGuard,
  searchPath,
  leftRunning,
];
