// Written by npm run generate from the tables of these names; change them there, not in this file.
export const generatedNames = {
  runBounds: 'maxCostDollars maxRunSeconds redrive skipRefused stopAtFailed acceptWarnings publish',
  operations:
    'search getContents answer findSimilar createResearchTask getResearchTask listResearchTasks createMonitor listMonitors getMonitor updateMonitor deleteMonitor batchMonitors triggerMonitor listMonitorRuns getMonitorRun createAgentRun getAgentRun listAgentRuns deleteAgentRun cancelAgentRun stopAgentRun listAgentRunEvents listEvents getEvent listWebsets getWebset listWebsetItems',
  callOptions: 'refreshAfterMs beta extraHeaders unchecked maxCostDollars maxInlineBytes maxRebuys',
};
