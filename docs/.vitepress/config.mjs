// The site of the documentation. `npm run docs` in the folder above builds it.
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import llms from 'vitepress-plugin-llms';

const inDocs = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const { repository } = JSON.parse(readFileSync(inDocs('../package.json'), 'utf8'));

const page = (text, link) => ({ text, link: `/${link}` });

/** A page that opens a list of pages. */
const group = (text, link, items) => ({ ...page(text, link), collapsed: true, items });

const titleOf = (path) => readFileSync(inDocs(path), 'utf8').match(/^# (.*)$/m)[1];
const decisions = readdirSync(inDocs('decisions')).map((file) =>
  page(titleOf(`decisions/${file}`), `decisions/${file.replace(/\.md$/, '')}`),
);
const api = (name) => page(name === 'searchflow' ? name : `searchflow/${name}`, `reference/api/${name}`);

const sidebar = [
  {
    text: 'Start',
    items: [
      page('Install', 'start/install'),
      page('Your worker', 'start/your-worker'),
      page('First job', 'start/first-job'),
      page('First schedule', 'start/first-schedule'),
      page('First cluster', 'start/first-cluster'),
      page('Questions', 'start/questions'),
    ],
  },
  {
    text: 'Tasks: jobs',
    items: [
      page('Enrich a table', 'tasks/enrich'),
      page('Read rows from a source', 'tasks/sources'),
      page('Run agents', 'tasks/agents'),
      page('Check answers as they come', 'tasks/contracts'),
      page('Sync events', 'tasks/events'),
      page('Act on monitors', 'tasks/monitors'),
      page('Schedule', 'tasks/schedule'),
      page('Keep to a budget', 'tasks/budget'),
      page('Retry failures', 'tasks/retry'),
      page('Follow, stop and resume jobs', 'tasks/jobs'),
      page('Publish', 'tasks/publish'),
      page('Export files', 'tasks/export'),
    ],
  },
  {
    text: 'Tasks: operation',
    items: [
      page('Check a set-up', 'tasks/check'),
      page('Run one worker or many', 'tasks/workers'),
      page('Deploy', 'tasks/deploy'),
      page('Upgrade', 'tasks/upgrade'),
      page('Encrypt', 'tasks/encrypt'),
      page('Observe', 'tasks/observe'),
      page('Send alerts', 'tasks/alerts'),
      page('Read a report', 'tasks/report'),
      page('When something fails', 'tasks/recover'),
      page('Remove old state', 'tasks/clean'),
      page('Remove data of a person', 'tasks/forget'),
    ],
  },
  {
    text: 'Tasks: programs',
    items: [
      page('Run from scripts', 'tasks/scripts'),
      page('Airflow, Dagster, cron', 'tasks/schedulers'),
      page('Write your own workflow', 'tasks/own-workflow'),
      page('Load into a sink', 'tasks/sinks'),
      page('Test with the sandbox', 'tasks/sandbox'),
    ],
  },
  {
    text: 'Concepts',
    items: [
      page('How it works', 'concepts/overview'),
      page('Jobs and units', 'concepts/job'),
      page('Purchases', 'concepts/purchase'),
      page('Landing', 'concepts/landing'),
      page('Unknown outcomes', 'concepts/unknown-outcome'),
      page('Walks and windows', 'concepts/walk'),
      page('Limits', 'concepts/limits'),
      page('Three records', 'concepts/three-records'),
      page('Glossary', 'glossary'),
    ],
  },
  {
    text: 'Reference',
    items: [
      page('Commands', 'reference/commands'),
      page('Configuration', 'reference/configuration'),
      page('Workflows and activities', 'reference/workflows'),
      page('Operations', 'reference/operations'),
      page('Calls and options of the plugin', 'reference/calls'),
      page('Temporal integration', 'reference/temporal-integration'),
      group(
        'TypeScript API',
        'reference/api/overview',
        ['searchflow', 'worker', 'activities', 'workflows', 'sandbox', 'testing'].map(api),
      ),
      page('Tables', 'reference/tables'),
      page('Metrics and spans', 'reference/metrics'),
      page('Errors', 'errors'),
      page('Exit codes', 'reference/exit-codes'),
      page('Limits', 'reference/limits'),
      page('Supported versions', 'reference/support'),
      page('Boundary of trust', 'reference/trust'),
    ],
  },
  {
    text: 'Why',
    items: [
      page('Comparison', 'why/comparison'),
      page('Architecture', 'why/architecture'),
      page('Changing things', 'why/changing-things'),
      page('Adding a warehouse', 'why/add-a-warehouse'),
      page('Benchmarks', 'why/benchmarks'),
      page('Faults', 'why/faults'),
      page('Testing', 'testing'),
      { text: 'Decisions', collapsed: true, items: decisions },
    ],
  },
];

function configure(md) {
  // Braces of templates such as `{{name}}` are texts of the pages, and not expressions of Vue.
  for (const rule of ['text', 'code_inline']) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;');
  }
  // The label of a heading's link would have the anchor of the heading, as `{#anchor}`.
  md.core.ruler.after('curly_attributes', 'labels', ({ tokens }) => {
    for (const token of tokens) if (token.type === 'inline') token.content = token.content.replace(/ \{#[\w-]+\}$/, '');
  });
}

/**
 * A link to a file outside this folder leads to the repository, if its address is known, and is a text with the path otherwise.
 * How a page is made and why a block is not run in tests is of no use on the site.
 */
const forReaders = {
  name: 'pages-for-readers',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('.md')) return null;
    const page = code
      .replace(/^`npm run generate` makes this page.*\n(.+\n)*\n/m, '')
      .replace(/^```(\w+) not-run: .*$/gm, '```$1');
    return page.replace(/\[([^\][]+)\]\((\.\.?\/[^)\s]+)\)/g, (link, text, href) => {
      const path = relative(inDocs('..'), resolve(dirname(id), href));
      if (path.startsWith('docs/')) return link;
      if (repository !== undefined) return `[${text}](${repository.url ?? repository}/blob/main/${path})`;
      return text.replaceAll('`', '') === path ? text : `${text} (\`${path}\`)`;
    });
  },
};

/** A page as the search sees it. In the TypeScript API, a class or a type is one result, and not each of its members and headings. */
function searchable(code, env, md) {
  const html = md.render(code, env);
  return env.relativePath.startsWith('reference/api/') ? html.replace(/<(\/?)h[456]/g, '<$1p') : html;
}

export default defineConfig({
  title: 'searchflow',
  description: 'Enrich tables with a web-search API, as durable jobs on Temporal.',
  lang: 'en',
  cleanUrls: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }]],
  // The start page of the theme has no landmark for its content.
  transformHtml: (html) => html.replace('<div class="VPHome', '<div role="main" class="VPHome'),
  // Pages link to the JSON Schemas beside them, and their twins to the drawings.
  buildEnd({ outDir }) {
    for (const folder of ['reference', 'concepts'])
      for (const name of readdirSync(inDocs(folder)).filter((file) => /\.(json|svg)$/.test(file)))
        copyFileSync(inDocs(`${folder}/${name}`), `${outDir}/${folder}/${name}`);
  },
  srcExclude: ['**/README.md'],
  markdown: {
    html: false,
    config: configure,
    languageAlias: { promql: 'sh' },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vite: {
    plugins: [
      forReaders,
      llms({
        excludeIndexPage: false,
        // The hint is HTML, which the start page would show as text.
        injectLLMHint: false,
        ignoreFilesPerOutput: { llmsTxt: ['index.md'], llmsFullTxt: ['reference/api/**', 'decisions/**'] },
      }),
    ],
  },
  themeConfig: {
    nav: [
      page('Start', 'start/install'),
      page('Tasks', 'tasks/enrich'),
      page('Concepts', 'concepts/overview'),
      page('Reference', 'reference/commands'),
      page('Why', 'why/comparison'),
      page('Questions', 'start/questions'),
    ],
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render: searchable,
        miniSearch: {
          // The pages for users come before those for readers of the code.
          searchOptions: { boostDocument: (id) => (/^\/(reference\/api|decisions|testing|why)/.test(id) ? 0.2 : 1) },
        },
      },
    },
    externalLinkIcon: true,
  },
});
