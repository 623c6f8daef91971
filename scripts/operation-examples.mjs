/**
 * An example of each operation, shown in docs/reference/operations.md and run in `npm test` against the sandbox: the body of an async
 * function with the parameter `client`.
 */
export const operationExamples = {
  search: `const { data, requestId, costMicros } = await client.search({ query: 'durable execution', numResults: 3, contents: { text: true } });
for (const { title, url, text } of data.results) show(title, url, text?.length);
show(requestId, costMicros); // micro-dollars`,
  getContents: `const { data } = await client.getContents({ urls: ['https://example.com/', 'https://example.org/'], text: { maxCharacters: 500 } });
const pages = new Map(data.results.map((page) => [page.id, page]));
for (const { id, status, error } of data.statuses ?? []) show(id, status, error?.tag ?? pages.get(id)?.title);`,
  answer: `const { data } = await client.answer({ query: 'What is durable execution?', text: true });
show(data.answer, data.citations?.map(({ url }) => url));`,
  findSimilar: `const { data, deprecation } = await client.findSimilar({ url: 'https://example.com/', numResults: 3, excludeSourceDomain: true });
show(data.results.length, deprecation);`,
  createResearchTask: `const { data } = await client.createResearchTask({
  input: { instructions: 'Find the three largest makers of bicycle bells.' },
  output: { schema: { type: 'object', required: ['makers'], properties: { makers: { type: 'array', items: { type: 'string' } } } } },
});
show(data.id);`,
  getResearchTask: `const { data } = await client.createResearchTask({ input: { instructions: 'Find a bell.' } });
const task = await client.getResearchTask({ id: data.id ?? '' });
show(task.data.status, task.data.data);`,
  listResearchTasks: `await client.createResearchTask({ input: { instructions: 'Find a bell.' } });
for await (const task of client.each.listResearchTasks({})) show(task.id, task.status);`,
  createMonitor: `const { data } = await client.createMonitor({
  name: 'Bicycle bells',
  search: { query: 'new bicycle bells', numResults: 5 },
  trigger: { type: 'interval', period: '1d' },
  webhook: { url: 'https://hooks.example.com/bells' },
  metadata: { team: 'bells' },
});
show(data.id, String(data.webhookSecret)); // [redacted]
const signingSecret = data.webhookSecret?.reveal(); // returned only once: keep it
show(signingSecret?.length);`,
  listMonitors: `await client.createMonitor({ search: { query: 'bells' }, metadata: { team: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
for await (const monitor of client.each.listMonitors({ status: 'active', metadata: { team: 'bells' } })) show(monitor.id);`,
  getMonitor: `const made = await client.createMonitor({ search: { query: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
const { data } = await client.getMonitor({ id: made.data.id });
show(data.status, data.nextRunAt);`,
  updateMonitor: `const made = await client.createMonitor({ search: { query: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
const { data } = await client.updateMonitor({ id: made.data.id, status: 'paused', search: { numResults: 20 }, trigger: null });
show(data.status, data.search, data.trigger);`,
  deleteMonitor: `const made = await client.createMonitor({ search: { query: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
const { data } = await client.deleteMonitor({ id: made.data.id });
show(data.id);`,
  batchMonitors: `await client.createMonitor({ name: 'Old bells', search: { query: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
const plan = await client.batchMonitors({ action: 'pause', filter: { name: 'old' } }); // dry_run is the service's default
show(readMonitorBatch(plan.data));
let hasMore = true;
while (hasMore) {
  const { data } = await client.batchMonitors({ action: 'pause', filter: { name: 'old', status: 'active' }, dry_run: false, limit: 100 });
  hasMore = readMonitorBatch(data).hasMore ?? false;
}`,
  triggerMonitor: `const made = await client.createMonitor({ search: { query: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
const { data } = await client.triggerMonitor({ id: made.data.id });
show(data.triggered);`,
  listMonitorRuns: `const made = await client.createMonitor({ search: { query: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
await client.triggerMonitor({ id: made.data.id });
for await (const run of client.each.listMonitorRuns({ id: made.data.id })) show(run.id, run.status);`,
  getMonitorRun: `const { data: monitor } = await client.createMonitor({ search: { query: 'bells' }, webhook: { url: 'https://hooks.example.com/' } });
await client.triggerMonitor({ id: monitor.id });
const { data: page } = await client.listMonitorRuns({ id: monitor.id, limit: 1 });
const { data: run } = await client.getMonitorRun({ id: monitor.id, runId: page.data?.[0]?.id ?? '' });
show(run.status, run.output?.results?.length, run.failReason);`,
  createAgentRun: `const { data } = await client.createAgentRun({
  query: 'Find the head office of each company.',
  input: { data: [{ company: 'Example Ltd' }] },
  outputSchema: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
  effort: 'low',
});
show(data.id, data.status);`,
  getAgentRun: `const made = await client.createAgentRun({ query: 'Find a bell.' });
const { data, costMicros } = await client.getAgentRun({ id: made.data.id });
show(data.status, data.stopReason, data.output?.structured, costMicros);`,
  listAgentRuns: `await client.createAgentRun({ query: 'Find a bell.' });
for await (const run of client.each.listAgentRuns({ limit: 100 })) show(run.id, run.status);`,
  deleteAgentRun: `const made = await client.createAgentRun({ query: 'Find a bell.' });
await client.cancelAgentRun({ id: made.data.id });
const { data } = await client.deleteAgentRun({ id: made.data.id });
show(data.deleted);`,
  cancelAgentRun: `const made = await client.createAgentRun({ query: 'Find a bell.' });
const { data } = await client.cancelAgentRun({ id: made.data.id });
show(data.status, data.stopReason);`,
  stopAgentRun: `const made = await client.createAgentRun({ query: 'Find a bell.', effort: 'ultra' });
const { data } = await client.stopAgentRun({ id: made.data.id });
show(data.status, data.output?.text);`,
  listAgentRunEvents: `const made = await client.createAgentRun({ query: 'Find a bell.' });
for await (const { id, event } of client.each.listAgentRunEvents({ id: made.data.id })) show(id, event);`,
  listEvents: `for await (const event of client.each.listEvents({ types: ['webset.created', 'webset.idle'], createdAfter: '2020-01-01T00:00:00Z', limit: 200 })) {
  show(event.createdAt, event.type, event.id);
}`,
  getEvent: `const { data: page } = await client.listEvents({ limit: 1 });
const { data: event } = await client.getEvent({ id: page.data[0]?.id ?? '' });
show(event.type, event.data);`,
  listWebsets: `for await (const webset of client.each.listWebsets({})) show(webset.id, webset.externalId, webset.status);`,
  getWebset: `const { data: page } = await client.listWebsets({ limit: 1 });
const { data: webset } = await client.getWebset({ id: page.data?.[0]?.id ?? '', expand: ['items'] });
show(webset.status, webset.searches?.length, webset.items?.length);`,
  listWebsetItems: `const { data: page } = await client.listWebsets({ limit: 1 });
for await (const item of client.each.listWebsetItems({ id: page.data?.[0]?.id ?? '', limit: 100 })) show(item.id, item.properties);`,
  streamSearch: `const stream = client.streamSearch({ query: 'What is durable execution?', outputSchema: { type: 'text' } });
let text = '';
for await (const chunk of stream) {
  if (chunk.type === 'stream-reset') text = '';
  text += chunk.delta ?? '';
}
show(text, stream.requestId, stream.costMicros);`,
  streamAnswer: `let text = '';
for await (const { choices } of client.streamAnswer({ query: 'What is durable execution?' })) text += choices?.[0]?.delta?.content ?? '';
show(text);`,
  streamAgentRun: `for await (const { id, event, data } of client.streamAgentRun({ query: 'Find a bell.' })) show(id, event, data);
// StreamDropped: the stream broke off. Continue with streamAgentRunEvents from its lastEventId, or poll with getAgentRun.`,
  streamAgentRunEvents: `const made = await client.createAgentRun({ query: 'Find a bell.' });
for await (const { id, event } of client.streamAgentRunEvents({ id: made.data.id }, { lastEventId: '1' })) show(id, event);`,
};
