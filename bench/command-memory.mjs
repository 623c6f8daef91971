// Settings of memory as in a command, for `node --import`: they come before the modules of a script.
import { keepNewSpaceSmall, limitCommandMemory } from '../dist/files/process-memory.js';

limitCommandMemory(process.env);
keepNewSpaceSmall();
