import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reportPage } from '../../../src/cli/report/report-page.js';
import { hostileReport, hostileTeam } from '../../support/cli/hostile-report.js';
import { folderOfFile } from '../../support/files/folders.js';

/** The browser of the system; `CHROMIUM` names another one. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const dir = folderOfFile();
const shots = '.test-results';

let browser: Browser;
beforeAll(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
});
afterAll(() => browser?.close());

const pages = { job: hostileReport, team: hostileTeam } as const;
const cases = (['job', 'team'] as const).flatMap((about) =>
  ([390, 1280] as const).flatMap((width) =>
    (['light', 'dark'] as const).map((scheme) => [about, width, scheme] as const),
  ),
);

it.each(cases)(
  'a report on a hostile %s can be read at a width of %i, %s, and runs nothing',
  async (about, width, colorScheme) => {
    const file = join(dir, `${about}.html`);
    writeFileSync(file, reportPage(pages[about]));
    const url = pathToFileURL(file).href;
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    const problems: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('dialog', (dialog) => problems.push(dialog.message()));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(url);
    await page.screenshot({ path: join(shots, `report-${about}-${width}-${colorScheme}.png`), fullPage: true });

    expect(problems).toEqual([]);
    expect(requests).toEqual([url]);
    expect(['owned', '1']).not.toContain(await page.title());
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
    expect(await page.locator('.chart svg').first().isVisible()).toBe(true);
    // The style sheet applies: its hash in the policy is right.
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(background).toBe(colorScheme === 'light' ? 'rgb(246, 247, 249)' : 'rgb(18, 22, 28)');
    const fills = await page.evaluate(
      "[...document.querySelectorAll('.chart rect')].map((bar) => getComputedStyle(bar).fill).filter((fill) => fill === 'rgb(0, 0, 0)').length",
    );
    expect(fills).toBe(0);
    await page.close();
  },
);
