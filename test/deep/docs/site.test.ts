import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { brokenLinks } from '../../../scripts/site-links.mjs';
import { freePort } from '../../../src/worker/temporal-server/server-files.js';
import { folderOfTest } from '../../support/files/folders.js';

const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
const site = join(docs, '.vitepress', 'dist');

// The tools belong to the package of the site.
const require = createRequire(join(docs, 'package.json'));

/** Pages whose checks stand for all pages of their kind. */
const looked = [
  '',
  'start/first-job',
  'start/questions',
  'tasks/enrich',
  'concepts/purchase',
  'reference/commands',
  'reference/configuration',
  'reference/tables',
  'reference/api/overview',
  'reference/api/worker',
  'decisions/0007-journal-in-postgresql',
  'glossary',
  'tasks/recover',
  'why/comparison',
  'why/benchmarks',
  'why/architecture',
  'no/such/page',
];

const { chromium } = require('playwright-core');

let address: string;
let preview: ReturnType<typeof spawn> | undefined;
let browser: Awaited<ReturnType<typeof chromium.launch>>;
beforeAll(async () => {
  execFileSync('npm', ['run', '-s', 'docs'], { cwd: join(docs, '..'), stdio: 'pipe' });
  const port = String(await freePort());
  address = `http://localhost:${port}/`;
  preview = spawn(join(docs, 'node_modules', '.bin', 'vitepress'), ['preview', '--port', port], {
    cwd: docs,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(preview.stdout as NodeJS.ReadableStream)) if (line.includes(port)) break;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
  });
}, 900_000);
afterAll(async () => {
  await browser?.close();
  if (preview?.kill()) await once(preview, 'exit');
});

it('each page has a Markdown twin, and llms.txt lists the pages', () => {
  const twins = readdirSync(site, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.html') && name !== '404.html')
    .map((name) => name.replace('.html', '.md'));
  expect(twins.length).toBeGreaterThan(100);
  expect(twins.filter((name) => !existsSync(join(site, name)))).toEqual([]);
  const list = readFileSync(join(site, 'llms.txt'), 'utf8');
  expect(twins.filter((name) => name !== 'index.md' && !list.includes(`(/${name})`))).toEqual([]);
});

it('a link to a page or an anchor that does not exist is found, also in the pages of the TypeScript API', () => {
  expect(brokenLinks(site)).toEqual([]);
  const copy = folderOfTest();
  mkdirSync(join(copy, 'reference', 'api'), { recursive: true });
  const anchor = 'id="api-default_base_url"';
  for (const name of ['reference/api/worker.html', 'reference/api/searchflow.html'])
    writeFileSync(join(copy, name), readFileSync(join(site, name), 'utf8').replace(anchor, ''));
  const broken = brokenLinks(copy);
  expect(broken).toContain('reference/api/worker.html: ./searchflow#api-default_base_url');
  expect(broken.some((link) => link.startsWith('reference/api/worker.html: /start/'))).toBe(true);
});

it('no page shows HTML as text', () => {
  const shown = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => {
    if (!name.endsWith('.html')) return false;
    const text = readFileSync(join(site, name), 'utf8').replace(/<(pre|code)\b[\s\S]*?<\/\1>/g, '');
    return /&lt;\/?(div|span|p|a|img|br)\b/.test(text);
  });
  expect(shown).toEqual([]);
});

it.each([
  [390, 844],
  [1280, 900],
])('axe finds nothing at a width of %i pixels', async (width, height) => {
  const tab = await browser.newPage({ viewport: { width, height } });
  const found: string[] = [];
  const requests: string[] = [];
  tab.on('request', (request: { url(): string }) => requests.push(request.url()));
  for (const page of looked) {
    await tab.goto(`${address}${page}`, { waitUntil: 'load' });
    await tab.addScriptTag({ path: require.resolve('axe-core/axe.min.js') });
    const { violations } = await tab.evaluate('axe.run()');
    for (const { id, nodes } of violations)
      found.push(...nodes.map(({ target }: { target: string[] }) => `${page}: ${id}: ${target.join(' ')}`));
    const scrolls = await tab.evaluate('document.documentElement.scrollWidth > window.innerWidth');
    if (scrolls) found.push(`${page}: is wider than the window`);
  }
  await tab.close();
  expect(found).toEqual([]);
  expect(requests.filter((url) => !url.startsWith(address) && !url.startsWith('data:'))).toEqual([]);
});

it('each question is answered within two clicks of the start page, at a heading that exists', async () => {
  const tab = await browser.newPage();
  await tab.goto(address, { waitUntil: 'load' });
  const answers = "[...document.querySelectorAll('.vp-doc td:first-child a')].map((link) => link.href)";
  const links: string[] = await tab.evaluate(answers);
  expect(links.length).toBeGreaterThan(5);
  await tab.locator('a[href="/start/questions"]').first().click();
  await tab.waitForURL(/questions$/);
  await tab.locator('main td:first-child a').first().waitFor();
  links.push(...(await tab.evaluate(answers)));
  expect(links.length).toBeGreaterThan(25);
  for (const link of links) {
    const { status } = await fetch(link);
    await tab.goto(link, { waitUntil: 'load' });
    const { hash } = new URL(link);
    expect([link, status, await tab.locator(hash === '' ? 'h1' : `[id="${hash.slice(1)}"]`).count()]).toEqual([
      link,
      200,
      1,
    ]);
  }
  await tab.close();
});

it.each([
  ['captive portal', 'tasks/recover'],
  ['max-cost', 'tasks/budget'],
  ['Temporal Cloud', 'tasks/deploy'],
  ['connections', 'reference/configuration'],
  ['SearchflowPlugin', 'reference/api/worker'],
])('the search for “%s” finds %s', async (words, page) => {
  const tab = await browser.newPage();
  await tab.goto(address, { waitUntil: 'networkidle' });
  await tab.keyboard.press('Control+k');
  await tab.locator('.search-input').fill(words);
  await tab.locator(`.results a[href*="/${page}"]`).first().waitFor();
  await tab.close();
});
