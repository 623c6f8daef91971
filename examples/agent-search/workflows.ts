import { Agent, tool } from '@openai/agents-core';
import { TemporalOpenAIRunner } from '@temporalio/openai-agents/workflow';
import { operations } from 'searchflow/workflow';

/** A tool whose call is an activity: its answer is in the history, so it is paid once, also if the worker is killed. */
const webSearch = tool({
  name: 'web_search',
  description: 'Searches the web. Returns title, address and text of three pages.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string' } },
    required: ['query'],
    additionalProperties: false,
  },
  execute: async (input) => {
    const { query } = input as { readonly query: string };
    const { results } = await operations().search({
      query,
      numResults: 3,
      contents: { text: { maxCharacters: 1000 } },
    });
    return results.map(({ title, url, text }) => ({ title, url, text }));
  },
});

/** Lets an agent answer a question with pages of the web. */
export async function research(question: string): Promise<string> {
  const agent = new Agent({
    name: 'Researcher',
    instructions: 'Search the web, then answer in two sentences and name the addresses.',
    model: 'gpt-5-mini',
    tools: [webSearch],
  });
  const { finalOutput } = await new TemporalOpenAIRunner().run(agent, question);
  return finalOutput ?? '';
}
