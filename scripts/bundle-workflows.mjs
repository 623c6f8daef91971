// node scripts/bundle-workflows.mjs <compiled workflows/index.js> <bundle to write>
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const [workflowsPath, target] = process.argv.slice(2);
const logger = new DefaultLogger('WARN', ({ level, message }) => process.stderr.write(`${level} ${message}\n`));
const failureConverterPath = join(dirname(workflowsPath), 'failure-converter.js');
const { code } = await bundleWorkflowCode({ workflowsPath, failureConverterPath, logger });
writeFileSync(target, code);
// A worker of another SDK version builds a bundle of its own.
const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json');
writeFileSync(target.replace(/\.js$/, '.sdk'), version);
