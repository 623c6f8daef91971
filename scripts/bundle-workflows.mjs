// node scripts/bundle-workflows.mjs <compiled workflows/index.js> <bundle to write>
import { writeFileSync } from 'node:fs';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const [workflowsPath, target] = process.argv.slice(2);
const logger = new DefaultLogger('WARN', ({ level, message }) => process.stderr.write(`${level} ${message}\n`));
const { code } = await bundleWorkflowCode({ workflowsPath, logger });
writeFileSync(target, code);
