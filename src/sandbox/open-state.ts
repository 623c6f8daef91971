import { AgentRuns } from './agents/agent-runs.js';
import { ResearchTasks } from './agents/research-tasks.js';
import { idsOf } from './base/sentences.js';
import type { Timers } from './base/state-options.js';
import type { SandboxState, Trigger } from './control.js';
import type { Ledger } from './ledger/ledger.js';
import type { Fact, WriteFact } from './ledger/log-file.js';
import { Monitors } from './monitors/monitors.js';
import { Webhooks } from './monitors/webhooks.js';
import type { PageSettings } from './pages/result.js';
import type { Settings } from './server/options.js';
import { EventHistory } from './websets/event-history.js';
import { idOf } from './websets/story.js';

export interface StateParts {
  readonly options: Settings;
  readonly pages: PageSettings;
  readonly ledger: Ledger;
  readonly timers: Timers;
  readonly write: WriteFact;
  /** Number of earlier openings of the purchase log file. */
  readonly starts: number;
}

/** All state of the sandbox except credits, purchases and requests. */
export interface State {
  readonly agentRuns: AgentRuns;
  readonly research: ResearchTasks;
  readonly monitors: Monitors;
  readonly history: EventHistory;
  /** Does all due work: ends of runs, charges, schedules. */
  advance(): void;
  view(): SandboxState;
  trigger(what: Trigger): readonly string[];
  reset(): void;
}

/** Opens the stores and restores the `facts` of an earlier process. Throws if a fact cannot be read. */
export function openState(parts: StateParts, facts: readonly Fact[]): State {
  const { options, pages, ledger, timers, write, starts } = parts;
  const { seed } = options;
  const now = () => Date.now();
  const ids = (kind: string) => idsOf(seed, starts, kind);
  const shared = { seed, ledger, write, now };
  const agentRuns = new AgentRuns({ ...shared, options: options.agentRuns, nextId: ids('agent') });
  const research = new ResearchTasks({ ...shared, options: options.research, nextId: ids('research') });
  const webhooks = new Webhooks(options.monitors, timers, ids('webhook'));
  const monitorParts = { ...shared, options: options.monitors, clock: options.monitorClock, pages, timers, webhooks };
  const monitors = new Monitors({ ...monitorParts, nextId: ids('monitor') });
  const history = new EventHistory({ options: options.events, seed, write, now });
  const stores = [agentRuns, research, monitors, history];
  for (const fact of facts) {
    if (!stores.some((store) => store.restore(fact))) throw new Error(`the state has an unknown entry: ${fact.kind}`);
  }
  // The first use sets the times of the history. The times must count from the first start, not from the first request.
  void history.timeline;
  const advance = () => {
    agentRuns.advance();
    research.advance();
    monitors.advance();
  };
  return {
    agentRuns,
    research,
    monitors,
    history,
    advance,
    view: () => {
      advance();
      const counts = monitors.counts();
      return {
        agentRuns: {
          inProgress: agentRuns.inProgress,
          maxInProgress: agentRuns.maxInProgress,
          byStatus: agentRuns.statuses(),
        },
        research: { count: research.count, inProgress: research.inProgress, maxInProgress: research.maxInProgress },
        monitors: { byStatus: counts.monitors, runsByStatus: counts.runs },
        webhooks: { ...webhooks.counts, attempts: [...webhooks.deliveries] },
        events: { count: history.length + history.triggered.length, triggered: history.triggered.length },
      };
    },
    trigger: (what) => {
      if ('monitorRun' in what) return [monitors.trigger(what.monitorRun).id];
      if ('disableMonitor' in what) {
        return [monitors.update(what.disableMonitor, (monitor) => ({ ...monitor, status: 'disabled' })).id];
      }
      return Array.from({ length: what.count ?? 1 }, () => idOf('event', seed, history.trigger(what.event)));
    },
    reset: () => {
      for (const store of stores) store.reset();
      webhooks.reset();
      void history.timeline;
    },
  };
}
