// Settings of memory as in a command, for `node --import`: they come before the modules of a script.
import { keepNewSpaceSmall, limitDuckDbMemory } from '../dist/files/process-memory.js';

limitDuckDbMemory(process.env);
keepNewSpaceSmall();
