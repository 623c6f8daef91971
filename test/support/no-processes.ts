import { ChildProcess } from 'node:child_process';

// In a unit test a new process is an error. A test that needs a process belongs to the contract or the long tier.
(ChildProcess.prototype as unknown as { spawn: () => never }).spawn = () => {
  throw new Error('unit tests start no process: move this test to test/contract or test/long');
};
